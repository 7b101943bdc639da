#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: npu_info
short_description: Return the state of the Ascend NPUs of a host
version_added: 0.1.0
author: ["npufleet.ascend maintainers (@npufleet)"]
description:
  - Returns health, power, temperature, load, memory and processes of each NPU chip, with the identity and the versions of the host.
  - The same structure as M(npufleet.ascend.npu_facts), read the same way, as a result instead of a fact.
  - Never fails for a host without NPUs, without a driver or with a broken one. RV(npu.available) is then V(false) and RV(npu.reason)
    tells why.
extends_documentation_fragment:
  - npufleet.ascend.npu_gather
  - npufleet.ascend.attributes
  - npufleet.ascend.attributes.info_module
seealso:
  - module: npufleet.ascend.npu_facts
"""

EXAMPLES = r"""
- name: Read the NPUs and the error codes of unhealthy chips
  npufleet.ascend.npu_info:
    gather: [health]
  register: result

- name: Check that all chips are healthy
  ansible.builtin.assert:
    that:
      - result.npu.available
      - result.npu.complete
      - result.npu.healthy_count == result.npu.chip_count
    fail_msg: "{{ result.npu.message or result.npu.warnings }}"

- name: Find chips that nobody uses
  ansible.builtin.set_fact:
    free_chips: "{{ result.npu.chips | selectattr('processes', 'eq', []) | map(attribute='phy_id') | list }}"

- name: Wait until the chips respond after a reset, with a short time limit
  npufleet.ascend.npu_info:
    timeout: 5
  register: result
  until: result.npu.available and result.npu.complete
  retries: 30
  delay: 10
