#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: plan_info
short_description: Read what the planner of engines has to know of a host
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Reads NPUs, processors, memory and network of the host, what models say of themselves, and by which plans engines run here.
  - What it returns goes into the filter P(npufleet.ascend.vllm_plan#filter).
extends_documentation_fragment:
  - npufleet.ascend.attributes
  - npufleet.ascend.attributes.info_module
  - npufleet.ascend.npu_gather
options:
  home:
    description: Folder of the collection's state on the host, where M(npufleet.ascend.vllm_engine) keeps its plans.
    type: path
    default: /var/lib/npufleet
  models:
    description: Folders of models.
    type: list
    elements: path
    default: []
seealso:
  - module: npufleet.ascend.npu_facts
  - module: npufleet.ascend.vllm_engine
"""

EXAMPLES = r"""
- name: Look at the host and at a model
  npufleet.ascend.plan_info:
    models: [/data/models/DeepSeek-R1-Distill-Qwen-32B]
    gather: [topo, health]
  register: look

- name: Plan an engine
  ansible.builtin.debug:
    msg: "{{ ({'npu-01': look.host} | npufleet.ascend.vllm_plan(engines, look.plans)).text }}"
  vars:
    engines:
      - name: distill
        weights_bytes: "{{ look.models['/data/models/DeepSeek-R1-Distill-Qwen-32B'].weights_bytes }}"
        config: "{{ look.models['/data/models/DeepSeek-R1-Distill-Qwen-32B'].config }}"
"""

RETURN = r"""
host:
  description: The host as one of the hosts that the filter takes.
  returned: always
  type: dict
  contains:
    npu:
      description: What M(npufleet.ascend.npu_facts) calls C(npufleet_npu).
      type: dict
    arch:
      description: aarch64 or x86_64.
      type: str
    cpus:
      description: CPUs that are online, for instance 0-191.
      type: str
    numa_nodes:
      description: CPUs by NUMA node.
      type: dict
    memory_mb:
      description: Memory of the host in MiB.
      type: int
    interface:
      description: Network interface of the default route; null without one.
      type: str
    address:
      description: IPv4 address of that interface.
      type: str
models:
  description: By folder what the model says; config (its config.json), weights_bytes and files (names). Empty where there is none yet.
  returned: always
  type: dict
plans:
  description: Rows of earlier plans by which engines run on this host.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_facts import Settings, gather
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_facts import argument_spec as npu_argument_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_info import host_info, model_info, recorded_plans


def argument_spec() -> dict:
    return dict(
        npu_argument_spec(),
        home={"type": "path", "default": "/var/lib/npufleet"},
        models={"type": "list", "elements": "path", "default": []},
    )


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    settings = {name: module.params[name] for name in npu_argument_spec()}
    try:
        models = {path: model_info(path) for path in module.params["models"]}
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    host = dict(host_info(), npu=gather(Settings(**settings)))
    module.exit_json(changed=False, host=host, models=models, plans=recorded_plans(module.params["home"]))


if __name__ == "__main__":
    main()
