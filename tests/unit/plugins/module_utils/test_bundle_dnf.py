# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_dnf import DNF_PYTHON, PROGRAM, stages
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Place

PLACE = Place("/work/part", "/bundle/os/oe", "/usr/bin/python3")
PART = {
    "kind": "dnf",
    "folder": "os/oe",
    "arch": "aarch64",
    "release": "22.03",
    "packages": ["gcc-c++", "numactl"],
    "repositories": [{"url": "https://r.example.com/a/", "key": "https://r.example.com/KEY"}, {"url": "file:///srv/b/", "key": None}],
}
# The part of dnf's library that the program uses.
LIBRARY = """
import json, os, types

class Error(Exception):
    pass

class MarkingError(Error):
    pass

exceptions = types.SimpleNamespace(Error=Error, MarkingError=MarkingError)
KNOWN = {"gcc-c++": 7, "numactl": 5}

class Package:
    def __init__(self, name, size):
        self.name = name
        self.location, self.downloadsize, self.license = "Packages/%s-1.aarch64.rpm" % name, size, "MIT"
        self.repo = types.SimpleNamespace(gpgcheck=name != "numactl")

    def __str__(self):
        return self.name

    def localPkg(self):
        folder = os.environ["LOGDIR"] if self.name == "numactl" else FETCHED[0]
        return folder + "/" + os.path.basename(self.location)

    def remote_location(self):
        return "https://r.example.com/" + self.location

FETCHED = []

class Repos:
    def all(self):
        return self

    def __setattr__(self, name, value):
        assert name == "pkgdir"
        FETCHED.append(value)

class Base:
    def __init__(self, conf):
        # Otherwise it asks the package database of this machine.
        assert conf.substitutions["releasever"]
        conf.logdir = conf.persistdir = os.environ["LOGDIR"]
        self.conf = conf
        self.wanted, self.repos, self.keys = [], Repos(), []

    def download_packages(self, packages):
        for package in packages:
            open(package.localPkg(), "w").write(package.name)

    def package_signature_check(self, package):
        if os.environ.get("UNSIGNED"):
            return 2, "Package is not signed"
        return (0, "") if self.keys else (1, "no key")

    def package_import_key(self, package, askcb):
        assert askcb(1, 2, 3)
        self.keys.append(package)

    def read_all_repos(self):
        open(os.environ["LOGDIR"] + "/substitutions", "w").write(json.dumps(self.conf.substitutions, sort_keys=True))

    def fill_sack(self, load_system_repo):
        assert load_system_repo is False

    def install(self, name):
        if name not in KNOWN:
            raise MarkingError(name)
        self.wanted.append(name)

    def resolve(self):
        if len(self.wanted) > 1 and os.environ.get("CONFLICT"):
            raise Error("nothing provides\\n  libfoo")
        self.transaction = types.SimpleNamespace(install_set=[Package(name, KNOWN[name]) for name in self.wanted])
"""


def test_an_empty_root_of_its_own_with_signatures_checked_where_there_is_a_key():
    made = stages(PART, PLACE)
    for line in (
        "reposdir=/work/part/none",
        "installroot=/work/part/root",
        "baseurl=https://r.example.com/a/",
        "gpgkey=https://r.example.com/KEY",
    ):
        assert line in made.resolve
    first, second = made.resolve.split("[npufleet-1]")
    assert "gpgcheck=1" in first and "gpgcheck=0" in second and "gpgkey" not in second
    assert made.resolve.endswith("/work/part/dnf.conf aarch64 22.03 list /work/part/listing.json gcc-c++ numactl")
    assert made.fetch.endswith("/work/part/dnf.conf aarch64 22.03 fetch /bundle/os/oe gcc-c++ numactl")
    # The same packages give the same metadata.
    assert made.finish.startswith("createrepo_c") and "--set-timestamp-to-revision /bundle/os/oe" in made.finish


