#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_tuning
short_description: Tune the kernel of an Ascend host, all knobs in one call
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Reads every knob once, compares, changes what differs, keeps it over a reboot, and reads again.
  - The value found before the first change is noted. O(state=absent), and a knob that is not wanted any more, put it back.
  - What does not exist on a host (a knob that the kernel lacks, anything but its own limits in a container) is reported as skipped.
  - C(kernel.shmmax), C(kernel.shmall), the number of huge pages and the limits of sessions are raised and never lowered.
  - A run that changes nothing writes nothing and starts no process, as long as no kernel argument waits for a reboot.
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
  state:
    description: V(absent) puts every value back to what was found before the first change, and deletes the files of this module.
    type: str
    choices: [present, absent]
    default: present
  knobs:
    description: The wanted values. What is left out is left alone, or put back if this module changed it before.
    type: dict
    default: {}
    suboptions:
      hugepages:
        description: Huge pages to reserve, at once and at each boot. vLLM on Ascend does not need them.
        type: list
        elements: dict
        default: []
        suboptions:
          size:
            description: Size of a page, such as V(2M), V(32M), V(512M) or V(1G). The default is the kernel's default size.
            type: str
          count:
            description: Number of pages.
            type: int
            required: true
          node:
            description: NUMA node to take them from. By default they are spread evenly over all nodes with memory.
            type: int
      hugepages_share:
        description: Largest part of the free memory of a NUMA node that new huge pages may take; more is refused.
        type: float
        default: 0.5
      shmmax_bytes:
        description: Lowest C(kernel.shmmax), in bytes.
        type: int
      shmall_pages:
        description: >-
          Lowest C(kernel.shmall), in pages; V(0) leaves it alone. By default as many as hold O(knobs.shmmax_bytes) with the page size of this
          kernel.
        type: int
      transparent_hugepage:
        description: Transparent huge pages.
        type: str
        choices: [always, madvise, never]
      swappiness:
        description: Value of C(vm.swappiness).
        type: int
      numa_balancing:
        description: Value of C(kernel.numa_balancing), V(0) or V(1).
        type: int
      sched_migration_cost_ns:
        description: Migration cost of the scheduler in nanoseconds; a sysctl until Linux 5.12, a file of debugfs since.
        type: int
      cpu_governor:
        description: Governor of all CPUs, such as V(performance).
        type: str
      irqbalance:
        description:
          - V(stopped) stops and disables irqbalance on hosts with NPUs.
          - V(ban_npu) lets it run and leave the interrupts of NPUs alone. V(keep) leaves it as it was found.
        type: str
        choices: [keep, stopped, ban_npu]
        default: keep
      npu_irq_affinity:
        description: Handle the interrupts of each NPU on CPUs near it.
        type: bool
        default: false
      npu_work_queue_affinity:
        description: Run the kernel work queue that sends the tasks of an NPU on CPUs near it; needs O(npus).
        type: bool
        default: false
      reserved_ports:
        description:
          - Ports that the kernel gives to no connection by itself, such as V(60000-60255), on hosts with NPUs. HCCL listens on them.
          - They are added to C(net.ipv4.ip_local_reserved_ports), now and at each boot. What others reserved stays.
        type: str
        default: ""
      iommu_passthrough:
        description: Let DMA of drivers pass the IOMMU untranslated; a kernel argument, takes effect at the next reboot.
        type: bool
        default: false
      nofile:
        description: Lowest limit of open files of sessions.
        type: int
      memlock:
        description: Lowest limit of locked memory of sessions, in KiB, or V(unlimited).
        type: str
      limits_for:
        description: Users and groups (C(@group)) of O(knobs.nofile) and O(knobs.memlock). C(*) does not include root.
        type: list
        elements: str
        default: ["*", root]
  npus:
    description: The chips of the fact C(npufleet_npu); bus_id and phy_id are used. The PCI bus is read by the module itself.
    type: list
    elements: dict
    default: []
  host_type:
    description: What the host is, where V(auto) gets it wrong, such as a system container that owns its machine.
    type: str
    choices: [auto, physical, virtual, container]
    default: auto
  record:
    description: File on the host for the values found first.
    type: path
    default: /var/lib/npufleet/host_tuning.json
