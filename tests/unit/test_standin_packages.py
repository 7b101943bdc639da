# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stand-in packages behave as the sources of their README say: every one is really run, below a folder that poses as the host."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import time
import zipfile

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import artifact

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "molecule", "shared", "standin_packages")
sys.path.insert(0, FOLDER)

import make_packages
from standin import container_runtime, daemon_json, driver_checks, journal, main, options
from standin_build import names

# Far above any execution; one that needs it is a failure.
LIMIT = 60
INFO = "etc/ascend_install.info"
ASCEND = "usr/local/Ascend"
DRIVER = ASCEND + "/driver/version.info"
DAEMON = "etc/docker/daemon.json"
FRESH = ("--full", "--quiet", "--install-for-all")
OVER = ("--upgrade", "--quiet")


class Box:
    """A folder that poses as a server with two 910B, and the packages that are run on it."""

    def __init__(self, folder, monkeypatch):
        self.monkeypatch, self.is_real = monkeypatch, False
        self.root = str(folder / "root")
        self.packages = str(folder / "packages")
        self.env = dict(os.environ, STANDIN_ROOT=self.root, STANDIN_UID="0", STANDIN_MACHINE="x86_64", TMPDIR=str(folder))
        self.env["PATH"] = self._tools(folder) + os.pathsep + self.env["PATH"]
        self.env.pop("ASCEND_TOOLKIT_HOME", None)
        self.write(
            "etc/passwd", "root:x:0:0::/root:/bin/sh\nHwHiAiUser:x:999:999::/home/HwHiAiUser:/bin/bash\nother:x:998:998::/:/bin/sh\n"
        )
        self.write("etc/group", "root:x:0:\nHwHiAiUser:x:999:\nother:x:998:\n")
        self.bus("d802")
        os.makedirs(os.path.join(self.root, "usr", "local"))

    def _tools(self, folder):
        """Empty programs for everything the driver's installer looks for, so that the machine of the test does not matter."""
        for line in driver_checks.TOOLS:
            path = folder / "bin" / line.split(",")[0]
            path.parent.mkdir(exist_ok=True)
            if shutil.which(path.name) is None:
                path.write_text("#!/bin/sh\n")
                path.chmod(0o755)
        return str(folder / "bin")

    def bus(self, device):
        shutil.rmtree(self.at("sys"), ignore_errors=True)
        for number in (1, 2):
            for key, value in (("vendor", "0x19e5"), ("device", "0x" + device)):
                self.write("sys/bus/pci/devices/0000:0{0}:00.0/{1}".format(number, key), value + "\n")
        self.write("sys/bus/pci/devices/0000:05:00.0/vendor", "0x19e5\n")
        self.write("sys/bus/pci/devices/0000:05:00.0/device", "0x1822\n")

    def at(self, path):
        return os.path.join(self.root, path)

    def exists(self, path):
        return os.path.lexists(self.at(path))

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        with open(self.at(path), "w", encoding="utf-8") as stream:
            stream.write(text)

    def read(self, path):
        with open(self.at(path), encoding="utf-8") as stream:
            return stream.read()

    def mode(self, path):
        return stat.S_IMODE(os.stat(self.at(path)).st_mode)

    def state(self, **keys):
        self.write("etc/npu-simulator/state.json", json.dumps(keys))

    def faults(self, **kinds):
        self.write("etc/standin-packages/faults.json", json.dumps(kinds))

    def package(self, kind, version="", chip="910b", arch="x86_64", **kwargs):
        """Make a package and return its path."""
        row = make_packages.make(self.packages, make_packages.Package(kind, version, chip, arch, "run"), **kwargs)
        return os.path.join(self.packages, row["file"])

    def run(self, file, *words, answer="", **env):
        """Run the installer of a package inside this process, which saves the start of a shell and of Python, unless ``is_real`` is set."""
        if self.is_real:
            return self.really(file, *words, answer=answer, **env)
        manifest, offset = _open(file)
        self.monkeypatch.setattr(os, "environ", dict(self.env, **env))
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = main.execute(manifest, file, offset, list(words))
        return subprocess.CompletedProcess([file, *words], code, output.getvalue())

    def code(self, file, *words, **kwargs):
        return self.run(file, *words, **kwargs).returncode

    def really(self, file, *words, answer="", **env):
        """Run a package or a script as a user does."""
        return subprocess.run(
            ["sh", file, *words], input=answer, env=dict(self.env, **env), capture_output=True, text=True, timeout=LIMIT, check=False
        )

    def start(self, file, *words):
        """Run it and do not wait."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(["sh", file, *words], env=self.env, text=True, **pipes)

    def executions(self):
        return [json.loads(line) for line in self.read("var/log/standin-packages/executions.jsonl").splitlines()]


def _open(file):
    """Return the manifest of a package and where its payload begins."""
    with open(file, "rb") as stream:
        content = stream.read()
    skip, size = (int(re.search(key + rb'="(\d+)"', content).group(1)) for key in (b"skip", b"enginesize"))
    begin = sum(len(line) + 1 for line in content.split(b"\n")[:skip])
    with tarfile.open(fileobj=io.BytesIO(content[begin : begin + size])) as engine:
        return json.load(engine.extractfile("standin/manifest.json")), begin + size


@pytest.fixture
def box(tmp_path, monkeypatch):
    """A server. The umask is root's usual one, which the header of most packages sets too."""
    before = os.umask(0o022)
    yield Box(tmp_path, monkeypatch)
    os.umask(before)


@pytest.fixture
def real(box):
    """A server on which every package is run as a user does: with its shell header, and with code that its uninstall script finds."""
    box.is_real = True
    return box


@pytest.fixture
def driver(box):
    """A driver that is installed, and its package."""
    file = box.package("driver", "25.5.0")
    assert box.code(file, *FRESH) == 2
    return file


@pytest.fixture
def toolkit(box):
    file = box.package("toolkit", "8.5.0")
    assert box.code(file, "--install", "--quiet") == 0
    return file


# Names and bytes