def program(tmp_path, action, place, *names, **env):
    library = tmp_path / "library" / "dnf"
    library.mkdir(parents=True, exist_ok=True)
    (library / "__init__.py").write_text(LIBRARY)
    (library / "rpm.py").write_text("def basearch(arch):\n    return arch\n")
    (library / "conf.py").write_text(
        "class Conf:\n    def __init__(self):\n        self.substitutions = {}\n    def read(self):\n        pass\n"
    )
    argv = [sys.executable, "-c", PROGRAM, "/etc/dnf.conf", "aarch64", "22.03", action, str(tmp_path / place), *names]
    env = dict(os.environ, PYTHONPATH=str(tmp_path / "library"), LOGDIR=str(tmp_path / "logs"), **env)
    return subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)


def test_listing_of_what_dnf_would_install(tmp_path):
    assert program(tmp_path, "list", "listing", "numactl", "gcc-c++").returncode == 0
    rows = json.loads((tmp_path / "listing").read_text())
    assert [(row["file"], row["size"], row["licence"]) for row in rows] == [
        ("gcc-c++-1.aarch64.rpm", 7, "MIT"),
        ("numactl-1.aarch64.rpm", 5, "MIT"),
    ]
    assert rows[0]["url"] == "https://r.example.com/Packages/gcc-c++-1.aarch64.rpm"
    substitutions = json.loads((tmp_path / "logs" / "substitutions").read_text())
    assert substitutions == {"arch": "aarch64", "basearch": "aarch64", "releasever": "22.03"}


@pytest.mark.parametrize(
    "names, env, message",
    [
        (["gcc-c++", "gone", "lost"], {}, "ERROR: no repository has gone, lost"),
        (["gcc-c++", "numactl"], {"CONFLICT": "1"}, "ERROR: nothing provides libfoo"),
    ],
)
def test_what_dnf_cannot_resolve_is_one_line(tmp_path, names, env, message):
    done = program(tmp_path, "list", "listing", *names, **env)
    assert (done.returncode, done.stderr.strip()) == (1, message)
    assert not (tmp_path / "listing").exists()


def test_packages_are_checked_and_those_of_a_local_repository_copied(tmp_path):
    (tmp_path / "target").mkdir()
    done = program(tmp_path, "fetch", "target", "gcc-c++", "numactl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["Downloaded gcc-c++-1.aarch64.rpm", "Downloaded numactl-1.aarch64.rpm"]
    assert {path.name: path.read_text() for path in (tmp_path / "target").iterdir()} == {
        "gcc-c++-1.aarch64.rpm": "gcc-c++",
        "numactl-1.aarch64.rpm": "numactl",
    }


def test_a_package_that_nobody_signed_is_refused_where_there_is_a_key(tmp_path):
    (tmp_path / "target").mkdir()
    done = program(tmp_path, "fetch", "target", "gcc-c++", UNSIGNED="1")
    assert (done.returncode, done.stderr.strip()) == (1, "ERROR: gcc-c++: Package is not signed")
    assert program(tmp_path, "fetch", "target", "numactl", UNSIGNED="1").returncode == 0


@pytest.mark.parametrize(
    "first, expected", [("#!/usr/bin/python3", "/usr/bin/python3"), ("#! /usr/libexec/platform-python -s", "/usr/libexec/platform-python")]
)
def test_the_interpreter_of_dnf_is_found(tmp_path, first, expected):
    file = tmp_path / "dnf"
    file.write_text(first + "\nprint()\n")
    file.chmod(0o755)
    script = DNF_PYTHON + '\nprintf %s "$dnf_python"'
    # The folder holds no dnf-3, so its dnf is taken even where this machine has one.
    env = {"PATH": str(tmp_path) + ":" + str(tools(tmp_path))}
    done = subprocess.run(["/bin/sh", "-euc", script], env=env, stdout=subprocess.PIPE, universal_newlines=True, check=True)
    assert done.stdout == expected


def tools(tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "sed").symlink_to("/bin/sed")
    return folder
