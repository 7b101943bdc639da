# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The work of the module host_storage: read, plan, format what is blank and was meant, write fstab, mount, look again."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode, make_folders, read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._host import systemd_is_init
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_plan import (
    Steps,
    Wanted,
    check_wanted,
    not_separate,
    options_of,
    steps_for,
    too_small,
    with_line,
    without_line,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_state import (
    Device,
    FstabLine,
    Mount,
    device_size,
    disk_kind,
    find_device,
    known_uuid,
    parse_fstab,
    probe,
    read_mounts,
)

FSTAB = "/etc/fstab"
EXTRA_DIRS = ("/usr/sbin", "/sbin")
MOUNT_SECONDS, FORMAT_SECONDS = 120.0, 3600.0


class Job(t.NamedTuple):
    """One wanted file system with its device and what is to be done; both None where it is only checked."""

    wanted: Wanted
    device: t.Optional[Device]
    steps: Steps


class StorageTask:
    """One call of host_storage. ``root`` poses as / for tests."""

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        run: Runner,
        find: t.Callable[..., t.Optional[str]] = find_tool,
        is_root: bool = True,
        root: str = "",
    ) -> None:
        self._wanted = [wanted_of(item) for item in params["mounts"]]
        self._absent = params["state"] == "absent"
        self._run = run
        self._find = find
        self._is_root = is_root
        self._root = root
        check_wanted(self._wanted)

    def execute(self, check_mode: bool) -> t.Dict[str, t.Any]:
        """Bring the file systems to their paths, or take ours away. Data is never deleted.

        :raises NpufleetError: with one message; what can be refused is refused before the first change
        """
        mounts, text = read_mounts(self._root), read_text(self._root + FSTAB) or ""
        if self._absent:
            return self._remove(mounts, text, check_mode)
        jobs = [self._plan(item, mounts, parse_fstab(text)) for item in self._wanted]
        before, after = self._texts(jobs, mounts, text)
        if before != after and not check_mode:
            self._need_root()
            text = self._format(jobs, text)
            self._write_fstab(text)
            for job in jobs:
                if job.steps.mount:
                    make_folders(self._root + job.wanted.path)
                    self._command("mount", [job.wanted.path], MOUNT_SECONDS)
        return self._result(before, after, [self._row(job) for job in jobs])

    def _plan(self, wanted: Wanted, mounts: t.Sequence[Mount], fstab: t.Sequence[FstabLine]) -> Job:
        if wanted.device is None:
            self._check_place(wanted, mounts)
            return Job(wanted, None, Steps("", False, False))
        path = find_device(wanted.device, self._root)
        there = [mount for mount in mounts if mount.path == wanted.path and mount.source == path]
        uuid = known_uuid(path, self._root) if there else ""
        if there and uuid:
            device = Device(path, device_size(path, self._root), disk_kind(path, self._root), there[-1].fstype, uuid, there[-1].fstype, "")
        else:
            device = probe(path, mounts, self._run, self._tool("blkid"), self._root)

        def same(spec: str) -> bool:
            try:
                return spec == "UUID=" + device.uuid or find_device(spec, self._root) == path
            except NpufleetError:
                return False

        return Job(wanted, device, steps_for(wanted, device, mounts, fstab, self._is_empty(wanted.path), same))

    def _is_empty(self, path: str) -> bool:
        full = self._root + path
        return not os.path.isdir(full) or not os.listdir(full)

    def _texts(self, jobs: t.Sequence[Job], mounts: t.Sequence[Mount], text: str) -> t.Tuple[str, str]:
        """Both sides of the diff, and what decides about a change."""
        before, after = [], []
        for job in jobs:
            if job.device is None:
                continue
            here = "mounted" if any(mount.path == job.wanted.path for mount in mounts) else "not mounted"
            content = job.device.fstype or "blank"
            before.append("{0}: {1} ({2}), {3}".format(job.wanted.path, job.device.path, content, here))
            after.append("{0}: {1} ({2}), mounted".format(job.wanted.path, job.device.path, job.steps.format or content))
            if job.steps.fstab:
                text_line = self._line(job.wanted, job.device.uuid or "(made by mkfs)", job.steps.format or job.device.fstype)
                old = [line for line in parse_fstab(text) if line.path == job.wanted.path]
                before += ["fstab: {0} {1} {2}".format(line.spec, line.fstype, line.options) for line in old]
                after.append("fstab: {0} {1} {2}".format(text_line.spec, text_line.fstype, text_line.options))
        return "".join(line + "\n" for line in before), "".join(line + "\n" for line in after)

    def _line(self, wanted: Wanted, uuid: str, fstype: str) -> FstabLine:
        return FstabLine("UUID=" + uuid, wanted.path, fstype, options_of(wanted))

    def _format(self, jobs: t.Sequence[Job], text: str) -> str:
        """Make the file systems that are missing; returns fstab with all lines of ours."""
        for job in jobs:
            device = job.device
            if device is None:
                continue
            if job.steps.format:
                # Without -f and -F: both refuse a device on which they find anything. This is the second look after blkid.
                self._command("mkfs." + job.steps.format, ["-q", device.path], FORMAT_SECONDS)
                device = probe(device.path, [], self._run, self._tool("blkid"), self._root)
            if job.steps.fstab:
                text = with_line(text, self._line(job.wanted, device.uuid, device.fstype))
        return text

    def _write_fstab(self, text: str) -> None:
        path = self._root + FSTAB
        if text != (read_text(path) or ""):
            write_text(path, text, file_mode(path) or 0o644)
            if systemd_is_init(self._root):  # it makes units of fstab
                self._command("systemctl", ["daemon-reload"], MOUNT_SECONDS)

    def _remove(self, mounts: t.Sequence[Mount], text: str, check_mode: bool) -> t.Dict[str, t.Any]:
        paths = {item.path for item in self._wanted}
        ours = [line for line in parse_fstab(text) if line.ours and (not paths or line.path in paths)]
        mounted = {mount.path for mount in mounts}
        before = "".join(
            "{0}: {1}, {2}\n".format(line.path, line.spec, "mounted" if line.path in mounted else "not mounted") for line in ours
        )
        if ours and not check_mode:
            self._need_root()
            for line in ours:
                if line.path in mounted:
                    self._command("umount", [line.path], MOUNT_SECONDS)
                text = without_line(text, line.path)
            self._write_fstab(text)
        return self._result(before, "", [])

    def _check_place(self, wanted: Wanted, mounts: t.Sequence[Mount]) -> None:
        """Check a path that nobody shall mount anything on."""
        size, _free, device = self._space(wanted.path)
        above = [mount for mount in mounts if (wanted.path + "/").startswith(mount.path.rstrip("/") + "/")]
        if above:
            source = max(above, key=lambda mount: len(mount.path)).source
            size = max(size, device_size(source, self._root) if source.startswith("/") else 0)
        if size < wanted.min_bytes:
            raise too_small(wanted, size)
        if wanted.separate and device == os.stat(self._root or "/").st_dev:
            raise not_separate(wanted)

    def _space(self, path: str) -> t.Tuple[int, int, int]:
        """Size and free bytes of the file system where the path is, or will be, and its device number."""
        full = self._root + path
        while not os.path.exists(full):
            full = os.path.dirname(full)
        space = os.statvfs(full)
        return space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize, os.stat(full).st_dev

    def _row(self, job: Job) -> t.Dict[str, t.Any]:
        size, free, _device = self._space(job.wanted.path)
        actions = [name for name, true in (("format", job.steps.format), ("fstab", job.steps.fstab), ("mount", job.steps.mount)) if true]
        device = job.device
        return {
            "path": job.wanted.path,
            "device": device.path if device else None,
            "kind": device.kind if device else None,
            "fstype": (job.steps.format or device.fstype) if device else None,
            "size_bytes": size,
            "free_bytes": free,
            "actions": actions,
        }

    def _result(self, before: str, after: str, rows: t.List[t.Dict[str, t.Any]]) -> t.Dict[str, t.Any]:
        return {"changed": before != after, "diff": {"before": before, "after": after}, "mounts": rows}

    def _need_root(self) -> None:
        if not self._is_root:
            raise NpufleetError("only root may mount file systems", where="host_storage", remedy="Run as root (become: true)")

    def _tool(self, name: str) -> str:
        path = self._find(name, EXTRA_DIRS)
        if path is None:
            raise NpufleetError("{0} is missing".format(name), where="PATH", remedy="Install it: util-linux, xfsprogs or e2fsprogs")
        return path

    def _command(self, name: str, arguments: t.List[str], seconds: float) -> None:
        result = self._run([self._tool(name), *arguments], timeout=seconds)
        if result.rc != 0:
            said = result.text.strip()[-300:] or ("no answer after {0:.0f} s".format(seconds) if result.timed_out else "no message")
            raise NpufleetError(
                "{0} failed: {1}".format(name, said),
                where=" ".join(result.argv),
                remedy="Repair that, and run again: it goes on from there",
            )


def wanted_of(item: t.Mapping[str, t.Any]) -> Wanted:
    """One element of the option ``mounts``."""
    path = item["path"].rstrip("/") or "/"
    return Wanted(
        path, item["device"], item["fstype"], item["options"], bool(item["format"]), item["min_bytes"] or 0, bool(item["separate"])
    )