@pytest.mark.parametrize(
    ("package", "file", "members"),
    [
        (
            ("hdk", "25.5.0", "910b", "aarch64"),
            "Ascend-hdk-910b-npu_25.5.0_linux-aarch64.zip",
            ["Ascend-hdk-910b-npu-driver_25.5.0_linux-aarch64.run", "Ascend-hdk-910b-npu-firmware_7.8.0.5.220.run"],
        ),
        (
            ("hdk", "26.0.rc1", "310p", "x86_64"),
            "Ascend-hdk-310p-npu_26.0.rc1_linux-x86-64.zip",
            ["Ascend-hdk-310p-npu-driver_26.0.rc1_linux-x86-64.run", "Ascend-hdk-310p-npu-firmware_8.0.0.1.220.run"],
        ),
        (
            ("toolkit", "9.0.0", "910b", "x86_64"),
            "Ascend-cann-toolkit_9.0.0_linux-x86_64.zip",
            ["Ascend-cann-toolkit_9.0.0_linux-x86_64.run"],
        ),
        (("ops", "8.5.0", "A3", "aarch64"), "Ascend-cann-A3-ops_8.5.0_linux-aarch64.zip", ["Ascend-cann-A3-ops_8.5.0_linux-aarch64.run"]),
        (("kernels", "8.3.RC1", "A3", "aarch64"), "Atlas-A3-cann-kernels_8.3.RC1_linux-aarch64.zip", None),
        (("kernels", "8.1.RC1", "910b", "aarch64"), "Ascend-cann-kernels-910b_8.1.RC1_linux-aarch64.zip", None),
        (("nnal", "", "910b", "x86_64"), "Ascend-cann-nnal_8.5.0_linux-x86_64.run", None),
        (("docker_runtime", "26.1.0", "910b", "x86_64"), "Ascend-docker-runtime_26.1.0_linux-x86_64.run", None),
        (("toolbox", "26.0.1", "910b", "aarch64"), "Ascend-mindx-toolbox_26.0.1_linux-aarch64.zip", None),
        (("firmware", "7.8.0.6.201", "910b", "x86_64"), "Ascend-hdk-910b-npu-firmware_7.8.0.6.201.run", None),
        (("firmware", "25.5.1", "910b", "x86_64"), "Ascend-hdk-910b-npu-firmware_7.8.0.6.201.run", None),
    ],
)
def test_names(tmp_path, package, file, members):
    row = make_packages.make(str(tmp_path), make_packages.Package(*package))
    path = tmp_path / row["file"]
    assert row["file"] == file
    assert row["size"] == path.stat().st_size
    assert row["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    if members is not None:
        assert row["members"] == members
        with zipfile.ZipFile(str(path)) as archive:
            assert sorted(archive.namelist()) == sorted(name + suffix for name in members for suffix in ("", ".cms", ".crl"))


@pytest.mark.parametrize(
    "package",
    [
        ("unknown", "1.0", "910b", "x86_64"),
        ("ops", "8.5.0", "910c", "x86_64"),
        ("ops", "8.5.0", "910b", "x86-64"),
        ("toolkit", "latest", "910b", "x86_64"),
        ("ops", "8.3.RC1", "910b", "x86_64"),
        ("kernels", "8.5.0", "910b", "x86_64"),
        ("hdk", "25.5.0", "910b", "x86_64", "run"),
    ],
)
def test_names_that_do_not_exist(tmp_path, package):
    with pytest.raises(names.PackageNameError):
        make_packages.make(str(tmp_path), make_packages.Package(*package))


def test_zip_in_a_zip(tmp_path):
    row = make_packages.make(str(tmp_path), make_packages.Package("hdk"), nested=True)
    with zipfile.ZipFile(str(tmp_path / row["file"])) as outer:
        assert outer.namelist() == [row["file"], row["file"] + ".cms", row["file"] + ".crl"]
        with zipfile.ZipFile(io.BytesIO(outer.read(row["file"]))) as inner:
            assert set(row["members"]) < set(inner.namelist())


@pytest.mark.parametrize(
    ("kind", "version", "chip", "made"),
    [
        ("driver", "25.5.0", "910b", "hdk"),
        ("firmware", "25.3.rc1", "310p", "hdk"),
        ("toolkit", "8.5.0", "910b", "toolkit"),
        ("ops", "9.2.0-beta.2", "A3", "ops"),
        ("ops", "8.3.RC1", "910b", "kernels"),
        ("ops", "8.1.RC1", "A3", "kernels"),
        ("nnal", "9.0.0", "910b", "nnal"),
        ("docker_runtime", "26.1.0", "910b", "docker_runtime"),
        ("toolbox", "26.0.1", "910b", "toolbox"),
    ],
)
@pytest.mark.parametrize("arch", names.ARCHES)
def test_the_collection_finds_what_is_made(tmp_path, kind, version, chip, made, arch):
    wanted = artifact(kind, version, chip, arch)
    form = wanted.file.rpartition(".")[2]
    row = make_packages.make(str(tmp_path), make_packages.Package(made, version, chip, arch, form))
    assert row["file"] == wanted.file
    if wanted.member:
        assert sum(1 for name in row["members"] if re.fullmatch(wanted.member, name)) == 1


def test_same_input_same_bytes(tmp_path):
    rows = [make_packages.make(str(tmp_path / name), make_packages.Package("hdk"), size=100000) for name in ("one", "two")]
    assert rows[0] == rows[1]
    assert rows[0]["size"] > 200000


def test_command_line(tmp_path, capsys):
    words = ["--output", str(tmp_path), "--package", "driver=25.5.0", "--package", "nnal=9.0.0", "--arch", "aarch64", "--size", "1K"]
    assert make_packages.main(words) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["file"] for row in rows] == [
        "Ascend-hdk-910b-npu-driver_25.5.0_linux-aarch64.run",
        "Ascend-cann-nnal_9.0.0_linux-aarch64.run",
    ]
    assert sorted(row["file"] for row in rows) == sorted(os.listdir(str(tmp_path)))
    assert make_packages.main(["--output", str(tmp_path / "all"), "--kind", "all"]) == 0
    assert {row["kind"] for row in json.loads(capsys.readouterr().out)} == set(make_packages.EVERYTHING)
    assert make_packages.main(["--output", str(tmp_path), "--version", "8.5.0"]) == 2
    assert "--version needs --kind" in capsys.readouterr().err


# Makeself


def test_header(box, tmp_path):
    file = box.package("toolkit", size=70000)
    assert "All good" in box.run(file, "--check").stdout
    assert "gzip" in box.run(file, "--info").stdout
    assert "./payload.bin" in box.run(file, "--list").stdout
    assert box.code(file, "--help") == 0
    assert box.code(file, "--noexec", "--extract=" + str(tmp_path / "x")) == 0
    assert (tmp_path / "x" / "payload.bin").stat().st_size == 70000
    assert not box.exists(ASCEND)
    assert box.code(file, "--nox11", "--install", "--quiet") == 0
    assert [name for name in os.listdir(str(tmp_path)) if name.startswith("selfgz")] == []


@pytest.mark.parametrize("words", [("--check",), FRESH])
def test_broken_payload_ends_with_the_code_that_also_means_reboot(box, words):
    file = box.package("driver", corrupt=True)
    result = box.run(file, *words)
    assert result.returncode == 2
    assert "Error in SHA256 checksums" in result.stdout
    assert not box.exists(DRIVER)


