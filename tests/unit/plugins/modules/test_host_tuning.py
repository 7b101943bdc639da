# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import KNOBS, Knobs, knobs_of
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_task import TuningTask
from ansible_collections.npufleet.ascend.plugins.modules import host_tuning
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import RECORD, make_host, read, write
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module


@pytest.fixture()
def root(tmp_path, monkeypatch):
    """main() with a folder in the place of /."""
    make_host(tmp_path)

    def task(params, _run, is_root):
        return TuningTask(
            params, lambda argv, timeout: CommandResult(list(argv), 0, "", ""), lambda name, _d: "/bin/" + name, True, str(tmp_path)
        )

    monkeypatch.setattr(host_tuning, "TuningTask", task)
    return tmp_path


def run(check=False, **options):
    return run_module(host_tuning.main, options, check=check)


def test_tune_again_and_put_back(root):
    predicted = run(check=True, knobs={"swappiness": 0})
    assert (predicted["changed"], read(root, "/proc/sys/vm/swappiness")) == (True, "60")
    done = run(knobs={"swappiness": 0})
    assert (done["changed"], done["failed"], done["diff"]) == (True, False, predicted["diff"])
    assert run(knobs={"swappiness": 0})["changed"] is False
    assert [run(state="absent")["changed"] for _turn in range(2)] == [True, False]
    assert read(root, "/proc/sys/vm/swappiness") == "60"


def test_without_options_nothing_happens(root):
    result = run()
    assert (result["changed"], [row["knob"] for row in result["table"]]) == (False, list(KNOBS))


def test_warnings_reach_the_person(root, monkeypatch):
    said = []
    monkeypatch.setattr(host_tuning.AnsibleModule, "warn", lambda _module, text: said.append(text))
    write(root, "/etc/sysctl.d/99-site.conf", "vm.swappiness = 10\n")
    assert "notes" not in run(knobs={"swappiness": 0})
    assert said == ["/etc/sysctl.d/99-site.conf sets vm.swappiness to 10 at boot, after /etc/sysctl.d/90-npufleet.conf"]


def test_what_is_wrong_is_one_message(root):
    result = run(knobs={"swappiness": 500})
    assert result["failed"]
    assert result["msg"] == "500 is outside of 0 to 200. Where: knobs.swappiness. What to do: Use a value in that range."


def test_what_the_kernel_refuses_is_one_message(root):
    write(root, "/var", "")
    result = run(knobs={"swappiness": 0})
    assert result["failed"] and result["msg"].startswith("the host refused: ")


def test_documented_suboptions_are_the_spec():
    documented = yaml.safe_load(host_tuning.DOCUMENTATION)["options"]["knobs"]["suboptions"]
    keys = ("type", "default", "choices", "elements", "required")
    assert {name: {key: option[key] for key in keys if key in option} for name, option in documented.items()} == {
        name: {key: option[key] for key in keys if key in option} for name, option in host_tuning.KNOBS.items()
    }
    assert {name: item.get("type") for name, item in documented["hugepages"]["suboptions"].items()} == {
        name: item["type"] for name, item in host_tuning.HUGEPAGES.items()
    }
    assert set(documented) == set(Knobs._fields)


def test_the_defaults_of_the_spec_are_those_of_the_code():
    defaults = knobs_of({name: option["default"] for name, option in host_tuning.KNOBS.items() if "default" in option})
    assert defaults == Knobs()
    assert host_tuning.argument_spec()["record"]["default"] == RECORD


def test_the_documentation_names_every_returned_value(root):
    returned = yaml.safe_load(host_tuning.RETURN)
    result = run()
    assert set(returned) == set(result) - {"changed", "failed", "diff"}
    assert set(returned["table"]["contains"]) == set(result["table"][0])
