# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host as an installer sees it. STANDIN_ROOT puts every path below a folder; STANDIN_UID and STANDIN_MACHINE pose as a user and an architecture."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import typing as t

VENDOR = "0x19e5"


class Host:
    """Paths, users, PCI functions and programs of one host. All paths are absolute and without the root prefix."""

    def __init__(self, env: t.Mapping[str, str]) -> None:
        self.env = env
        self.root = env.get("STANDIN_ROOT", "").rstrip("/")
        self.uid = int(env.get("STANDIN_UID", os.geteuid()))
        self.machine = env.get("STANDIN_MACHINE") or os.uname().machine
        self.kernel = os.uname().release

    def at(self, path: str) -> str:
        """Return where a path of the host really is."""
        return self.root + path

    def read(self, path: str) -> str:
        """Return the text of a file, or nothing when it cannot be read."""
        try:
            with open(self.at(path), encoding="utf-8") as stream:
                return stream.read()
        except OSError:
            return ""

    def exists(self, path: str) -> bool:
        return os.path.exists(self.at(path))

    def write(self, path: str, text: str, mode: int = 0o644, group: t.Optional[str] = None) -> None:
        """Write one file in one step, with its folders."""
        self.make_folder(os.path.dirname(path))
        temporary = self.at(path) + ".standin"
        with open(temporary, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, self.at(path))
        self.give(path, group)

    def append(self, path: str, text: str, mode: int = 0o644) -> None:
        """Append to a file; the mode is that of a new one."""
        self.make_folder(os.path.dirname(path))
        is_new = not self.exists(path)
        with open(self.at(path), "a", encoding="utf-8") as stream:
            stream.write(text)
        if is_new:
            os.chmod(self.at(path), mode)

    def make_folder(self, path: str, mode: t.Optional[int] = None) -> None:
        """Make a folder that is missing; parents get what the umask leaves."""
        if self.exists(path):
            return
        os.makedirs(self.at(path))
        if mode is not None:
            os.chmod(self.at(path), mode)

    def give(self, path: str, group: t.Optional[str]) -> None:
        """Hand a file to root and a group of the host, as far as this process may."""
        with contextlib.suppress(OSError):
            os.chown(self.at(path), 0 if os.geteuid() == 0 else -1, self.group_id(group) if group else 0, follow_symlinks=False)

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link, in place of what was there."""
        self.make_folder(os.path.dirname(path))
        self.remove(path)
        os.symlink(target, self.at(path))

    def remove(self, path: str) -> None:
        """Remove a file, a link or a whole folder, immutable or not."""
        full = self.at(path)
        if os.path.islink(full) or os.path.isfile(full):
            self.set_immutable([path], False)
            os.unlink(full)
        elif os.path.isdir(full):
            self.set_immutable([path], False)
            shutil.rmtree(full)

    def set_immutable(self, paths: t.Sequence[str], on: bool) -> None:
        """chattr, which fails without CAP_LINUX_IMMUTABLE as it does in a container; never below a test's root."""
        if self.root or not paths or not shutil.which("chattr"):
            return
        argv = ["chattr", "-R", "+i" if on else "-i"] + [path for path in paths if self.exists(path)]
        subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def users(self) -> t.Dict[str, int]:
        """Return name and primary group id of the users in /etc/passwd."""
        rows = [line.split(":") for line in self.read("/etc/passwd").splitlines()]
        return {row[0]: int(row[3]) for row in rows if len(row) > 3 and row[3].isdigit()}

    def groups(self) -> t.Dict[str, t.Tuple[int, t.List[str]]]:
        """Return id and members of the groups in /etc/group."""
        rows = [line.split(":") for line in self.read("/etc/group").splitlines()]
        return {row[0]: (int(row[2]), row[3].split(",")) for row in rows if len(row) > 3 and row[2].isdigit()}

    def group_id(self, name: str) -> int:
        return self.groups().get(name, (0, []))[0]

    def is_member(self, user: str, group: str) -> bool:
        number, members = self.groups().get(group, (-1, []))
        return user in members or self.users().get(user) == number

    def npus(self) -> t.List[str]:
        """Return the device ids, such as d802, of the vendor's processing accelerators on the PCI bus."""
        folder = "/sys/bus/pci/devices"
        found = []
        for name in sorted(os.listdir(self.at(folder))) if self.exists(folder) else []:
            vendor, device = (self.read("{0}/{1}/{2}".format(folder, name, key)).strip() for key in ("vendor", "device"))
            if vendor == VENDOR and re.match("0xd[0-9a-f]0", device):
                found.append(device[2:])
        return found

    def holders(self) -> t.List[int]:
        """Return the processes that have an NPU's device node open."""
        found = []
        for entry in os.listdir("/proc"):
            folder = "/proc/{0}/fd".format(entry)
            if entry.isdigit() and int(entry) != os.getpid() and _holds(folder, self.at("/dev/davinci")):
                found.append(int(entry))
        return found

    def has_program(self, name: str) -> bool:
        return shutil.which(name, path=self.env.get("PATH", os.defpath)) is not None

    def is_roots(self, path: str) -> bool:
        """Is root the owner? Below a test's root everything of the test's user is."""
        owner = os.lstat(self.at(path)).st_uid
        return owner == 0 or bool(self.root and owner == os.geteuid())

    def mode(self, path: str) -> int:
        return stat.S_IMODE(os.lstat(self.at(path)).st_mode)

    def chain(self, path: str) -> t.List[str]:
        """Return a path and its parents up to but without /, those that exist."""
        chain = []
        path = os.path.normpath(path)
        while path != "/":
            if os.path.lexists(self.at(path)):
                chain.append(path)
            path = os.path.dirname(path)
        return chain


def _holds(folder: str, prefix: str) -> bool:
    try:
        return any(os.readlink(os.path.join(folder, number)).startswith(prefix) for number in os.listdir(folder))
    except OSError:
        return False