def test_truncated_file(real, box):
    file = box.package("driver", size=100000)
    with open(file, "r+b") as stream:
        stream.truncate(os.path.getsize(file) - 50000)
    assert box.code(file, "--check") == 2
    with open(file, "r+b") as stream:
        stream.truncate(3000)
    assert box.code(file, "--check") == 1


# The log of executions


def test_executions(real, box):
    file = box.package("toolkit")
    result = box.run(file, "--check")
    box.code(file, "--install", "--quiet")
    start, end, second, last = box.executions()
    assert result.returncode == 0
    assert start["event"] == "start" and start["action"] == "check" and start["argv"] == [file, "--check"]
    assert (start["kind"], start["version"], start["stdin"]) == ("toolkit", "8.5.0", "pipe")
    assert start["cwd"] == os.getcwd()
    assert (end["event"], end["exit_code"], end["pid"]) == ("end", 0, start["pid"])
    assert (second["action"], last["exit_code"]) == ("install", 0)


def test_kinds_of_standard_input(box, tmp_path):
    file = box.package("toolkit")
    for stream in (subprocess.DEVNULL, subprocess.PIPE):
        process = subprocess.Popen(["sh", file, "--version"], env=box.env, stdin=stream, stdout=subprocess.DEVNULL)
        process.communicate(timeout=LIMIT)
    with open(file, "rb") as stream:
        subprocess.run(["sh", file, "--version"], env=box.env, stdin=stream, stdout=subprocess.DEVNULL, timeout=LIMIT, check=True)
    subprocess.run(["sh", "-c", 'sh "$0" --version <&-', file], env=box.env, stdout=subprocess.DEVNULL, timeout=LIMIT, check=True)
    assert [entry["stdin"] for entry in box.executions() if entry["event"] == "start"][:3] == ["null", "pipe", "file"]


@pytest.mark.parametrize(
    ("words", "action"),
    [
        (["--full"], "install"),
        (["--quiet", "--upgrade"], "upgrade"),
        (["--uninstall"], "uninstall"),
        (["--version"], "version"),
        ([], "none"),
    ],
)
def test_action_of(words, action):
    assert journal.action_of(words) == action


# Driver


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--nonsense"],
        ["full"],
        ["--quiet"],
        ["--full", "--run"],
        ["--full", "--upgrade"],
        ["--full", "--version"],
        ["--check", "--quiet"],
        ["--uninstall", "--quiet"],
        ["--upgrade", "--install-for-all"],
        ["--docker", "--install-for-all"],
        ["--upgrade", "--install-path=/opt/a"],
        ["--full", "--install-username=HwHiAiUser"],
        ["--upgrade", "--install-username=HwHiAiUser", "--install-usergroup=HwHiAiUser"],
    ],
)
def test_driver_refuses_parameters(box, words):
    result = box.run(box.package("driver"), *words)
    assert result.returncode == 1
    assert "ERR_NO:0x0004" in result.stdout
    assert not box.exists(INFO)


@pytest.mark.parametrize(
    ("words", "type_"),
    [(["--full", "--install-for-all", "--norebuild"], "full"), (["--debug", "--force"], "debug"), (["--uninstall", "--force"], "")],
)
def test_driver_takes_parameters(words, type_):
    asked = options.parse(words)
    options.check_combination(asked)
    assert asked.type == type_


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (["--full", "--install-path="], "0x0003"),
        (["--full", "--install-path=/opt/a b"], "0x0003"),
        (["--full", "--install-path=/missing/place"], "0x0003"),
        (["--full", "--install-username=nobody1", "--install-usergroup=HwHiAiUser"], "0x0091"),
        (["--full", "--install-username=root", "--install-usergroup=root"], "0x0091"),
        (["--full", "--install-username=HwHiAiUser", "--install-usergroup=nogroup1"], "0x0091"),
        (["--full", "--install-username=HwHiAiUser", "--install-usergroup=other"], "0x0096"),
        (["--uninstall"], "0x0080"),
    ],
)
def test_driver_refuses_paths_and_users(box, words, number):
    result = box.run(box.package("driver"), *words)
    assert result.returncode == 1
    assert "ERR_NO:" + number in result.stdout
    assert "ERR_NO:" + number in box.read("var/log/ascend_seclog/ascend_install.log")
    assert not box.exists(DRIVER)


def test_driver_wants_root(box):
    result = box.run(box.package("driver"), *FRESH, STANDIN_UID="1000")
    assert result.returncode == 1
    assert "ERR_NO:0x0093" in result.stdout


def test_driver_wants_its_architecture_and_its_chip(box):
    assert "is for aarch64" in box.run(box.package("driver", arch="aarch64"), *FRESH).stdout
    box.bus("d500")
    result = box.run(box.package("driver"), *FRESH)
    assert result.returncode == 1
    assert "this machine has 19e5:d500" in result.stdout
    assert not box.exists(INFO)


def test_driver_without_any_npu_is_installed_with_a_warning(box):
    shutil.rmtree(box.at("sys"))
    result = box.run(box.package("driver"), *FRESH)
    assert result.returncode == 2
    assert "WARNING]no chip" in result.stdout


def test_driver_wants_tools(box):
    box.env["PATH"] = os.pathsep.join(
        part for part in box.env["PATH"].split(os.pathsep) if not os.path.exists(os.path.join(part, "ifconfig"))
    )
    result = box.run(box.package("driver"), *FRESH)
    assert result.returncode == 1
    assert "The list of missing tools: " in result.stdout and "ifconfig" in result.stdout


def test_driver_wants_space(box):
    box.faults(driver={"free_mb": 300})
    assert "300 MB are free" in box.run(box.package("driver"), *FRESH).stdout
    box.faults(driver={"free_mb": 301})
    assert box.code(box.package("driver"), *FRESH) == 2


def test_driver_on_disk(box, driver):
    lines = box.read(INFO).splitlines()
    assert lines == [
        "UserName=HwHiAiUser",
        "UserGroup=HwHiAiUser",
        "Driver_Install_Type=full",
        "Driver_Install_Path_Param=/usr/local/Ascend",
        "Driver_Install_For_All=yes",
        "Driver_Install_Mode=normal",
        "Driver_Install_Status=complete",
    ]
    assert box.read(DRIVER).startswith("Version=25.5.0\n")
    modes = {
        INFO: 0o644,
        DRIVER: 0o444,
        ASCEND: 0o755,
        ASCEND + "/driver/tools/upgrade-tool": 0o555,
        "usr/local/bin/npu-smi": 0o755,
        "etc/hccn.conf": 0o640,
        "etc/vnpu.cfg": 0o600,
        "var/log/ascend_seclog": 0o750,
        "var/log/ascend_seclog/ascend_install.log": 0o640,
    }
    assert {path: box.mode(path) for path in modes} == modes
    assert "success cmdlist=--full --quiet --install-for-all" in box.read("var/log/ascend_seclog/operation.log")