"""

RETURN = r"""
npu:
  description: The NPUs of the host. Every key is always there; a value that is not known is null.
  returned: always
  type: dict
  contains:
    available:
      description: Whether C(npu-smi) answers and at least one chip responds. Only then is RV(npu.chips) a list to act on.
      type: bool
    reason:
      description: >-
        Code of why RV(npu.available) is V(false): V(no_npu), V(command_not_found), V(timeout), V(dcmi_init_failed),
        V(device_in_use), V(missing_library), V(permission_denied), V(devices_not_listed), V(no_chip_responding),
        V(unexpected_output) and others, see the guide.
      type: str
    message:
      description: >-
        The same for people: what is wrong, what the host shows, what to do.
      type: str
    present:
      description: Whether the host shows any Ascend hardware, with or without a driver.
      type: bool
    complete:
      description: Whether, as far as can be told, every NPU of the host is listed and responds.
      type: bool
    product:
      description: Product by PCI ids; several are joined with a comma.
      type: str
    generation:
      description: V(310), V(310P), V(310B), V(A1), V(A2), V(A3) or V(A5); null when unknown or mixed.
      type: str
    soc:
      description: SoC version that all chips share, such as V(Ascend910B3).
      type: str
    image_suffix:
      description: What the tag of the vllm-ascend image ends with; null when no image serves the generation.
      type: str
    npu_count:
      description: NPUs (cards or modules) that C(npu-smi) lists; null without its answer.
      type: int
    chip_count:
      description: >-
        Chips that C(npu-smi) lists: an A3 NPU and an Atlas 300I Duo have two.
      type: int
    responding_count:
      description: Chips with values other than zero.
      type: int
    healthy_count:
      description: Chips that respond and are C(OK).
      type: int
    pci_count:
      description: PCI functions of NPUs, without virtual ones.
      type: int
    device_node_count:
      description: Number of C(/dev/davinciN).
      type: int
    missing_bus_ids:
      description: PCI functions without a chip; null when the two cannot be compared.
      type: list
      elements: str
    tool_path:
      description: Path of C(npu-smi).
      type: str
    tool_version:
      description: Version of C(npu-smi).
      type: str
    driver_version:
      description: Version of the running driver, from C(npu-smi).
      type: str
    driver_version_installed:
      description: Version of the driver on disk, from its C(version.info).
      type: str
    driver_install_status:
      description: V(complete) after an installation that ended well.
      type: str
    driver_matches_installed:
      description: Whether the driver that runs is the one on disk; V(false) means that a reboot is due.
      type: bool
    firmware_version:
      description: Version of the firmware package on disk, else what O(gather=board) says.
      type: str
    driver_root:
      description: Where the driver is installed, or would be.
      type: str
    pci:
      description: >-
        PCI functions: bus_id, device_id, subsystem_id, product, generation, numa_node, cpu_affinity, driver, virtual_function.
      type: list
      elements: dict
    device_nodes:
      description: Numbers of C(/dev/davinciN), ascending.
      type: list
      elements: int
    control_nodes:
      description: Which of davinci_manager, devmm_svm, hisi_hdc, ummu, uburma exist.
      type: list
      elements: str
    chips:
      description: One element a chip.
      type: list
      elements: dict
      contains:
        npu_id:
          description: Id of the card or module, not always 0 to n-1.
          type: int
        chip_id:
          description: Id of the chip in its NPU.
          type: int
        logic_id:
          description: Index over the chips of the host, as the runtime counts; null on A5.
          type: int
        phy_id:
          description: Number N of C(/dev/davinciN).
          type: int
        phy_id_source:
          description: V(npu_smi) when printed; V(device_order) or V(npu_id) when assumed.
          type: str
        device_node:
          description: Path of the device node, if it exists.
          type: str
        slot_id:
          description: Slot, on A5.
          type: int
        name:
          description: Name as C(npu-smi) prints it.
          type: str
        soc:
          description: SoC version; null on A3 and A5 without O(gather=board).
          type: str
        generation:
          description: As for the host.
          type: str
        product:
          description: As for the host.
          type: str
        health:
          description: V(OK), V(Warning), V(Alarm), V(Critical) or V(UNKNOWN).
          type: str
        responding:
          description: V(false) for a dead chip, whose values are all zero.
          type: bool
        power_w:
          description: Power in watt; null on 310P and on the second die of A3.
          type: float
        temp_c:
          description: Temperature in degree Celsius.
          type: int
        util_pct:
          description: >-
            Use of the AI cores (A5: of the NPU) in per cent.
          type: int
        memory_type:
          description: >-
            V(HBM) or V(DDR): where models are held.
          type: str
        memory_used_mb:
          description: Device memory in use, in MB; 2600 to 4200 of HBM are in use when idle.
          type: int
        memory_total_mb:
          description: Device memory in MB.
          type: int
        hbm_used_mb:
          description: HBM in use, in MB; null on 310, 310P and 310B.
          type: int
        hbm_total_mb:
          description: HBM in MB.
          type: int
        ddr_used_mb:
          description: DDR in use, in MB; 0 on A2, A3 and A5.
          type: int
        ddr_total_mb:
          description: DDR in MB; 0 on A2, A3 and A5.
          type: int
        hugepages_used:
          description: Huge pages of 2 MB in use.
          type: int
        hugepages_total:
          description: Huge pages of 2 MB.
          type: int
        bus_id:
          description: PCI bus id as C(npu-smi) prints it; null on SoC and UB boards.
          type: str
        numa_node:
          description: NUMA node, from sysfs.
          type: int
        cpu_affinity:
          description: CPUs near the chip, from sysfs or the topology.
          type: str
        processes:
          description: Host pid, name, memory_mb, container_pid; null is unknown, V([]) is none.
          type: list
          elements: dict
        board:
          description: Answer of C(-t board) with keys in snake case; null without O(gather=board).
          type: dict
        errors:
          description: Codes and texts of a chip that is not C(OK), with O(gather=health).
          type: dict
    topology:
      description: Link matrix with label, devices, links and cpu_affinity; null without O(gather=topo).
      type: dict
    warnings:
      description: Lines around the tables, failed extra queries, and sources that do not agree.
      type: list
      elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_facts import Settings, argument_spec, gather


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    module.exit_json(changed=False, npu=gather(Settings(**module.params)))


if __name__ == "__main__":
    main()
