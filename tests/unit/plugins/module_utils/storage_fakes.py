# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A folder that poses as a host with disks, and the tools of host_storage."""

from __future__ import annotations

import os
import pathlib
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._storage_task import StorageTask

TB = 10**12
FSTAB = "/etc/fstab"
ROOT_LINE = "UUID=0000-root / ext4 defaults 0 1\n"


class Disks:
    """A host with / on /dev/sda2, two NVMe disks and a partition. ``content`` is what blkid says of each device."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.calls: t.List[str] = []
        self.fail = ""
        self.content: t.Dict[str, str] = {}
        self.mounted: t.Dict[str, str] = {"/": "/dev/sda2"}
        self.write(FSTAB, "# fstab\n" + ROOT_LINE)
        for name, size, rotational in (("sda", TB // 2, 1), ("nvme0n1", TB, 0), ("nvme1n1", 2 * TB, 0), ("vda", TB, 0)):
            self.write("/dev/" + name)
            self.write("/sys/class/block/{0}/size".format(name), "{0}\n".format(size // 512))
            self.write("/sys/class/block/{0}/queue/rotational".format(name), "{0}\n".format(rotational))
        self.write("/dev/sda2")
        self.write("/sys/class/block/sda/sda2/partition", "2\n")
        (root / "sys/class/block/sda2").symlink_to("sda/sda2")
        self._show()

    def write(self, path: str, text: str = "") -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def fstab(self) -> str:
        return (self.root / "etc/fstab").read_text()

    def mount(self, path: str, device: str) -> None:
        self.mounted[path] = device
        self._show()

    def link(self, kind: str, name: str, device: str) -> None:
        folder = self.root / "dev/disk/by-{0}".format(kind)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to("../../" + device)

    def file_system(self, device: str, fstype: str = "xfs", usage: str = "filesystem", uuid: str = "1111-aaaa") -> None:
        self.content[device] = "DEVNAME={0}\nUUID={1}\nTYPE={2}\nUSAGE={3}\n".format(device, uuid, fstype, usage)

    def run(self, argv: t.Sequence[str], timeout: float, **_more: t.Any) -> CommandResult:
        assert timeout > 0
        name, words = os.path.basename(argv[0]), list(argv[1:])
        self.calls.append(" ".join([name, *words]))
        if self.fail and self.calls[-1].startswith(self.fail):
            return CommandResult(list(argv), 32, "", "target is busy")
        if name == "blkid":
            said = self.content.get(words[-1])
            return CommandResult(list(argv), 2 if said is None else 0, said or "", "")
        if name.startswith("mkfs."):
            assert words[-1] not in self.content
            self.file_system(words[-1], name[len("mkfs.") :], uuid="2222-bbbb")
        elif name == "mount":
            (line,) = [line.split() for line in self.fstab().splitlines() if line.split()[1:2] == [words[0]]]
            uuid = line[0].partition("=")[2]
            self.mount(words[0], next(device for device, said in self.content.items() if "UUID=" + uuid in said))
        elif name == "umount":
            del self.mounted[words[0]]
            self._show()
        return CommandResult(list(argv), 0, "", "")

    def _show(self) -> None:
        lines = ["30 1 8:2 / {0} rw shared:1 - xfs {1} rw\n".format(path, device) for path, device in self.mounted.items()]
        self.write("/proc/self/mountinfo", "".join(lines))

    def task(self, *mounts: t.Dict[str, t.Any], state: str = "present", is_root: bool = True) -> StorageTask:
        empty = {
            "device": None,
            "fstype": None,
            "options": "defaults,noatime,nofail",
            "format": False,
            "min_bytes": None,
            "separate": False,
        }
        params = {"state": state, "mounts": [dict(empty, **item) for item in mounts]}
        return StorageTask(params, self.run, lambda name, _dirs: "/usr/sbin/" + name, is_root, str(self.root))
