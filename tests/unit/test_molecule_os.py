# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The images of the Molecule hosts: each poses as what its name says, its package repository is consistent, its stand-ins answer."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._host import os_release
from ansible_collections.npufleet.ascend.plugins.module_utils._os_table import FAMILIES
from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import family_of

SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "molecule", "shared")
OS = os.path.join(SHARED, "os")
SYSTEMS = os.path.join(OS, "systems")
PAYLOAD = os.path.join(OS, "packages", "payload")
TOOLS = {"apt": "apt-get", "dnf": "dnf"}
# ID, VERSION_ID and family as the collection reads them.
EXPECTED = {
    "kylin-v10": ("kylin", "V10", "dnf"),
    "openeuler-22.03": ("openeuler", "22.03", "dnf"),
    "openeuler-24.03": ("openeuler", "24.03", "dnf"),
    "ubuntu-22.04": ("ubuntu", "22.04", "apt"),
    "ubuntu-22.04-aarch64": ("ubuntu", "22.04", "apt"),
    "uos": ("uos", "20", "dnf"),
}
KERNELS = {
    "6.18.44-fc-v669": ("6.18.44", "fc_v669"),
    "5.10.0-216.0.0.115.oe2203sp4.aarch64": ("5.10.0", "216.0.0.115.oe2203sp4.aarch64"),
    "6.1": ("6.1", "1"),
}


