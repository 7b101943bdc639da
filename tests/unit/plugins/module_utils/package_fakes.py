# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host below a temporary folder for the package tests: trees as the installers leave them, package files, and jobs that take no time."""

from __future__ import annotations

import hashlib
import os
import shutil
import typing as t
import zipfile

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._job import JobStatus
from ansible_collections.npufleet.ascend.plugins.module_utils._package_options import argument_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._package_prerequisites import Host
from ansible_collections.npufleet.ascend.plugins.module_utils._package_record import Records

PATH = "/usr/local/Ascend"
KERNEL = "5.10.0-test"
BOOT = "11111111-2222-3333-4444-555555555555"
# Firmware numbers have nothing to do with HDK versions; these two are made up.
FIRMWARE = {"25.5.0": "7.8.0.5.220", "26.0.rc1": "8.0.0.1.220"}


class FakeClock:
    """Time that passes only by sleeping, and a little with every look at the clock."""

    def __init__(self, start: float = 1000.0, tick: float = 0.0) -> None:
        self.time = start
        self.tick = tick
        self.naps: t.List[float] = []

    def now(self) -> float:
        self.time += self.tick
        return self.time

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.time += seconds

    def clock(self) -> Clock:
        return Clock(self.now, self.sleep)


def put(root: t.Any, path: str, text: str = "", mode: int = 0o644) -> str:
    """Write a file below the root."""
    full = str(root) + path
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(full, mode)
    return full


def link(root: t.Any, path: str, target: str) -> None:
    """Make or replace a symbolic link below the root."""
    full = str(root) + path
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if os.path.islink(full):
        os.unlink(full)
    os.symlink(target, full)


def put_driver(root: t.Any, version: str, path: str = PATH, status: str = "complete", tool: bool = True) -> None:
    put(root, path + "/driver/version.info", "Version={0}\npackage_version={0}\n".format(version))
    put(root, path + "/driver/script/uninstall.sh", "", 0o755)
    if tool:
        put(root, path + "/driver/tools/upgrade-tool")
    rows = "UserName=HwHiAiUser\nUserGroup=HwHiAiUser\nDriver_Install_Path_Param={0}\n".format(path)
    put(root, "/etc/ascend_install.info", rows + ("Driver_Install_Status={0}\n".format(status) if status else ""))


def put_firmware(root: t.Any, number: str, hdk: str = "", path: str = PATH) -> None:
    put(root, path + "/firmware/version.info", "Version={0}\n".format(number) + ("package_version={0}\n".format(hdk) if hdk else ""))
    put(root, path + "/firmware/script/uninstall.sh", "", 0o755)


def put_cann(root: t.Any, version: str, kind: str = "toolkit", chip: str = "910b", active: bool = True) -> None:
    """The tree of CANN 8.5 and later."""
    folder = "{0}/cann-{1}".format(PATH, version)
    name = "Ascend-cann-toolkit" if kind == "toolkit" else "Ascend-cann-{0}-ops".format(chip)
    put(root, "{0}/x86_64-linux/ascend_{1}_install.info".format(folder, kind), "package_name={0}\nversion={1}\n".format(name, version))
    put(root, "{0}/x86_64-linux/script/{1}uninstall.sh".format(folder, "" if kind == "toolkit" else "ops_"), "", 0o755)
    if kind == "toolkit":
        put(root, folder + "/set_env.sh")
    if active:
        link(root, PATH + "/cann", "cann-" + version)


def put_nnal(root: t.Any, version: str) -> None:
    put(root, "{0}/nnal/atb/{1}/version.info".format(PATH, version), "    Ascend-cann-atb : {0}\n".format(version))
    put(root, PATH + "/nnal/atb/set_env.sh")
    put(root, PATH + "/nnal/nnal_uninstall.sh", "", 0o755)
    link(root, PATH + "/nnal/atb/latest", version)


def put_docker_runtime(root: t.Any, version: str) -> None:
    put(root, PATH + "/Ascend-Docker-Runtime/ascend_docker_runtime_install.info", "version=v{0}\narch=x86_64\n".format(version))
    put(root, PATH + "/Ascend-Docker-Runtime/ascend-docker-runtime")
    put(root, PATH + "/Ascend-Docker-Runtime/script/uninstall.sh", "", 0o755)


def put_toolbox(root: t.Any, version: str) -> None:
    put(root, "{0}/toolbox/{1}/ascend_toolbox_install.info".format(PATH, version), "version={0}\n".format(version))
    link(root, PATH + "/toolbox/latest", version)


PUT: t.Dict[str, t.Callable[[t.Any, str], None]] = {
    "driver": put_driver,
    "firmware": put_firmware,
    "toolkit": put_cann,
    "ops": lambda root, version: put_cann(root, version, "ops", active=False),
    "nnal": put_nnal,
    "docker_runtime": put_docker_runtime,
    "toolbox": put_toolbox,
}
TREES = {
    "driver": "/driver",
    "firmware": "/firmware",
    "nnal": "/nnal",
    "docker_runtime": "/Ascend-Docker-Runtime",
    "toolbox": "/toolbox",
}


