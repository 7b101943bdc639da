# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Engines "probe" beside the ones that converge made, run by the module itself."""

from __future__ import annotations

import json
import typing as t

import pytest

STANDIN = "/opt/standin"
OPTIONS = {
    "name": "probe",
    "venv": STANDIN,
    "home": "{{ npufleet_home }}",
    "model": "{{ model_weights_path }}",
    "port": 8100,
    "args": {"max_model_len": 512, "max_num_seqs": 8},
    "env": {"STANDIN_WORKERS": "1"},
    "wait_timeout": 60,
    "stop_timeout": 10,
}


@pytest.fixture
def key(variables):
    """The API key of the engines that converge made."""
    return variables["engines"]["vars"]["vllm_engine_api_key"]


@pytest.fixture(scope="module")
def engines(places, run_tasks):
    """Run vllm_engine on hosts, once for each set of changed options, after the tasks of ``before``; return all results for each host.

    The engines are gone after the module.
    """

    def run(hosts: t.Iterable[str], *steps: dict, before: t.Sequence[dict] = (), **variables: t.Any) -> t.Dict[str, t.List[dict]]:
        tasks = list(before)
        for step in steps:
            changes = dict(step)
            check = changes.pop("check", False)
            tasks.append({"npufleet.ascend.vllm_engine": dict(OPTIONS, **changes), "check_mode": check})
        return run_tasks(list(hosts), tasks, **variables)

    yield run
    left = [name for name, place in places.items() if place.root.file(place.folder("probe")).exists]
    if left:
        run(left, {"state": "absent"})


@pytest.fixture
def fault(places):
    """Let the engines that are started from now on in this test fail; see the stand-in engine for what it may be."""
    path = STANDIN + "/fault.json"

    def set_fault(**fault: t.Any) -> None:
        for place in places.values():
            place.root.check_output("printf %s '{0}' > {1}".format(json.dumps(fault), path))

    yield set_fault
    for place in places.values():
        place.root.check_output("rm -f " + path)