def test_driver_for_one_group_is_closed_to_others(box):
    assert box.code(box.package("driver"), "--full", "--quiet") == 2
    assert box.mode(ASCEND + "/driver") == 0o750
    assert box.mode(ASCEND + "/driver/tools/upgrade-tool") == 0o550
    assert "Driver_Install_For_All=no" in box.read(INFO)


def test_driver_installs_again_over_the_same_version(box, driver):
    box.write(ASCEND + "/driver/mine", "")
    assert box.code(driver, *FRESH) == 2
    assert not box.exists(ASCEND + "/driver/mine")
    assert box.read(INFO).count("Driver_Install_Status=complete") == 2


def test_driver_upgrade_keeps_what_was_recorded(box, driver):
    assert box.code(box.package("driver", "26.0.rc1"), *OVER) == 2
    assert box.read(DRIVER).startswith("Version=26.0.rc1\n")
    assert "Driver_Install_For_All=yes" in box.read(INFO)
    assert box.mode(ASCEND + "/driver") == 0o755


def test_driver_upgrade_of_a_fresh_host_installs(box):
    assert box.code(box.package("driver"), *OVER) == 2
    assert "Driver_Install_Type=full" in box.read(INFO)


def test_driver_of_another_user(box, driver):
    result = box.run(driver, "--full", "--install-username=other", "--install-usergroup=other")
    assert "ERR_NO:0x0095" in result.stdout


def test_driver_in_a_closed_folder(box):
    """What Ascend Docker Runtime leaves behind when it comes first."""
    os.makedirs(box.at(ASCEND), mode=0o750)
    os.chmod(box.at(ASCEND), 0o750)
    result = box.run(box.package("driver"), *FRESH)
    assert result.returncode == 1
    assert "ERR_NO:0x0003" in result.stdout


@pytest.mark.parametrize(("answer", "code", "version"), [("n\n", 0, "25.5.0"), ("x\ny\n", 2, "26.0.rc1")])
def test_driver_asks_before_it_overwrites(box, driver, answer, code, version):
    assert box.code(box.package("driver", "26.0.rc1"), "--full", answer=answer) == code
    assert box.read(DRIVER).startswith("Version={0}\n".format(version))


def test_driver_asks_forever_without_an_answer(box, driver):
    process = box.start(driver, "--full")
    lines = [process.stdout.readline() for _number in range(50)]
    assert process.poll() is None
    process.kill()
    process.communicate(timeout=LIMIT)
    assert lines[-1] == lines[-2] and "continue? [y/n]" in lines[-1]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ({"firmware_version": "8.0.0.1.220"}, 1),
        ({"firmware_version": "7.8.0.5.220"}, 2),
        ({"firmware_version": "7.1.0.3.220", "firmware_flashed": "8.0.0.1.220"}, 1),
        ({"firmware_version": "8.0.0.1.220", "loaded": False}, 2),
    ],
)
def test_driver_older_than_the_flash(box, driver, state, code):
    box.state(**state)
    result = box.run(driver, *FRESH)
    assert result.returncode == code
    assert ("in the flash" in result.stdout) is (code == 1)


def test_driver_over_very_old_firmware(box, driver):
    box.write(ASCEND + "/firmware/version.info", "Version=1.11.2.3\n")
    assert "23.0.RC1" in box.run(driver, *FRESH).stdout


def test_driver_in_use(real, box, driver):
    box.state(firmware_version="7.8.0.5.220")
    box.write("dev/davinci0", "")
    with open(box.at("dev/davinci0"), encoding="utf-8"):
        result = box.run(driver, *OVER)
        assert result.returncode == 1
        assert "davinci nodes are occupied" in result.stdout
        assert box.exists(DRIVER)
        assert box.code(driver, *OVER, "--force") == 2
    assert box.code(driver, *OVER) == 2


def is_locked(path):
    """Does a process hold a lock on the file? Looking does not disturb, unlike taking it."""
    number = ":{0} ".format(os.stat(path).st_ino)
    with open("/proc/locks", encoding="utf-8") as stream:
        return any(number in line for line in stream)


def test_second_installer(box, driver):
    box.faults(driver={"hang": True})
    first = box.start(driver, *FRESH)
    deadline = time.monotonic() + LIMIT
    while not is_locked(box.at(driver_checks.LOCK[1:])):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert "ERR_NO:0x0094" in box.run(box.package("firmware"), "--full", "--quiet").stdout
    first.terminate()
    assert first.wait(timeout=LIMIT) == 15
    first.stdout.close()
    assert box.code(box.package("firmware"), "--full", "--quiet") == 0


def test_driver_uninstall(box, driver):
    assert box.code(driver, "--uninstall") == 0
    for path in (DRIVER, INFO, ASCEND, "usr/local/bin/npu-smi", "usr/local/dcmi", "lib/davinci.conf", "usr/bin/device_boot_init.sh"):
        assert not box.exists(path), path
    assert box.exists("etc/hccn.conf")
    assert box.code(driver, "--uninstall") == 1


def test_driver_uninstall_script_leaves_the_status_line_while_firmware_is_there(real, box, driver):
    assert box.code(box.package("firmware"), "--full", "--quiet") == 0
    assert box.really(box.at(ASCEND + "/driver/script/uninstall.sh"), "--quiet").returncode == 0
    assert box.read(INFO).splitlines() == [
        "UserName=HwHiAiUser",
        "UserGroup=HwHiAiUser",
        "Driver_Install_Status=complete",
        "Firmware_Install_Type=full",
        "Firmware_Install_Path_Param=/usr/local/Ascend",
    ]
    assert not box.exists(DRIVER)
    assert box.executions()[-2]["action"] == "uninstall"


def test_driver_version(box):
    assert "25.5.0" in box.run(box.package("driver"), "--version").stdout


def test_driver_for_development_needs_neither_tools_nor_reboot(box):
    box.env["PATH"] = os.pathsep.join(
        part for part in box.env["PATH"].split(os.pathsep) if not os.path.exists(os.path.join(part, "ifconfig"))
    )
    assert box.code(box.package("driver"), "--devel") == 0
    assert not box.exists("usr/local/bin/npu-smi")
    assert "Driver_Install_Status" not in box.read(INFO)