seealso:
  - module: npufleet.ascend.npu_facts
"""

EXAMPLES = r"""
- name: Tune a host as the guide of vllm-ascend asks
  npufleet.ascend.host_tuning:
    knobs:
      swappiness: 0
      numa_balancing: 0
      sched_migration_cost_ns: 50000
      cpu_governor: performance
      irqbalance: stopped
      npu_irq_affinity: true
      npu_work_queue_affinity: true
    npus: "{{ ansible_facts['npufleet_npu']['chips'] }}"
  register: tuning

- name: Show the table
  ansible.builtin.debug:
    var: tuning.text

- name: Reserve 1024 huge pages of 2 MB as well, evenly over all NUMA nodes
  npufleet.ascend.host_tuning:
    knobs:
      swappiness: 0
      hugepages:
        - size: 2M
          count: 1024

- name: Put everything back
  npufleet.ascend.host_tuning:
    state: absent
"""

RETURN = r"""
table:
  description: One element a knob.
  returned: success
  type: list
  elements: dict
  contains:
    knob:
      description: Name of the knob.
      type: str
    found:
      description: What the host had before this run.
      type: str
    wanted:
      description: What shall be.
      type: str
    now:
      description: What the host has now; in check mode, what it would have.
      type: str
    action:
      description: V(ok), V(set), V(kept), V(partly), V(skipped), V(undone) or V(off).
      type: str
    reason:
      description: Why.
      type: str
text:
  description: The table as lines for a terminal.
  returned: success
  type: list
  elements: str
numa_plan:
  description: The CPUs of each NPU.
  returned: success
  type: list
  elements: dict
  contains:
    device:
      description: N of C(/dev/davinciN), if known.
      type: int
    bus_id:
      description: PCI function.
      type: str
    numa_node:
      description: NUMA node.
      type: int
    near_cpus:
      description: CPUs near the NPU, shared with its neighbours.
      type: str
    cpus:
      description: Its part of them.
      type: str
host_type:
  description: V(physical), V(virtual) or V(container).
  returned: success
  type: str
reboot_required:
  description: Whether kernel arguments wait for a reboot.
  returned: success
  type: bool
reboot_reason:
  description: Which.
  returned: success
  type: str
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_task import TuningTask

HUGEPAGES = {"size": {"type": "str"}, "count": {"type": "int", "required": True}, "node": {"type": "int"}}
KNOBS = {
    "hugepages": {"type": "list", "elements": "dict", "default": [], "options": HUGEPAGES},
    "hugepages_share": {"type": "float", "default": 0.5},
    "shmmax_bytes": {"type": "int"},
    "shmall_pages": {"type": "int"},
    "transparent_hugepage": {"type": "str", "choices": ["always", "madvise", "never"]},
    "swappiness": {"type": "int"},
    "numa_balancing": {"type": "int"},
    "sched_migration_cost_ns": {"type": "int"},
    "cpu_governor": {"type": "str"},
    "irqbalance": {"type": "str", "choices": ["keep", "stopped", "ban_npu"], "default": "keep"},
    "npu_irq_affinity": {"type": "bool", "default": False},
    "npu_work_queue_affinity": {"type": "bool", "default": False},
    "reserved_ports": {"type": "str", "default": ""},
    "iommu_passthrough": {"type": "bool", "default": False},
    "nofile": {"type": "int"},
    "memlock": {"type": "str"},
    "limits_for": {"type": "list", "elements": "str", "default": ["*", "root"]},
}


def argument_spec() -> dict:
    return {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "knobs": {"type": "dict", "default": {}, "options": KNOBS},
        "npus": {"type": "list", "elements": "dict", "default": []},
        "host_type": {"type": "str", "choices": ["auto", "physical", "virtual", "container"], "default": "auto"},
        "record": {"type": "path", "default": "/var/lib/npufleet/host_tuning.json"},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        result = TuningTask(module.params, run, is_root=os.geteuid() == 0).execute(module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    for text in result.pop("notes"):
        module.warn(text)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
