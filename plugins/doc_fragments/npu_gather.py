# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Options that npu_facts and npu_info share."""

    DOCUMENTATION = r"""
options:
  npu_smi:
    description:
      - Absolute path of C(npu-smi).
      - Without it the tool is looked for on E(PATH), in O(npu_smi_dirs) and in C(driver/tools) below the driver.
    type: path
  npu_smi_dirs:
    description: Folders to look into after E(PATH).
    type: list
    elements: path
    default: [/usr/local/sbin, /usr/local/bin, /usr/local/Ascend/driver/tools, /usr/local/dcmi]
  timeout:
    description:
      - Time limit of each C(npu-smi) process, in seconds. After one that hung no other is started.
      - C(npu-smi) is known to hang while an NPU is reset or has dropped off the bus.
    type: float
    default: 20.0
  gather:
    description:
      - What to ask for in addition to the two C(npu-smi) processes that always run (C(info) and C(info -m)).
      - V(topo) adds one process and fills RV(ignore:topology).
      - V(board) adds one process an NPU and one for the SoC version. It fills RV(ignore:chips[].board) with serial number, firmware and
        product code, and RV(ignore:chips[].soc) on A3 and A5, whose chip name does not tell it.
      - V(health) adds one process for each chip that is not C(OK) and fills RV(ignore:chips[].errors).
    type: list
    elements: str
    choices: [topo, board, health]
    default: []
  sysfs_root:
    description: Folder to scan for PCI functions instead of C(/sys), for tests and containers.
    type: path
    default: /sys
  dev_root:
    description: Folder to scan for C(davinciN) device nodes instead of C(/dev), for tests and containers.
    type: path
    default: /dev
  driver_root:
    description:
      - Folder that holds C(driver/version.info) and C(firmware/version.info).
      - Without it the path of O(install_info) counts, then C(/usr/local/Ascend).
    type: path
  install_info:
    description: File in which the driver installer records what it did.
    type: path
    default: /etc/ascend_install.info
seealso:
  - name: NPU facts
    description: Every field with its unit and source, the reason codes, and what was not verified on hardware.
    link: https://github.com/npufleet/ascend/blob/main/docs/npu-facts.md
"""
