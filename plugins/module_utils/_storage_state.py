# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Disks and mounts of a host, read: mountinfo, fstab, sysfs, and blkid for a device that is not mounted where it shall be."""

from __future__ import annotations

import os
import re
import stat
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text

# mount(8) and systemd pass over options that begin with "x-", so one of them can say whose line it is.
OURS = "x-npufleet"
NOTHING_FOUND = 2  # exit code of blkid(8)
BLKID_SECONDS = 60.0


class Mount(t.NamedTuple):
    """One line of /proc/self/mountinfo; ``source`` is resolved."""

    source: str
    path: str
    fstype: str


class FstabLine(t.NamedTuple):
    """One entry of fstab(5)."""

    spec: str
    path: str
    fstype: str
    options: str

    @property
    def ours(self) -> bool:
        """Whether this module wrote the line."""
        return OURS in self.options.split(",")


class Device(t.NamedTuple):
    """A block device. ``fstype`` is '' without a file system, ``signature`` what blkid knows of the content, '' on a blank device;
    ``use`` says who has it, or ''."""

    path: str
    size_bytes: int
    kind: str
    fstype: str
    uuid: str
    signature: str
    use: str


def read_mounts(root: str = "") -> t.List[Mount]:
    """Mounts of now; of several on one path the last one counts, and comes last."""
    mounts = []
    for line in (read_text(root + "/proc/self/mountinfo") or "").splitlines():
        left, dash, right = line.partition(" - ")
        if dash and len(left.split()) > 4 and len(right.split()) > 1:
            fstype, source = right.split()[:2]
            mounts.append(Mount(resolved(unescape(source), root), unescape(left.split()[4]), fstype))
    return mounts


def unescape(text: str) -> str:
    """Octal codes as fstab(5) and mountinfo write blanks."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)


def resolved(path: str, root: str = "") -> str:
    """The device behind a link such as /dev/disk/by-id/...; what is no path stays."""
    return os.path.realpath(root + path)[len(os.path.realpath(root or "/")) if root else 0 :] if path.startswith("/") else path


def parse_fstab(text: str) -> t.List[FstabLine]:
    """Entries of fstab; comments and broken lines are left out."""
    entries = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 4 and not words[0].startswith("#"):
            entries.append(FstabLine(words[0], unescape(words[1]), words[2], words[3]))
    return entries


def find_device(spec: str, root: str = "") -> str:
    """Path of the device that ``spec`` names: a path, UUID=... or LABEL=....

    :raises NpufleetError: there is none, or it is no disk
    """
    name, equals, value = spec.partition("=")
    path = "/dev/disk/by-{0}/{1}".format(name.lower(), value.strip('"')) if equals and name in ("UUID", "LABEL") else spec
    if not path.startswith("/dev/") or not os.path.exists(root + path):
        raise NpufleetError(
            "there is no device {0}".format(spec),
            where="host_storage, device",
            remedy="Use a path below /dev/disk/by-id, as lsblk shows it",
        )
    # Below another root there are no devices.
    if not root and not stat.S_ISBLK(os.stat(path).st_mode):
        raise NpufleetError(
            "{0} is no block device".format(spec),
            where="host_storage, device",
            remedy="Use a path below /dev/disk/by-id, as lsblk shows it",
        )
    return resolved(path, root)


def known_uuid(device: str, root: str = "") -> str:
    """UUID of the file system by the links of udev, '' where there is none. No process is started."""
    folder = "/dev/disk/by-uuid"
    for name in sorted(os.listdir(root + folder)) if os.path.isdir(root + folder) else []:
        if resolved("{0}/{1}".format(folder, name), root) == device:
            return name
    return ""


def disk_kind(device: str, root: str = "") -> str:
    """nvme, ssd, disk or unknown."""
    name = os.path.basename(device)
    folder = os.path.realpath("{0}/sys/class/block/{1}".format(root, name))
    if os.path.exists(folder + "/partition"):
        folder = os.path.dirname(folder)
    if os.path.basename(folder).startswith("nvme"):
        return "nvme"
    return {"0": "ssd", "1": "disk"}.get((read_text(folder + "/queue/rotational") or "").strip(), "unknown")


def device_size(device: str, root: str = "") -> int:
    """Bytes of a block device, 0 where the kernel does not tell."""
    sectors = (read_text("{0}/sys/class/block/{1}/size".format(root, os.path.basename(device))) or "").strip()
    return int(sectors) * 512 if sectors.isdigit() else 0


def probe(device: str, mounts: t.Sequence[Mount], run: Runner, blkid: str, root: str = "") -> Device:
    """Everything about a device, its content by low-level probing.

    :raises NpufleetError: blkid gives no clear answer; then nobody may format it
    """
    folder = "{0}/sys/class/block/{1}".format(root, os.path.basename(device))
    result = run([blkid, "-p", "-o", "export", device], timeout=BLKID_SECONDS)
    if result.rc not in (0, NOTHING_FOUND):
        raise NpufleetError(
            "blkid cannot tell what is on {0}: {1}".format(device, result.text.strip() or "exit code {0}".format(result.rc)),
            where=" ".join(result.argv),
            remedy="Look at it with wipefs; a disk with several signatures is for people",
        )
    said = dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)
    words = [said[key] for key in ("TYPE", "PTTYPE") if key in said]
    # Of a partition blkid tells its entry in the table, too, which is no content.
    content = [key for key in said if key != "DEVNAME" and not key.startswith("PART")]
    return Device(
        device,
        device_size(device, root),
        disk_kind(device, root),
        # Swap, members of RAID and LVM, and encrypted devices have a TYPE, too.
        said.get("TYPE", "") if said.get("USAGE") == "filesystem" else "",
        said.get("UUID", ""),
        " and ".join(words) or ("something unknown" if content else ""),
        _use(device, folder, mounts, root),
    )


def _use(device: str, folder: str, mounts: t.Sequence[Mount], root: str) -> str:
    """Who has the device, so that nobody formats it: a mount, swap, another device, partitions."""
    paths = [mount.path for mount in mounts if mount.source == device]
    if paths:
        return "mounted on " + paths[-1]
    if any(line.split()[:1] == [device] for line in (read_text(root + "/proc/swaps") or "").splitlines()):
        return "swap"
    holders = sorted(os.listdir(folder + "/holders")) if os.path.isdir(folder + "/holders") else []
    if holders:
        return "part of " + ", ".join(holders)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    partitions = [name for name in names if os.path.exists("{0}/{1}/partition".format(folder, name))]
    return "partitioned: " + ", ".join(partitions) if partitions else ""