def load():
    """The package of the repository's code; its own name is too common for sys.path."""
    folder = os.path.join(OS, "packages")
    spec = importlib.util.spec_from_file_location("molecule_os", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    sys.modules["molecule_os"] = importlib.util.module_from_spec(spec)
    return [importlib.import_module("molecule_os." + name) for name in ("catalogue", "stage", "rpm", "deb")]


catalogue, stage, rpm, deb = load()


def settings_of(name):
    with open(os.path.join(SYSTEMS, name, "system.conf"), encoding="utf-8") as stream:
        return dict(line.strip().split("=", 1) for line in stream if "=" in line)


def names(attribute):
    return [getattr(row, attribute) for row in catalogue.catalogue("6.1") if getattr(row, attribute)]


def shell(script, *arguments, **environment):
    done = subprocess.run(
        ["sh", script, *arguments],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def test_every_system_is_expected():
    assert sorted(name for name in os.listdir(SYSTEMS) if os.path.isdir(os.path.join(SYSTEMS, name))) == sorted(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_system_poses_as_what_its_name_says(name):
    settings = settings_of(name)
    release = os_release(os.path.join(SYSTEMS, settings.get("like", name), "root"))
    assert (release.id, release.version, settings["family"]) == EXPECTED[name]
    tool = TOOLS[settings["family"]]
    family = family_of(release, find=lambda wanted: wanted if wanted == tool else None)
    assert family is not None and family.tool == tool and family in FAMILIES.values()


@pytest.mark.parametrize("name", sorted({settings_of(name).get("like", name) for name in EXPECTED}))
def test_the_files_of_a_system_never_replace_a_link_of_the_base(name):
    assert not os.path.exists(os.path.join(SYSTEMS, name, "root", "etc", "os-release"))
    assert not os.path.exists(os.path.join(SYSTEMS, name, "root", "lib"))
    assert os.path.isfile(os.path.join(SYSTEMS, name, "setup.sh"))


def test_the_build_script_knows_the_systems_and_leaves_the_plain_images_alone():
    build = os.path.join(OS, "build.sh")
    rc, listed = shell(build, "--list")
    lists = {name[: -len(".packages")] for name in os.listdir(os.path.join(SHARED, "images")) if name.endswith(".packages")}
    assert rc == 0 and set(listed.split()) == {*EXPECTED, *lists} and "debian-systemd" in lists
    for plain in lists:
        assert shell(build, "--tag", plain) == shell(os.path.join(SHARED, "images", "build.sh"), "--tag", plain)
    tags = {shell(build, "--tag", name) for name in EXPECTED if "python" not in settings_of(name)}
    assert {rc for rc, _tag in tags} == {0} and len(tags) == len(EXPECTED) - 1
    assert all(tag.startswith("npufleet-molecule/") for _rc, tag in tags)


def test_a_missing_python_is_said_with_what_enables_it(tmp_path):
    for tool in ("sh", "dirname", "uname", "sed", "cat", "tr", "sha256sum", "cut", "find", "sort", "xargs", "id"):
        os.symlink(shutil.which(tool), str(tmp_path / tool))
    rc, said = shell(os.path.join(OS, "build.sh"), "--tag", "kylin-v10", PATH=str(tmp_path))
    assert rc == 3 and "no Python 3.7" in said and "pyenv install 3.7" in said


@pytest.mark.parametrize("attribute", ["rpm", "deb"])
def test_a_name_is_offered_once(attribute):
    listed = names(attribute)
    assert len(listed) == len(set(listed)) and "gcc" in listed


def test_what_a_package_requires_is_offered():
    for attribute in ("rpm", "deb"):
        known = {*names(attribute), *(name for row in catalogue.catalogue("6.1") for name in row.provides)}
        for row in catalogue.catalogue("6.1"):
            assert not getattr(row, attribute) or set(row.requires) <= known, row


def test_every_payload_belongs_to_a_package_and_every_unit_exists():
    rows = catalogue.catalogue("6.1")
    assert {row.payload.partition(":")[0] for row in rows if row.payload} == set(os.listdir(PAYLOAD))
    for row in rows:
        if row.service and not row.debian:
            assert os.path.isfile(os.path.join(PAYLOAD, row.payload, "usr", "lib", "systemd", "system", row.service))


@pytest.mark.parametrize("release", sorted(KERNELS))
def test_headers_of_the_running_kernel(release, tmp_path):
    rows = {row.rpm or row.deb: row for row in catalogue.kernel_packages(release)}
    devel = rows["kernel-devel"]
    assert devel.deb == "linux-headers-" + release and devel.provides == ("kernel-devel-" + release,)
    assert tuple(devel.version.split("-")) == KERNELS[release]
    files = stage.stage(devel, str(tmp_path), {}, str(tmp_path))
    build = "usr/lib/modules/{0}/build".format(release)
    assert build in files and os.path.isfile(str(tmp_path) + os.readlink(str(tmp_path / build)) + "/Makefile")


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("bin/bzip2", "usr/bin/bzip2"),
        ("sbin/ifconfig", "usr/sbin/ifconfig"),
        ("lib/systemd/system/containerd.service", "usr/lib/systemd/system/containerd.service"),
        ("usr/lib/x86_64-linux-gnu/libpopt.so.0", "usr/lib/x86_64-linux-gnu/libpopt.so.0"),
        ("etc/logrotate.conf", "etc/logrotate.conf"),
        ("usr/share/doc/unzip/copyright", ""),
    ],
)
def test_where_the_files_of_a_debian_package_go(path, target):
    assert stage.target_of(path, catalogue.PROGRAM) == target


def test_docker_engine_takes_the_programs_it_needs(tmp_path):
    row = next(row for row in catalogue.REAL if row.rpm == "docker-engine")
    for path in (
        "docker.io/usr/sbin/dockerd",
        "docker.io/usr/bin/docker",
        "docker.io/usr/bin/dnet",
        "containerd/usr/bin/containerd",
        "runc/usr/sbin/runc",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    (tmp_path / "runc/usr/bin").mkdir()
    os.symlink("../sbin/runc", str(tmp_path / "runc/usr/bin/runc"))
    files = stage.stage(row, str(tmp_path / "root"), {}, str(tmp_path))
    assert [name for name in files if name.startswith("usr/bin")] == [
        "usr/bin/" + name for name in ("containerd", "docker", "dockerd", "runc")
    ]
    assert (tmp_path / "root/usr/bin/runc").read_text() == "runc/usr/sbin/runc"
    assert "usr/lib/systemd/system/docker.service" in files


def test_payload_modes_do_not_depend_on_the_checkout(tmp_path, monkeypatch):
    shutil.copytree(os.path.join(PAYLOAD, "tuned"), str(tmp_path / "payload" / "tuned"))
    for folder, _folders, files in os.walk(str(tmp_path / "payload")):
        for name in files:
            path = os.path.join(folder, name)
            os.chmod(path, 0o700 if os.access(path, os.X_OK) else 0o600)
    monkeypatch.setattr(stage, "HERE", str(tmp_path))
    files = stage.stage(catalogue.Package(payload="tuned"), str(tmp_path / "root"), {}, str(tmp_path))
    modes = {name: os.stat(str(tmp_path / "root" / name)).st_mode & 0o777 for name in files}
    assert modes["usr/sbin/tuned"] == 0o755 and modes["usr/lib/systemd/system/tuned.service"] == 0o644


def test_spec_of_a_standin():
    row = catalogue.Package(
        rpm="bash", version="1.2-3", payload="x", provides=("/bin/sh", "sh"), requires=("glibc",), service="a.service", group="g"
    )
    text = rpm.sub_package(row, ["etc/a b.conf", "usr/bin/a"])
    for line in (
        "Version: 1.2", "Release: 3", "BuildArch: noarch", "Provides: /bin/sh", "Provides: sh = 1.2", "Requires: glibc",
        '%config(noreplace) "/etc/a b.conf"', '"/usr/bin/a"', "getent group g >/dev/null || groupadd --system g",
    ):  # fmt: skip
        assert line in text.splitlines()
    assert "systemctl enable --now a.service" in text.partition("%post")[2].partition("%preun")[0]
    assert "systemctl disable --now a.service" in text.partition("%preun")[2]


def test_spec_of_a_real_program():
    text = rpm.sub_package(catalogue.Package(rpm="unzip", debian=("unzip",)), ["usr/bin/unzip"])
    assert "BuildArch" not in text and "%post" not in text and "Release: 1" in text.splitlines()
    assert "Summary: From the Debian packages unzip" in text.splitlines()


def test_control_and_scripts_of_a_deb():
    row = catalogue.Package(deb="tuned", version="2.19-1", payload="tuned", requires=("gcc", "make"), service="tuned.service")
    lines = deb.control(row).splitlines()
    assert "Version: 2.19~molecule" in lines and "Depends: gcc, make" in lines and "Architecture: all" in lines
    assert "enable --now tuned.service" in deb.post(row) and "disable --now tuned.service" in deb.pre_removal(row)
    plain = catalogue.Package(deb="libnuma-dev")
    assert "Depends" not in deb.control(plain) and deb.post(plain) == deb.pre_removal(plain) == ""


def sysfs(root, functions):
    for address, attributes in functions.items():
        folder = root / "bus" / "pci" / "devices" / address
        folder.mkdir(parents=True)
        for name, value in attributes.items():
            (folder / name).write_text(value + "\n")
    return str(root)


NPU = {
    "vendor": "0x19e5",
    "device": "0xd802",
    "class": "0x120000",
    "revision": "0x20",
    "subsystem_vendor": "0x19e5",
    "subsystem_device": "0x3004",
}
CARD = {"vendor": "0x19e5", "device": "0x1822", "class": "0x020000"}


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (
            ["-nn"],
            "05:00.0 Ethernet controller [0200]: Huawei Technologies Co., Ltd. Device [19e5:1822]\n"
            "c1:00.0 Processing accelerators [1200]: Huawei Technologies Co., Ltd. Device [19e5:d802] (rev 20)\n",
        ),
        (["-n", "-d", "19E5:D802"], "c1:00.0 1200: 19e5:d802 (rev 20)\n"),
        (["-n", "-D", "-d19e5:1822"], "0000:05:00.0 0200: 19e5:1822\n"),
        (["-s", "c1:00.0"], "c1:00.0 Processing accelerators: Huawei Technologies Co., Ltd. Device d802 (rev 20)\n"),
        (["-d", "10de:"], ""),
    ],
)
def test_lspci(tmp_path, arguments, answer):
    root = sysfs(tmp_path, {"0000:c1:00.0": NPU, "0000:05:00.0": CARD})
    assert shell(os.path.join(PAYLOAD, "pciutils/usr/bin/lspci"), *arguments, LSPCI_SYSFS=root) == (0, answer)


