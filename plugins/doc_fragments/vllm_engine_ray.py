# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """The option ray of vllm_engine."""

    DOCUMENTATION = r"""
options:
  ray:
    description:
      - This host's part in an engine that Ray spreads over several hosts, instead of vLLM's own way.
      - The service of the head runs Ray and, when Ray answers, C(vllm serve) with C(--distributed-executor-backend ray). That of another host waits for the
        head and runs C(ray start) alone; it is a member without API, and what is in O(args) does not concern it.
      - Ray has no authentication; whoever reaches its ports runs code on these hosts. Its ports belong behind a firewall.
      - Ray has to be in the image or the virtual environment already. vLLM refuses it with O(accelerator=cpu). Not tried on NPUs.
    type: dict
    suboptions:
      address:
        description: IPv4 address of the head, by which the others reach it.
        type: str
        required: true
      port:
        description: Port of the head at which the hosts meet (C(ray start --port)).
        type: int
        default: 6379
      node_address:
        description: IPv4 address of this host. Where it is that of O(ray.address), this host is the head.
        type: str
        required: true
      node_ports:
        description: >-
          Ports that Ray may open on this host, first and last, at least 32 of them. Seven are for Ray itself, those from the thirteenth on for its
          workers.
        type: str
        default: 14000-14111
      npus:
        description: Number of NPUs of this host that the engine gets.
        type: int
        required: true
"""
