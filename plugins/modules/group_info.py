#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: group_info
short_description: Read what has to fit before several hosts serve one engine together
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Asks C(hccn_tool) about the network of NPUs, and reads clock, MTU, ports, weights and versions of the host, in one call.
  - Compares nothing. The filter P(npufleet.ascend.vllm_group_problems#filter) does, with the answers of all hosts.
  - What cannot be read is a sentence in RV(group.errors) and no failure, so that the comparison names everything at once.
  - The action plugin of the same name measures the clock of the host against that of the controller.
extends_documentation_fragment:
  - npufleet.ascend.attributes
  - npufleet.ascend.attributes.info_module
options:
  chips:
    description:
      - NPUs to ask about, by the number N of their C(/dev/davinciN). Asked are link, health, address, gateway and TLS switch.
      - C(hccn_tool) serves one caller at a time. While somebody else asks, such as a monitor, it is asked again for four seconds.
    type: list
    elements: int
    default: []
  vnic:
    description: Whether to ask for the address inside the super pod as well. Only A3 has one.
    type: bool
    default: false
  pings:
    description: Which NPU of this host is to ping which address. A ping takes seconds, an address that does not answer about ten.
    type: list
    elements: dict
    default: []
    suboptions:
      chip:
        description: Number N of C(/dev/davinciN).
        type: int
        required: true
      address:
        description: Address of another NPU.
        type: str
        required: true
  ping_command:
    description: V(ping) goes over the RoCE card of the NPU, V(hccs_ping) over the links inside a super pod of A3.
    type: str
    choices: [ping, hccs_ping]
    default: ping
  hccn_tool:
    description: Absolute path of C(hccn_tool). Without it the tool is looked for on E(PATH) and below the driver.
    type: path
  hccn_conf:
    description: File that holds the addresses of NPUs, for the next boot and for containers.
    type: path
    default: /etc/hccn.conf
  interfaces:
    description: Network interfaces of which the MTU counts.
    type: list
    elements: str
    default: []
  ports:
    description: TCP ports that have to be free.
    type: list
    elements: int
    default: []
  weights:
    description:
      - Folders of models to list, with names and sizes of all files and digests of those up to 64 MiB.
      - Answers have the names that are given here, so that hosts with different home folders can be compared.
    type: list
    elements: str
    default: []
  hash_all:
    description: Whether to read all files for their digests, which takes minutes for each 100 GB.
    type: bool
    default: false
  images:
    description: Images whose ids count.
    type: list
    elements: str
    default: []
  docker_host:
    description: Where the container engine listens.
    type: str
    default: unix:///var/run/docker.sock
  venvs:
    description: Virtual environments whose versions of vLLM and its plugin count.
    type: list
    elements: str
    default: []
  driver_root:
    description: Folder that holds C(driver/version.info) and C(firmware/version.info). Without it the path of O(install_info) counts.
    type: path
  install_info:
    description: File in which the driver installer records what it did.
    type: path
    default: /etc/ascend_install.info
  timeout:
    description: Time limit of each C(hccn_tool) process, in seconds. An NPU that let one hang is asked nothing more.
    type: float
    default: 20.0
seealso:
  - plugin: npufleet.ascend.vllm_group_problems
    plugin_type: filter
  - name: Precheck
    description: What is checked, the formats of hccn_tool with their sources, and what was not verified on hardware.
    link: https://github.com/npufleet/ascend/blob/main/docs/precheck.md
"""

EXAMPLES = r"""
- name: Look at two NPUs and the weights
  npufleet.ascend.group_info:
    chips: [0, 1]
    interfaces: [eth0]
    ports: [8000, 13389]
    weights: [/data/models/DeepSeek-R1-w8a8]
  register: look

- name: Ping an NPU of another host
  npufleet.ascend.group_info:
    pings:
      - chip: 0
        address: 192.0.2.10
  register: reached
"""

RETURN = r"""
group:
  description: The answers. A value that is not known is null.
  returned: always
  type: dict
  contains:
    npus:
      description: >-
        By number of the NPU: C(link) (UP or DOWN), C(health) (Success is good), C(address), C(gateway), C(tls) (whether it is on),
        C(vnic_address), and C(errors).
      type: dict
    hccn_conf:
      description: Addresses by number of the NPU in O(hccn_conf); null without that file, or without O(chips).
      type: dict
    pings:
      description: O(pings) with packets C(sent) and C(received), null where the product has no such command, and C(error).
      type: list
      elements: dict
    clock:
      description: >-
        C(time) of the host since 1970, C(age) of that reading when the module ended, C(synchronised) as timedatectl says it, and C(ahead),
        how many seconds the host is ahead of the controller, at least and at most.
      type: dict
    mtu:
      description: By interface.
      type: dict
    ports:
      description: By port who listens, or null.
      type: dict
    weights:
      description: By folder and name of the file C(size) and C(sha256); null without such a folder.
      type: dict
    images:
      description: By name C(id), or the C(reason) why it is not known.
      type: dict
    venvs:
      description: By folder the versions of vllm, vllm_ascend and torch_npu.
      type: dict
    versions:
      description: Of C(driver), C(firmware) and C(cann) as installed.
      type: dict
    errors:
      description: What could not be read, one sentence each.
      type: list
      elements: str
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._group_info import Sources, look
from ansible_collections.npufleet.ascend.plugins.module_utils._host_clock import synchronised


def argument_spec() -> dict:
    return dict(
        chips={"type": "list", "elements": "int", "default": []},
        vnic={"type": "bool", "default": False},
        pings={
            "type": "list",
            "elements": "dict",
            "default": [],
            "options": {"chip": {"type": "int", "required": True}, "address": {"type": "str", "required": True}},
        },
        ping_command={"type": "str", "choices": ["ping", "hccs_ping"], "default": "ping"},
        hccn_tool={"type": "path"},
        hccn_conf={"type": "path", "default": "/etc/hccn.conf"},
        interfaces={"type": "list", "elements": "str", "default": []},
        ports={"type": "list", "elements": "int", "default": []},
        weights={"type": "list", "elements": "str", "default": []},
        hash_all={"type": "bool", "default": False},
        images={"type": "list", "elements": "str", "default": []},
        docker_host={"type": "str", "default": "unix:///var/run/docker.sock"},
        venvs={"type": "list", "elements": "str", "default": []},
        driver_root={"type": "path"},
        install_info={"type": "path", "default": "/etc/ascend_install.info"},
        timeout={"type": "float", "default": 20.0},
    )


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    # Read first and aged last: what the host does in between does not blur how far its clock is off.
    read, began = time.time(), time.monotonic()
    group = look(module.params, Sources(run, Clock(time.time, time.sleep)))
    clock = {"time": read, "synchronised": synchronised(), "age": time.monotonic() - began}
    module.exit_json(changed=False, group=dict(group, clock=clock))


if __name__ == "__main__":
    main()
