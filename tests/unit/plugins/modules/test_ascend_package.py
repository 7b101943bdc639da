# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.module_utils import _package_checks, _package_download
from ansible_collections.npufleet.ascend.plugins.module_utils._package_job import Installers
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import ARCHES, CHIPS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_options import argument_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS
from ansible_collections.npufleet.ascend.plugins.module_utils._package_task import PackageTask
from ansible_collections.npufleet.ascend.plugins.modules import ascend_package
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import World
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module

NNAL = "Ascend-cann-nnal_9.0.0_linux-x86_64.run"


@pytest.fixture()
def world(tmp_path, monkeypatch):
    """The module on a host below a temporary folder."""
    world = World(tmp_path)
    world.add_hdk("25.5.0")
    monkeypatch.setattr(_package_checks, "disk_free", lambda _path: 10**12)
    monkeypatch.setattr(Installers, "job", lambda _self, kind: world.job(kind))
    monkeypatch.setattr(ascend_package, "Host", lambda *_args: world.host())
    monkeypatch.setattr(
        ascend_package,
        "PackageTask",
        lambda params, host, _clock: PackageTask(params, host, world.clock.clock(), boot_id_file=world.boot_id),
    )
    return world


def run(world, *packages, check=False, **options):
    entries = [dict(zip(("name", "version"), text.split("="))) for text in packages]
    base = {"packages": entries, "folder": world.packages, "record_folder": world.records, "chip": "910b", "arch": "x86_64"}
    return run_module(ascend_package.main, dict(base, checksums=world.sums, accept_licences=True, **options), check=check)


def test_install_again_and_remove(world):
    packages = ("driver=25.5.0", "firmware=25.5.0")
    predicted = run(world, *packages, check=True)
    assert (predicted["failed"], predicted["changed"], os.path.exists(world.records)) == (False, True, False)
    done = run(world, *packages)
    assert (done["failed"], done["changed"], done["diff"]) == (False, True, predicted["diff"])
    assert run(world, *packages)["changed"] is False
    gone = [run(world, "driver", "firmware", state="absent")["changed"] for _turn in range(2)]
    assert gone == [True, False]


def test_what_is_in_the_way_comes_with_the_plan(world):
    result = run(world, "driver=25.5.0", "nnal=9.0.0")
    assert result["failed"] and result["msg"].startswith("3 things are in the way (install driver, install nnal):")
    for words in ("cannot be installed without the CANN toolkit", "nobody published a SHA-256 sum of " + NNAL, "is not in "):
        assert words in result["msg"]
    assert result["needed_files"] == [NNAL]
    assert [row["action"] for row in result["packages"]] == ["install", "install"]


def test_bad_input_is_one_message(world):
    result = run(world, "driver=latest")
    assert result["failed"] and result["msg"].startswith("'latest' is no version") and "Where: packages: driver." in result["msg"]


def test_what_the_kernel_refuses_is_one_message_too(world, monkeypatch):
    def refuse(*_args):
        raise PermissionError(13, "Permission denied", world.packages)

    monkeypatch.setattr(_package_download, "DownloadTask", refuse)
    result = run(world, "nnal=9.0.0", state="downloaded")
    assert result["failed"] and result["msg"].startswith("the host refused: Permission denied. Where: " + world.packages)


def test_files_only(world):
    result = run(world, "driver=25.5.0", "nnal=9.0.0", state="downloaded", check=True)
    assert (result["failed"], result["changed"], result["needed_files"]) == (False, True, [NNAL])


def test_doubts_are_warnings(world, monkeypatch):
    warnings = []
    monkeypatch.setattr(ascend_package.AnsibleModule, "warn", lambda _self, text: warnings.append(text))
    result = run(world, "driver=25.5.0", check=True)
    assert "doubts" not in result
    assert all("not known" in text for text in warnings)


def test_the_documentation_and_the_argument_spec_agree():
    documented = yaml.safe_load(ascend_package.DOCUMENTATION)["options"]
    keys = ("type", "default", "choices", "required", "elements")

    def plain(options):
        return {name: {key: option[key] for key in keys if key in option} for name, option in options.items()}

    assert plain(documented) == plain(argument_spec())
    assert plain(documented["packages"]["suboptions"]) == plain(argument_spec()["packages"]["options"])


def test_choices_are_those_of_the_tables():
    spec = argument_spec()
    assert spec["packages"]["options"]["name"]["choices"] == list(KINDS)
    assert sorted(spec["chip"]["choices"]) == sorted(CHIPS)
    assert spec["arch"]["choices"] == list(ARCHES)


def test_addresses_may_hold_a_password_and_are_not_logged():
    assert argument_spec()["mirror"]["no_log"] is True
    assert argument_spec()["packages"]["options"]["url"]["no_log"] is True


def test_the_documentation_names_every_returned_value(world):
    returned = yaml.safe_load(ascend_package.RETURN)
    result = run(world, "driver=25.5.0")
    assert sorted(returned) == sorted(set(result) - {"failed", "changed", "diff"})
    assert sorted(set(returned["packages"]["contains"]) - {"sha256"}) == sorted(result["packages"][0])
    fetched = run(world, "driver=25.5.0", state="downloaded")
    assert sorted(returned["packages"]["contains"]) == sorted(fetched["packages"][0])