def test_hot_reset(box):
    box.write("opt/npu-simulator/npu_smi", "")
    box.write("opt/npu-simulator/boot.py", "import sys; open(sys.argv[2] + '/booted', 'w').write(' '.join(sys.argv[3:]))\n")
    box.faults(driver={"hot_reset": True})
    result = box.run(box.package("driver"), *FRESH)
    assert result.returncode == 0
    assert "takes effect immediately" in result.stdout
    assert box.read("booted") == "--no-mounts"


def test_reboot_is_pending_until_the_boot(box):
    box.state(driver_version="25.5.1", firmware_version="7.8.0.5.220", loaded=False)
    assert box.code(box.package("driver"), *FRESH) == 2
    state = json.loads(box.read("etc/npu-simulator/state.json"))
    assert (state["driver_version"], state["loaded"]) == ("25.5.1", False)
    assert "npu_smi" not in box.read("usr/local/bin/npu-smi")
    result = subprocess.run([box.at("usr/local/bin/npu-smi")], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (result.returncode, "-8005" in result.stdout) == (187, True)


# Firmware


def test_firmware(box, driver):
    box.state(firmware_version="7.1.0.3.220")
    file = box.package("firmware", "25.5.0")
    assert box.code(file, "--full", "--quiet") == 0
    assert box.read(ASCEND + "/firmware/version.info") == "Version=7.8.0.5.220\nfirmware_version=1.0\npackage_version=25.5.0\n"
    state = json.loads(box.read("etc/npu-simulator/state.json"))
    assert state == {"firmware_version": "7.1.0.3.220", "firmware_flashed": "7.8.0.5.220"}
    assert box.code(file, "--full", answer="n\n") == 0
    assert box.code(file, "--uninstall") == 0
    assert not box.exists(ASCEND + "/firmware")
    assert "ERR_NO:0x0080" in box.run(file, "--uninstall").stdout
    assert "7.8.0.5.220" in box.run(file, "--version").stdout
    assert box.code(file, "--check") == 0


def test_firmware_needs_the_driver_first(box):
    result = box.run(box.package("firmware"), "--full", "--quiet")
    assert result.returncode == 1
    assert "install the driver first" in result.stdout
    assert not box.exists(INFO)


def test_firmware_refusals(box, driver):
    file = box.package("firmware")
    assert "ERR_NO:0x0093" in box.run(file, "--full", STANDIN_UID="7").stdout
    assert "ERR_NO:0x0004" in box.run(file, "--full", "--version").stdout
    box.faults(firmware={"free_mb": 32})
    assert box.code(file, "--full", "--quiet") == 1


# Faults


def test_fault_with_an_exit_code_changes_nothing(box):
    box.faults(driver={"exit_code": 1, "err_no": "0x0090", "message": "made for a test", "first": 1})
    file = box.package("driver")
    result = box.run(file, *FRESH)
    assert result.returncode == 1
    assert "ERR_NO:0x0090;ERR_DES:made for a test" in box.read("var/log/ascend_seclog/ascend_install.log")
    assert not box.exists(INFO)
    assert box.code(file, *FRESH) == 2
    assert [entry["fault"] for entry in box.executions() if entry["event"] == "start"][1] is None


@pytest.mark.parametrize("kind", ["driver", "firmware", "toolkit", "docker_runtime"])
def test_death_in_the_middle(box, driver, kind):
    if kind == "driver":
        box.code(driver, "--uninstall")
    file = box.package(kind)
    words = {"driver": FRESH, "firmware": ("--full", "--quiet"), "toolkit": ("--install", "--quiet")}.get(kind, ("--install",))
    records = {
        "driver": DRIVER,
        "firmware": ASCEND + "/firmware/version.info",
        "toolkit": ASCEND + "/cann-8.5.0/x86_64-linux/ascend_toolkit_install.info",
        "docker_runtime": ASCEND + "/Ascend-Docker-Runtime/ascend_docker_runtime_install.info",
    }
    box.faults(**{kind: {"die": True, "first": 1}})
    assert box.really(file, *words).returncode == -signal.SIGKILL
    assert not box.exists(records[kind])
    assert box.exists(os.path.dirname(records[kind]))
    assert box.executions()[-1]["event"] == "start"
    assert box.code(file, *words) == (2 if kind == "driver" else 0)
    assert box.exists(records[kind])


def test_death_while_a_driver_is_replaced_leaves_the_old_status_but_no_version(box, driver):
    box.faults(driver={"die": True})
    box.really(box.package("driver", "26.0.rc1"), *OVER)
    assert "Driver_Install_Status=complete" in box.read(INFO)
    assert not box.exists(DRIVER)


def test_half_installed(box):
    box.faults(driver={"half_installed": True}, firmware={"half_installed": True}, toolkit={"half_installed": True, "result": 3})
    assert box.code(box.package("driver"), *FRESH) == 1
    assert box.exists(DRIVER)
    assert "Driver_Install_Status" not in box.read(INFO)
    assert box.code(box.package("firmware"), "--full", "--quiet") == 1
    assert not box.exists(ASCEND + "/firmware/version.info")
    assert box.code(box.package("toolkit"), "--install", "--quiet") == 3
    assert not box.exists(ASCEND + "/cann-8.5.0/x86_64-linux/ascend_toolkit_install.info")


def test_half_installed_runtime(box):
    box.faults(docker_runtime={"half_installed": True})
    assert box.code(box.package("docker_runtime"), "--install") == 1
    assert box.exists(DAEMON)


def test_result_after_a_whole_installation(box):
    box.faults(**{"*": {"result": 2, "on": ["install"]}})
    assert box.code(box.package("toolkit"), "--install", "--quiet") == 2
    assert box.code(box.package("toolkit"), "--upgrade", "--quiet") == 0


def test_slow(box):
    box.faults(toolkit={"slow": 0.6})
    begin = time.monotonic()
    assert box.code(box.package("toolkit"), "--install", "--quiet") == 0
    assert time.monotonic() - begin >= 0.6


def test_hang_and_endless_output(box):
    box.faults(toolkit={"hang": "ignore_sigterm"})
    process = box.start(box.package("toolkit"), "--install", "--quiet")
    while "Uncompressing" not in process.stdout.readline():
        pass
    box.faults(toolkit={"endless_output": True})
    other = box.start(box.package("toolkit"), "--install", "--quiet")
    for _number in range(1000):
        last = other.stdout.readline()
    assert "waiting" in last
    other.stdout.close()
    assert other.wait(timeout=LIMIT) == 141
    assert process.poll() is None
    process.kill()
    process.communicate(timeout=LIMIT)


def test_corrupt_by_fault(box):
    box.faults(driver={"corrupt": True, "on": ["check"]}, docker_runtime={"corrupt": True})
    assert box.code(box.package("driver"), "--check") == 2
    assert box.code(box.package("driver"), *FRESH) == 2
    assert box.exists(DRIVER)
    assert "Unable to decompress" in box.run(box.package("docker_runtime"), "--install").stdout
    assert not box.exists(DAEMON)


# CANN


@pytest.mark.parametrize(
    "words",
    [[], ["--nonsense"], ["--quiet"], ["--install", "--upgrade"], ["--check", "--quiet"], ["--install", "--quiet", "--install-path=a"]],
)
def test_cann_refuses_parameters(box, words):
    result = box.run(box.package("toolkit"), *words)
    assert result.returncode == 1
    assert "ERR_NO:0x0002" in result.stdout
    assert not box.exists(ASCEND)


def test_cann_tree(box, toolkit):
    assert os.readlink(box.at(ASCEND + "/cann")) == "cann-8.5.0"
    assert os.readlink(box.at(ASCEND + "/ascend-toolkit/latest")) == "../cann-8.5.0"
    assert "ASCEND_TOOLKIT_HOME=/usr/local/Ascend/cann-8.5.0\n" in box.read(ASCEND + "/cann/set_env.sh")
    rows = dict(line.split("=", 1) for line in box.read(ASCEND + "/cann/x86_64-linux/ascend_toolkit_install.info").splitlines())
    assert list(rows) == ["package_name", "version", "innerversion", "compatible_version", "arch", "os", "path"]
    assert (rows["package_name"], rows["version"], rows["arch"]) == ("Ascend-cann-toolkit", "8.5.0", "x86_64")
    assert "whitelist=" in box.read(ASCEND + "/cann/x86_64-linux/install.conf")
    assert box.read("etc/Ascend/ascend_cann_install.info") == "Install_Path=/usr/local/Ascend\n"
    assert "install success" in box.read("var/log/ascend_seclog/ascend_toolkit_install.log")


def test_cann_of_another_architecture(box):
    assert "is for aarch64" in box.run(box.package("toolkit", arch="aarch64"), "--install", "--quiet").stdout


@pytest.mark.parametrize(("answer", "is_installed"), [("Y\n", True), ("?\nn\n", False)])
def test_cann_asks_for_its_licence(box, answer, is_installed):
    assert box.code(box.package("toolkit"), "--install", answer=answer) == 0
    assert box.exists(ASCEND + "/cann") is is_installed


def test_cann_versions_side_by_side_and_upgrade(box, toolkit):
    newer, newest = box.package("toolkit", "9.0.0"), box.package("toolkit", "9.1.0")
    assert box.code(newer, "--install", "--quiet") == 0
    assert box.exists(ASCEND + "/cann-8.5.0")
    assert os.readlink(box.at(ASCEND + "/cann")) == "cann-9.0.0"
    assert box.code(newest, "--upgrade", "--quiet") == 0
    assert not box.exists(ASCEND + "/cann-8.5.0") and not box.exists(ASCEND + "/cann-9.0.0")
    assert box.read(ASCEND + "/cann/x86_64-linux/ascend_toolkit_install.info").count("9.1.0") == 2


def test_cann_upgrade_of_nothing(box):
    assert "nothing to upgrade" in box.run(box.package("toolkit"), "--upgrade", "--quiet").stdout


def test_operators_need_the_toolkit_and_one_chip(box):
    ops = box.package("ops")
    assert "toolkit 8.5.0 is not installed" in box.run(ops, "--install", "--quiet").stdout
    box.code(box.package("toolkit"), "--install", "--quiet")
    assert box.code(ops, "--install", "--quiet") == 0
    assert "package_name=Ascend-cann-910b-ops" in box.read(ASCEND + "/cann/x86_64-linux/ascend_ops_install.info")
    assert "need two paths" in box.run(box.package("ops", chip="310p"), "--install", "--quiet").stdout
    assert box.exists("var/log/ascend_seclog/ascend_ops_910b_install.log")


def test_removal_in_any_order(real, box, toolkit):
    assert box.code(box.package("ops"), "--install", "--quiet") == 0
    script = ASCEND + "/cann-8.5.0/x86_64-linux/script/"
    assert box.really(box.at(script + "uninstall.sh")).returncode == 0
    assert box.exists(ASCEND + "/cann-8.5.0/x86_64-linux/ascend_ops_install.info")
    assert not box.exists(ASCEND + "/cann-8.5.0/set_env.sh")
    assert box.really(box.at(script + "ops_uninstall.sh")).returncode == 0
    assert os.listdir(box.at(ASCEND)) in ([], ["cann"])
    assert "is not installed" in box.run(box.package("toolkit"), "--uninstall").stdout


def test_cann_before_8_5(real, box):
    file = box.package("toolkit", "8.3.RC1")
    assert box.code(file, "--install", "--quiet") == 0
    assert box.code(box.package("kernels", "8.3.RC1"), "--install", "--quiet") == 0
    folder = ASCEND + "/ascend-toolkit"
    assert os.readlink(box.at(folder + "/latest")) == "8.3.RC1"
    assert box.exists(folder + "/set_env.sh") and box.exists(folder + "/latest/version.cfg")
    assert box.exists(folder + "/8.3.RC1/x86_64-linux/ascend_kernels_install.info")
    assert box.really(box.at(folder + "/8.3.RC1/x86_64-linux/script/kernels_uninstall.sh")).returncode == 0
    assert box.really(box.at(folder + "/8.3.RC1/x86_64-linux/script/uninstall.sh")).returncode == 0
    assert not box.exists(folder)


def test_cann_remembers_its_path(real, box):
    assert box.code(box.package("toolkit", "8.0.0"), "--install", "--quiet", "--install-path=/opt/ascend") == 0
    assert box.exists("opt/ascend/ascend-toolkit/8.0.0")
    assert "differs from the last one" in box.run(box.package("toolkit", "8.0.0"), "--install", "--quiet", "--install-path=/opt/b").stdout
    assert box.code(box.package("toolkit", "8.5.0"), "--install", "--quiet") == 0
    assert box.exists("opt/ascend/cann-8.5.0")
    assert box.really(box.at("opt/ascend/cann-8.5.0/x86_64-linux/script/uninstall.sh")).returncode == 0


def test_cann_of_a_user(box):
    assert box.code(box.package("toolkit"), "--install", "--quiet", STANDIN_UID="1000", HOME="/home/me") == 0
    assert box.exists("home/me/Ascend/cann")
    assert box.exists("home/me/var/log/ascend_seclog/ascend_toolkit_install.log")


def test_nnal_needs_the_environment_of_the_toolkit(real, box, toolkit):
    file, home = box.package("nnal"), "/usr/local/Ascend/cann-8.5.0"
    assert "env ASCEND_TOOLKIT_HOME" in box.run(file, "--install", "--quiet").stdout
    assert "can not find cann" in box.run(file, "--install", "--quiet", ASCEND_TOOLKIT_HOME=home, ASCEND_HOME_PATH="/x").stdout
    assert box.code(file, "--install", "--quiet", ASCEND_TOOLKIT_HOME=home, ASCEND_HOME_PATH=home) == 0
    assert "atb/8.5.0" in box.read(ASCEND + "/nnal/atb/set_env.sh")
    assert os.readlink(box.at(ASCEND + "/nnal/atb/latest")) == "8.5.0"
    assert box.really(box.at(ASCEND + "/nnal/nnal_uninstall.sh")).returncode == 0
    assert not box.exists(ASCEND + "/nnal")


def test_toolbox(box):
    file = box.package("toolbox")
    assert box.code(file, "--install", "--quiet") == 0
    assert box.exists(ASCEND + "/toolbox/latest/Ascend-DMI/bin/ascend-dmi")
    assert box.exists(ASCEND + "/toolbox/set_env.sh")
    assert box.code(file, "--uninstall") == 0
    assert not box.exists(ASCEND + "/toolbox")


def test_cann_fault_and_space(box):
    box.faults(toolkit={"exit_code": 1, "err_no": "0x0001"})
    assert "ERR_NO:0x0001" in box.run(box.package("toolkit"), "--install", "--quiet").stdout
    box.faults(toolkit={"free_mb": 10})
    assert "10 MB are free" in box.run(box.package("toolkit"), "--install", "--quiet").stdout


# Ascend Docker Runtime


def runtime_of(box, version="26.0.0"):
    return box.package("docker_runtime", version)


def test_runtime(real, box):
    box.write(DAEMON, '{"log-driver": "json-file", "default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "x"}}}')
    assert box.code(runtime_of(box), "--install", "--quiet", "--nox11") == 0
    daemon = json.loads(box.read(DAEMON))
    assert list(daemon) == ["default-runtime", "log-driver", "runtimes"]
    assert daemon["default-runtime"] == "ascend"
    program = "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime"
    assert daemon["runtimes"] == {"ascend": {"path": program, "runtimeArgs": []}, "nvidia": {"path": "x"}}
    modes = {
        DAEMON: 0o600,
        ASCEND: 0o750,
        program[1:]: 0o550,
        "etc/ascend-docker-runtime.d": 0o750,
        "etc/ascend-docker-runtime.d/base.list": 0o440,
        os.path.dirname(program)[1:] + "/script/uninstall.sh": 0o500,
    }
    assert {path: box.mode(path) for path in modes} == modes
    record = box.read(os.path.dirname(program)[1:] + "/ascend_docker_runtime_install.info")
    assert record.startswith("version=v26.0.0\n") and "install-scene=docker" in record
    assert box.code(runtime_of(box), "--install") == 0
    assert box.code(runtime_of(box), "--uninstall") == 0
    assert json.loads(box.read(DAEMON)) == {"log-driver": "json-file", "runtimes": {"nvidia": {"path": "x"}}}
    assert not box.exists(os.path.dirname(program)[1:])
    assert "skipping" in box.run(runtime_of(box), "--uninstall").stdout


def test_runtime_uninstall_script(real, box):
    box.code(runtime_of(box), "--install")
    script = ASCEND + "/Ascend-Docker-Runtime/script/uninstall.sh"
    os.unlink(box.at(DAEMON))
    assert box.really(box.at(script)).returncode == 0
    assert box.exists(script)
    box.write(DAEMON, "{")
    assert box.really(box.at(script)).returncode == 1
    box.write(DAEMON, '{"default-runtime": "runc"}')
    assert box.really(box.at(script)).returncode == 0
    assert json.loads(box.read(DAEMON)) == {"default-runtime": "runc"}
    assert not box.exists(ASCEND + "/Ascend-Docker-Runtime")


@pytest.mark.parametrize("how", ["link", "open", "broken", "list", "runtimes"])
def test_runtime_refuses_daemon_json(box, how):
    text = {"broken": "{", "list": "[]", "runtimes": '{"runtimes": []}'}.get(how, "{}")
    box.write(DAEMON, text)
    if how == "link":
        os.replace(box.at(DAEMON), box.at(DAEMON) + ".real")
        os.symlink("daemon.json.real", box.at(DAEMON))
    if how == "open":
        os.chmod(box.at(DAEMON), 0o664)
    assert box.code(runtime_of(box), "--install") == 1
    assert box.read(DAEMON) == text
    assert not box.exists(ASCEND + "/Ascend-Docker-Runtime/ascend_docker_runtime_install.info")


def test_runtime_upgrade(box):
    newer = runtime_of(box, "26.1.0")
    assert box.code(newer, "--upgrade", answer="Y\n") == 1
    box.code(runtime_of(box), "--install")
    box.write(DAEMON, "{}")
    assert box.code(newer, "--upgrade", answer="Y\n") == 0
    assert box.read(DAEMON) == "{}"
    assert "version=v26.1.0\n" in box.read(ASCEND + "/Ascend-Docker-Runtime/ascend_docker_runtime_install.info")


@pytest.mark.parametrize(
    ("version", "words", "code"),
    [
        ("26.0.0", ["--check"], 0),
        ("26.1.0", ["--check"], 1),
        ("26.1.0", ["--install", "--quiet"], 1),
        ("26.1.0", ["--install", "--nox11"], 1),
        ("26.1.0", ["--version"], 0),
        ("26.0.0", ["--help"], 0),
        ("26.0.0", ["--nonsense"], 1),
        ("26.0.0", ["--install", "--install"], 1),
        ("26.0.0", ["--install-path=/opt"], 1),
        ("26.0.0", ["--install", "--install-scene=podman"], 1),
        ("26.0.0", ["--install", "--install-scene=containerd"], 1),
        ("26.0.0", ["--install", "--install-type=A3"], 1),
        ("26.0.0", ["--install", "--config-file-path=/etc/none.json"], 1),
        ("26.0.0", [], 0),
    ],
)
def test_runtime_parameters(box, version, words, code):
    assert box.code(runtime_of(box, version), *words) == code
    assert not box.exists(DAEMON)


@pytest.mark.parametrize(("answer", "is_installed"), [("Y\n", True), ("N\n", False)])
def test_runtime_26_1_asks(box, answer, is_installed):
    """The exit code says nothing about the installation."""
    assert box.code(runtime_of(box, "26.1.0"), "--install", answer=answer) == 0
    assert box.exists(DAEMON) is is_installed


def test_runtime_26_1_asks_forever_at_the_end_of_standard_input(box):
    process = box.start(runtime_of(box, "26.1.0"), "--install")
    lines = {process.stdout.readline() for _number in range(2000)}
    assert process.poll() is None
    process.kill()
    process.communicate(timeout=LIMIT)
    assert lines == {"Do you accept the EULA to install Ascend-docker-runtime?[Y/N]\n"}


def test_runtime_file_name_and_user(box, tmp_path):
    renamed = shutil.copy(runtime_of(box), str(tmp_path / "runtime.run"))
    assert "not matched in arch" in box.run(renamed, "--install").stdout
    assert box.code(runtime_of(box), "--install", STANDIN_UID="5") == 1


def test_runtime_elsewhere(box):
    box.write("etc/docker/other.json", "{}")
    words = ["--install-path=/opt/here", "--config-file-path=/etc/docker/other.json"]
    assert box.code(runtime_of(box), "--install", "--install-type=A500", *words) == 0
    assert json.loads(box.read("etc/docker/other.json"))["default-runtime"] == "ascend"
    assert "a500=y" in box.read("opt/here/Ascend-Docker-Runtime/ascend_docker_runtime_install.info")


def test_daemon_json_without_the_runtime():
    assert json.loads(daemon_json.without_runtime('{"runtimes": 1, "default-runtime": "ascend"}')) == {"runtimes": 1}


# The runtime that containers get


@pytest.mark.parametrize(
    ("text", "ids"),
    [("", []), ("void", []), ("0", [0]), ("0-2,5", [0, 1, 2, 5]), ("Ascend910-1,Ascend910-3", [1, 3]), ("npu-4", [4]), ("1,1", [1])],
)
def test_wanted_devices(text, ids):
    assert container_runtime.wanted(text) == ids


@pytest.mark.parametrize("text", ["all", "129", "a", "0;1"])
def test_devices_that_make_docker_end_with_127(text):
    with pytest.raises(container_runtime.ContainerError, match="no such file or directory"):
        container_runtime.wanted(text)


class Bundle:
    """A container's bundle, and a runc that writes down how it was called."""

    def __init__(self, folder, monkeypatch, env):
        self.folder = folder
        self.path = folder / "config.json"
        self.path.write_text(json.dumps({"process": {"env": env}}))
        dev = folder / "dev"
        dev.mkdir()
        for name in ("davinci0", "davinci3", "davinci_manager"):
            (dev / name).write_text("")
        lists = folder / "lists"
        lists.mkdir()
        (lists / "base.list").write_text("{0}\n/no/such/path\n".format(dev))
        library = folder / "libdcmi.so"
        library.write_text("")
        self.called = []
        monkeypatch.setattr(container_runtime, "LIBRARY", str(library))
        real_nodes, real_mounts = container_runtime.nodes, container_runtime.mounts
        monkeypatch.setattr(container_runtime, "nodes", lambda ids: real_nodes(ids, str(dev)))
        monkeypatch.setattr(container_runtime, "mounts", lambda lists_: real_mounts(lists_, str(lists)))
        monkeypatch.setattr(container_runtime.shutil, "which", lambda name: "/usr/sbin/runc" if name == "runc" else None)
        monkeypatch.setattr(container_runtime.os, "execv", lambda path, argv: self.called.append(argv))

    def create(self):
        log = str(self.folder / "log.json")
        code = container_runtime.main(["--log", log, "create", "--bundle", str(self.folder), "id"])
        lines = (self.folder / "log.json").read_text().splitlines() if os.path.exists(log) else []
        messages = [json.loads(line)["msg"] for line in lines]
        return code, json.loads(self.path.read_text()), messages


def test_container_gets_what_it_asks_for(tmp_path, monkeypatch):
    bundle = Bundle(tmp_path, monkeypatch, ["ASCEND_VISIBLE_DEVICES=0,3"])
    _code, spec, messages = bundle.create()
    assert [node["path"] for node in spec["linux"]["devices"]] == ["/dev/davinci0", "/dev/davinci3", "/dev/davinci_manager"]
    assert len(spec["linux"]["resources"]["devices"]) == 3
    assert [mount["destination"] for mount in spec["mounts"]] == [str(tmp_path / "dev")]
    assert spec["process"]["env"][1] == "ASCEND_DOCKER_RUNTIME=True"
    assert spec["process"]["env"][2].startswith("LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64:")
    assert messages == []
    assert bundle.called[0][0] == "/usr/sbin/runc" and bundle.called[0][3] == "create"


def test_container_that_asks_for_nothing_stays_as_it_is(tmp_path, monkeypatch):
    bundle = Bundle(tmp_path, monkeypatch, ["PATH=/bin"])
    assert bundle.create()[1] == {"process": {"env": ["PATH=/bin"]}}
    assert len(bundle.called) == 1


def test_container_without_driver_files(tmp_path, monkeypatch):
    bundle = Bundle(tmp_path, monkeypatch, ["ASCEND_VISIBLE_DEVICES=0", "ASCEND_RUNTIME_OPTIONS=NODRV", "LD_LIBRARY_PATH=/mine"])
    spec = bundle.create()[1]
    assert "mounts" not in spec and len(spec["linux"]["devices"]) == 2
    assert spec["process"]["env"][-1] == "ASCEND_DOCKER_RUNTIME=True"


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (["ASCEND_VISIBLE_DEVICES=9"], "/dev/davinci9: no such file or directory"),
        (["ASCEND_VISIBLE_DEVICES=0", "ASCEND_RUNTIME_OPTIONS=WHAT"], "invalid runtime option WHAT"),
        (["ASCEND_VISIBLE_DEVICES=0", "ASCEND_RUNTIME_MOUNTS=base,extra"], "mount list extra"),
    ],
)
def test_container_that_cannot_be_made(tmp_path, monkeypatch, env, message):
    bundle = Bundle(tmp_path, monkeypatch, env)
    code, spec, messages = bundle.create()
    assert code == 1
    assert message in messages[0]
    assert spec == {"process": {"env": env}}
    assert bundle.called == []


def test_container_on_a_host_without_driver_or_runc(tmp_path, monkeypatch, capsys):
    bundle = Bundle(tmp_path, monkeypatch, ["ASCEND_VISIBLE_DEVICES=0"])
    monkeypatch.setattr(container_runtime, "LIBRARY", str(tmp_path / "none.so"))
    assert "failed to find a valid manager" in bundle.create()[2][0]
    monkeypatch.setattr(container_runtime.shutil, "which", lambda name: None)
    assert container_runtime.main(["state", "id"]) == 1
    assert "executable file not found" in capsys.readouterr().err


def test_options_of_runc():
    assert container_runtime.option(["create", "--bundle=/b"], "--bundle", "-b") == "/b"
    assert container_runtime.option(["create", "-b", "/c"], "--bundle", "-b") == "/c"
    assert container_runtime.option(["create"], "--bundle") is None