def test_lspci_refuses_what_it_does_not_know(tmp_path):
    rc, said = shell(os.path.join(PAYLOAD, "pciutils/usr/bin/lspci"), "-t", LSPCI_SYSFS=str(tmp_path))
    assert rc == 1 and "-t" in said


def test_dkms_keeps_a_register_and_wants_headers(tmp_path):
    dkms = os.path.join(PAYLOAD, "dkms/usr/sbin/dkms")
    assert shell(dkms, "add", "-m", "davinci_ascend", "-v", "1.0", "-k", "none", DKMS_TREE=str(tmp_path)) == (0, "")
    assert "davinci_ascend/1.0, none, " in shell(dkms, "status", DKMS_TREE=str(tmp_path))[1]
    rc, said = shell(dkms, "install", "davinci_ascend/1.0", "-k", "none", DKMS_TREE=str(tmp_path))
    assert rc == 21 and "/lib/modules/none/build" in said
    assert shell(dkms, "add", DKMS_TREE=str(tmp_path))[0] == 1
    assert shell(dkms, "remove", "davinci_ascend/1.0", DKMS_TREE=str(tmp_path)) == (0, "")
    assert shell(dkms, "status", DKMS_TREE=str(tmp_path)) == (0, "")


@pytest.mark.parametrize("tool", ["gcc/usr/bin/gcc", "g++/usr/bin/g++", "make/usr/bin/make", "cmake/usr/bin/cmake"])
def test_compilers_say_that_they_are_standins_and_fail(tool):
    script = os.path.join(PAYLOAD, tool)
    rc, said = shell(script, "--version")
    assert rc == 0 and "stand-in" in said
    assert shell(script, "-o", "a.out", "a.c")[0] != 0