def zip_file(path: t.Any, members: t.Mapping[str, bytes]) -> str:
    """Write an archive and return its SHA-256."""
    with zipfile.ZipFile(str(path), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return sum_of(path)


def sum_of(path: t.Any) -> str:
    with open(str(path), "rb") as stream:
        return hashlib.sha256(stream.read()).hexdigest()


def no_process(argv: t.Sequence[str], **_options: t.Any) -> CommandResult:
    raise AssertionError("a process was started: {0}".format(argv))


class World:
    """One host: its root, its options, its package files, and what its installers do.

    ``behaviour`` gives for a kind what its next starts do, one word each: good (the default), rc1, rc2, lie (0 and nothing done), half
    (killed in the middle), killed (before anything), late (killed, all done), slow (runs until something else is wanted of it).
    """

    def __init__(self, base: t.Any) -> None:
        self.base = str(base)
        self.root = self.base + "/root"
        self.packages = self.base + "/packages"
        self.records = self.base + "/records"
        self.clock = FakeClock()
        self.behaviour: t.Dict[str, t.List[str]] = {}
        self.jobs: t.Dict[str, FakeJob] = {}
        self.started: t.List[t.Tuple[str, str]] = []
        self.sums: t.Dict[str, str] = {}
        self.boot_id = put(self.base, "/boot_id", BOOT + "\n")
        for folder in ("/etc", PATH, "/lib/modules/{0}/build".format(KERNEL), "/sys", "/proc", "/dev"):
            os.makedirs(self.root + folder)
        os.makedirs(self.packages)
        put(self.root, "/etc/os-release", 'ID=openEuler\nVERSION_ID="22.03"\nVERSION="22.03 (LTS-SP4)"\n')
        put(self.root, "/etc/passwd", "root:x:0:0::/root:/bin/sh\nHwHiAiUser:x:1000:1000::/home/HwHiAiUser:/bin/bash\n")
        put(self.root, "/etc/group", "root:x:0:\nHwHiAiUser:x:1000:\n")

    def host(self, **changes: t.Any) -> Host:
        """Root on a host that has every tool and no NPU in use."""
        full = Host(
            run=no_process,
            find=lambda name, _dirs=(): None if name in ("docker", "npu-smi") else "/usr/bin/" + name,
            uid=0,
            machine="x86_64",
            kernel=KERNEL,
            root=self.root,
            proc=self.root + "/proc",
            dev=self.root + "/dev",
            sys=self.root + "/sys",
            owner=(os.geteuid(), os.getegid()),
        )
        return full._replace(**changes)

    def params(self, *packages: str, **changes: t.Any) -> t.Dict[str, t.Any]:
        """The options of the module; packages as kind=version."""
        options = {name: option.get("default") for name, option in argument_spec().items()}
        entries = [dict(zip(("name", "version"), text.split("="))) for text in packages]
        options.update(folder=self.packages, record_folder=self.records, chip="910b", accept_licences=True, checksums=self.sums)
        options.update(packages=entries)
        unknown = set(changes) - set(options)
        assert not unknown, unknown
        return dict(options, **changes)

    def add_hdk(self, version: str = "25.5.0", chip: str = "910b") -> str:
        """Put an HDK archive into the folder and return its name."""
        name = "Ascend-hdk-{0}-npu_{1}_linux-x86-64.zip".format(chip, version)
        members = {
            "Ascend-hdk-{0}-npu-driver_{1}_linux-x86-64.run".format(chip, version): b"driver " + version.encode(),
            "Ascend-hdk-{0}-npu-firmware_{1}.run".format(chip, FIRMWARE[version]): b"firmware " + version.encode(),
        }
        self.sums[name] = zip_file(self.packages + "/" + name, members)
        return name

    def add_run(self, name: str) -> str:
        """Put a bare .run into the folder and return its name."""
        put(self.packages, "/" + name, "content of " + name)
        self.sums[name] = sum_of(self.packages + "/" + name)
        return name

    def reboot(self) -> None:
        put(self.base, "/boot_id", "another boot\n")
        for job in self.jobs.values():
            job.lose()

    def job(self, kind: str) -> FakeJob:
        return self.jobs.setdefault(kind, FakeJob(self, kind))

    def install(self, kind: str, version: str) -> None:
        PUT[kind](self.root, version)

    def remove(self, kind: str) -> None:
        if kind in TREES:
            shutil.rmtree(self.root + PATH + TREES[kind])
        else:
            folder = os.path.realpath(self.root + PATH + "/cann")
            os.unlink("{0}/x86_64-linux/ascend_{1}_install.info".format(folder, kind))
        if kind == "driver":
            os.unlink(self.root + "/etc/ascend_install.info")


class FakeJob:
    """A job that is finished as soon as it has started, or runs until end() when it is slow."""

    def __init__(self, world: World, kind: str) -> None:
        self._world = world
        self._kind = kind
        self._status = JobStatus("none", None, "", "", "", 0.0)
        self._began = 0.0
        self.lines = ["npufleet: stage 1/1 work", "working"]

    def start(self, script: str, digest: str) -> None:
        self._world.started.append((self._kind, script))
        self._began = self._world.clock.time
        words = self._world.behaviour.get(self._kind) or ["good"]
        word = words.pop(0)
        self._status = JobStatus("running", None, digest, "1/1 work", "working", 0.0)
        if word != "slow":
            self.end(word)

    def end(self, word: str = "good") -> None:
        """Come to an end now."""
        rc = {"rc1": 1, "rc2": 2, "half": None, "killed": None, "late": None}.get(word, 0)
        record = Records(self._world.records, self._world.boot_id).read(self._kind)
        number = FIRMWARE.get(record.version, record.number) if self._kind == "firmware" else record.number
        if word in ("good", "rc2", "late"):
            if record.action == "remove":
                self._world.remove(self._kind)
            else:
                self._world.install(self._kind, number)
        elif word == "half":
            self._world.install(self._kind, number)
            if self._kind == "driver":
                os.unlink(self._world.root + PATH + "/driver/version.info")
        self._status = self._status._replace(state="finished", rc=rc)

    def lose(self) -> None:
        """A boot ends everything."""
        if self._status.state == "running":
            self._status = self._status._replace(state="finished", rc=None)

    def status(self) -> JobStatus:
        return self._status._replace(seconds=self._world.clock.time - self._began)

    def log(self, _limit: int) -> t.List[str]:
        return self.lines
