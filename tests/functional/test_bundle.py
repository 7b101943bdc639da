# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an inventory puts into a bundle: the playbooks by real Ansible and apt-get, with a repository in a folder."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import typing as t

import pytest
import yaml
from functional_host import ROOT, Bench

PLATFORM = {"os": "debian", "version": "12", "arch": os.uname().machine}
STANZA = """\
Package: {name}
Version: 1
Architecture: all
Maintainer: test <test@example.com>
Description: test
Filename: ./{name}_1_all.deb
Size: 1000
SHA256: {sum:064d}

"""


def need(program: str, package: str) -> None:
    """Install a program of Debian where tests may (see .ci/run); what is missing is a failure where nothing may be skipped."""
    if shutil.which(program):
        return
    if os.environ.get("NPUFLEET_INSTALL_PREREQUISITES") and os.geteuid() == 0:
        words = ["apt-get", "install", "--yes", "--no-install-recommends", "-o", "APT::Sandbox::User=root", package]
        subprocess.run(words, check=True, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"), timeout=600)
    elif os.environ.get("NPUFLEET_NO_SKIP"):
        pytest.fail("{0} is missing: apt-get install {1}".format(program, package))
    else:
        pytest.skip("{0} is missing: apt-get install {1}".format(program, package))


class Site:
    """An inventory, and the folders of its bundle."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.bundle = folder / "bundle"
        self.bench = Bench(folder)
        (folder / "repository").mkdir()
        rows = [
            STANZA.format(name=name, sum=number) for number, name in enumerate(("haproxy", "openssl", "g++", "libnuma1", "python3-apt"))
        ]
        (folder / "repository" / "Packages").write_text("".join(rows))
        repository = {"url": "file:{0}/repository".format(folder), "suites": ["./"], "trusted": True}
        common = {
            "npufleet_bundle": str(self.bundle),
            "offline_bundle_work_folder": str(folder / "work"),
            "offline_bundle_systems": {"debian-12": {"repositories": [repository]}},
        }
        engine = {"vllm_engine_accelerator": "cpu", "vllm_engine_runtime": "supervisor", "vllm_engine_install": False}
        self.inventory: t.Dict[str, t.Any] = {
            "all": {"vars": dict(common, npufleet_platform=PLATFORM)},
            "engines": {"hosts": {"engine": {}, "both": {}}, "vars": dict(engine, vllm_engine_install_prerequisites=False)},
            "gateways": {"hosts": {"both": {}, "gateway": {"npufleet_platform": dict(PLATFORM, arch="aarch64")}}},
        }

    def playbook(self, name: str, *options: str) -> "subprocess.CompletedProcess[str]":
        (self.folder / "hosts.yml").write_text(yaml.safe_dump(self.inventory))
        words = ["--inventory", str(self.folder / "hosts.yml"), str(ROOT / "playbooks" / (name + ".yml")), *options]
        return self.bench.run("ansible-playbook", *words)

    def needs(self) -> t.Dict[str, t.Any]:
        """What each host was found to need, by its name."""
        play = [
            {"import_playbook": str(ROOT / "playbooks/needs.yml")},
            {
                "hosts": "all",
                "gather_facts": False,
                "tasks": [
                    {
                        "ansible.builtin.copy": {
                            "content": "{{ npufleet_bundle_host | default({}) | to_json }}",
                            "dest": str(self.folder) + "/{{ inventory_hostname }}.json",
                        },
                        "delegate_to": "localhost",
                    }
                ],
            },
        ]
        (self.folder / "play.json").write_text(json.dumps(play))
        (self.folder / "hosts.yml").write_text(yaml.safe_dump(self.inventory))
        done = self.bench.run("ansible-playbook", "--inventory", str(self.folder / "hosts.yml"), str(self.folder / "play.json"))
        assert done.returncode == 0, self.bench.output
        return {name: json.loads((self.folder / (name + ".json")).read_text()) for name in ("engine", "both", "gateway")}


@pytest.fixture()
def site(tmp_path: pathlib.Path) -> Site:
    return Site(tmp_path)


def packages(host: t.Mapping[str, t.Any]) -> t.List[str]:
    return sorted(name for need in host["needs"] for name in (need.get("os_packages") or {}).get("debian", []))


def test_engines_and_gateways_are_asked_alike(site: Site) -> None:
    site.inventory["engines"]["vars"]["vllm_engine_install_prerequisites"] = True
    found = site.needs()
    assert packages(found["gateway"]) == ["haproxy", "openssl"]
    engine = packages(found["engine"])
    assert engine and not {"haproxy", "openssl"}.intersection(engine)
    # Once, and for what both need.
    assert packages(found["both"]) == sorted([*engine, "haproxy", "openssl"])
    assert found["gateway"]["platform"] == dict(PLATFORM, arch="aarch64")


def test_a_gateway_that_brings_its_own_haproxy_needs_nothing(site: Site) -> None:
    site.inventory["gateways"]["vars"] = {"vllm_gateway_manage_packages": False}
    assert packages(site.needs()["gateway"]) == []
    site.inventory["gateways"]["vars"] = {"vllm_gateway_state": "absent"}
    assert packages(site.needs()["gateway"]) == []


def test_without_a_bundle_nobody_is_asked(site: Site) -> None:
    del site.inventory["all"]["vars"]["npufleet_bundle"]
    assert site.needs() == {"engine": {}, "both": {}, "gateway": {}}


def test_an_inventory_without_gateways(site: Site) -> None:
    del site.inventory["gateways"]
    site.inventory["engines"]["hosts"]["gateway"] = {}
    found = site.needs()
    assert found["both"]["name"] == "both" and packages(found["gateway"]) == []
    assert "WARNING" not in site.bench.output


def test_check_mode_lists_the_packages_of_gateways(site: Site) -> None:
    need("apt-ftparchive", "apt-utils")
    done = site.playbook("bundle", "--check", "-e", json.dumps({"offline_bundle_content": ["os"]}))
    assert done.returncode == 0, site.bench.output
    here = "os/debian-12-{0}: 3 files, 2.9 KiB".format(PLATFORM["arch"])
    assert here in done.stdout and "os/debian-12-aarch64: 3 files" in done.stdout
    assert re.findall(r'"  (\S+)_1_all\.deb 1000 B"', done.stdout)[:3] == ["haproxy", "openssl", "python3-apt"]
    assert not site.bundle.exists()
