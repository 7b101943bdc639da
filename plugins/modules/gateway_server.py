#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gateway_server
short_description: Drain an engine at the gateway, or let it serve again
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Asks and tells the HAProxy of the role vllm_gateway over its Unix socket, on the host of the gateway, as root.
  - A drained engine gets no new requests, and the task ends when its last one has ended. Requests that began before a reload of the gateway
    are counted, too; they live in older processes of HAProxy.
  - The state is kept over reloads and restarts of the gateway.
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
  server:
    description: Name of the engine in the gateway. Without it the task only tells about all engines.
    type: str
  state:
    description:
      - V(drain) sends no new requests to the engine, goes on checking it, and waits until its last request has ended.
      - V(maintenance) also stops the checks.
      - V(ready) lets it serve again, and waits until it is up.
      - Without it the task only tells.
    type: str
    choices: [ready, drain, maintenance]
  backend:
    description: Name of the backend.
    type: str
    default: engines
  socket:
    description: >-
      Socket of HAProxy's master process. That of a worker, level admin, does as well where there is no master, but it
      does not know of requests that began before a reload.
    type: path
    default: /run/npufleet-gateway/master.sock
  state_file:
    description: File that the states are saved to, which HAProxy reads when it starts. Nothing is saved where its folder does not exist.
    type: path
    default: /var/lib/npufleet-gateway/servers.state
  wait_timeout:
    description: Seconds to wait. When they are over the task fails, and the state stays as it was set. V(0) does not wait.
    type: int
    default: 600
seealso:
  - module: npufleet.ascend.vllm_info
"""

EXAMPLES = r"""
- name: Send no new requests to an engine, and wait for those that it has
  npufleet.ascend.gateway_server:
    server: engine-01
    state: drain
    wait_timeout: 1800
  delegate_to: gateway.example.com
  become: true

- name: Let it serve again, and wait until it is up
  npufleet.ascend.gateway_server:
    server: engine-01
    state: ready
  delegate_to: gateway.example.com
  become: true

- name: Look which engines serve
  npufleet.ascend.gateway_server:
  register: gateway
"""

RETURN = r"""
servers:
  description: The engines of the gateway; only that one where O(server) names one.
  returned: always
  type: list
  elements: dict
  contains: &row
    name:
      description: Name of the engine.
      type: str
    state:
      description: What somebody wants of it, one of V(ready), V(drain) and V(maintenance).
      type: str
    operational:
      description: Whether it answers checks, one of V(up), V(down) and V(unknown).
      type: str
    status:
      description: Status in the words of HAProxy.
      type: str
    check:
      description: Result of the last check in the words of HAProxy, such as L7OK or L4CON.
      type: str
    reason:
      description: Name, status and result of the last check, for people.
      type: str
    address:
      description: Address and port.
      type: str
    sessions:
      description: Requests that it works on, or that wait for it, in all processes of HAProxy.
      type: int
    settling:
      description: Whether a reload was so short ago that an older process may get one more request.
      type: bool
server:
  description: The engine, where O(server) and O(state) name one.
  returned: when O(server) and O(state) are given
  type: dict
  contains: *row
waited_seconds:
  description: Seconds that the task waited.
  returned: when O(server) and O(state) are given
  type: float
"""

import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host
from ansible_collections.npufleet.ascend.plugins.module_utils._files import write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._gateway_socket import socket_ask
from ansible_collections.npufleet.ascend.plugins.module_utils._gateway_task import GatewayTask, Wanted


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "server": {"type": "str"},
            "state": {"type": "str", "choices": ["ready", "drain", "maintenance"]},
            "backend": {"type": "str", "default": "engines"},
            "socket": {"type": "path", "default": "/run/npufleet-gateway/master.sock"},
            "state_file": {"type": "path", "default": "/var/lib/npufleet-gateway/servers.state"},
            "wait_timeout": {"type": "int", "default": 600},
        },
        required_by={"state": ["server"]},
        supports_check_mode=True,
    )
    options = module.params

    def save(text: str) -> None:
        if os.path.isdir(os.path.dirname(options["state_file"])):
            write_text(options["state_file"], text, 0o600)

    wanted = Wanted(options["backend"], options["server"], options["state"], options["wait_timeout"])
    try:
        result = GatewayTask(wanted, socket_ask(options["socket"]), save, Clock(time.time, time.sleep)).execute(module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
