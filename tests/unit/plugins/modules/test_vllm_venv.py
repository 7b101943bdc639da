# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
import yaml
from ansible_collections.npufleet.ascend.plugins.module_utils import _job, _venv_task
from ansible_collections.npufleet.ascend.plugins.module_utils._host import HostError
from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import PYTHON_NAMES, PythonChoice
from ansible_collections.npufleet.ascend.plugins.modules import vllm_venv
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module

SCRIPT = "echo 'npufleet: stage 1/1 Build'; mkdir -p {0}/bin && touch {0}/bin/vllm && chmod +x {0}/bin/vllm"


@pytest.fixture()
def path(tmp_path, monkeypatch):
    """A host that has everything, and a build that takes no time."""
    path = str(tmp_path / "venv")
    monkeypatch.setattr(_venv_task, "choose_python", lambda wanted, allowed, run: PythonChoice("/usr/bin/python3.12", (3, 12, 1), True))
    monkeypatch.setattr(_venv_task.VenvTask, "_check_host", lambda *_arguments: None)
    monkeypatch.setattr(_venv_task, "build_script", lambda spec: SCRIPT.format(path))
    monkeypatch.setattr(_job, "WATCH_SECONDS", 0.02)
    return path


def run(path, check=False, **options):
    return run_module(vllm_venv.main, dict({"path": path}, **options), check=check)


def test_build_again_and_remove(path):
    predicted = run(path, check=True)
    assert (predicted["changed"], os.path.exists(path)) == (True, False)
    built = run(path)
    assert (built["failed"], built["changed"], built["pending"], built["venv"]) == (False, True, False, predicted["venv"])
    assert run(path)["changed"] is False
    assert run(path, check=True, state="absent")["changed"] is True
    assert os.path.exists(path)
    assert [run(path, state="absent")["changed"] for _turn in range(2)] == [True, False]
    assert not os.path.exists(path)


def test_a_build_that_takes_longer_than_a_slice_is_pending(path, monkeypatch):
    monkeypatch.setattr(_venv_task, "build_script", lambda spec: "echo 'npufleet: stage 1/1 Build'; echo busy; sleep 60")
    result = run(path, wait_slice=0)
    assert (result["failed"], result["changed"], result["pending"]) == (False, True, True)
    assert run(path, state="absent")["changed"] is True


def test_what_is_wrong_is_one_message(path, monkeypatch):
    def none(_wanted, _allowed, _run):
        raise HostError("no usable Python", where="PATH", remedy="Install one")

    monkeypatch.setattr(_venv_task, "choose_python", none)
    assert run(path) == {"failed": True, "msg": "no usable Python. Where: PATH. What to do: Install one."}


def test_what_the_kernel_refuses_is_one_message_too(path, tmp_path):
    (tmp_path / "file").write_text("")
    result = run(str(tmp_path / "file" / "venv"))
    assert result["failed"]
    assert result["msg"].startswith("the host refused: Not a directory. Where: {0}".format(tmp_path / "file"))
    assert "What to do: " in result["msg"]


def test_a_failed_build_is_one_message(path, monkeypatch):
    monkeypatch.setattr(_venv_task, "build_script", lambda spec: "echo 'npufleet: stage 1/1 Build'; echo 'ERROR: no torch'; exit 4")
    result = run(path)
    assert result["failed"]
    assert result["msg"].startswith(
        "building the virtual environment failed with exit code 4, in stage 1/1 Build: ERROR: no torch. Where: "
    )


def test_the_documentation_and_the_argument_spec_agree():
    documented = yaml.safe_load(vllm_venv.DOCUMENTATION)["options"]
    keys = ("type", "default", "choices", "required", "elements")
    spec = {name: {key: option[key] for key in option if key != "no_log"} for name, option in vllm_venv.argument_spec().items()}
    assert {name: {key: option[key] for key in keys if key in option} for name, option in documented.items()} == spec


def test_an_index_url_may_hold_a_password_and_is_not_logged():
    assert vllm_venv.argument_spec()["index_url"]["no_log"] is True


def test_the_documentation_names_the_pythons_in_their_order():
    description = yaml.safe_load(vllm_venv.DOCUMENTATION)["options"]["python"]["description"]
    assert ", ".join(PYTHON_NAMES[:-1]) + " and " + PYTHON_NAMES[-1] in description


def test_the_documentation_names_every_returned_value(path):
    returned = yaml.safe_load(vllm_venv.RETURN)
    plain = [name for name, value in returned["venv"]["contains"].items() if "returned" not in value]
    assert sorted(plain) == sorted(run(path)["venv"])
