# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """The options of vllm_engine about a launch: what vLLM is told, whether a running engine may go, how long to wait."""

    DOCUMENTATION = r"""
options:
  args:
    description:
      - "Options of C(vllm serve): V(max_model_len: 512), V(enforce_eager: true). V(true) is the switch, V(false) its C(--no-) form, null leaves it out,
        a list gives several values and a mapping is JSON."
      - Each is checked against what the installed vLLM accepts.
    type: dict
    default: {}
  env:
    description: Environment variables of the engine, on top of those that the accelerator needs. Shown in diffs, so no secrets.
    type: dict
    default: {}
  set_env:
    description:
      - Environment scripts of CANN, for an engine on NPUs outside a container. They are sourced once, by a clean bash, and what they set becomes the
        environment of the service, with the driver's libraries first. O(env) counts more.
      - By default C(/usr/local/Ascend/cann/set_env.sh), or C(/usr/local/Ascend/ascend-toolkit/set_env.sh), and
        C(/usr/local/Ascend/nnal/atb/set_env.sh).
    type: list
    elements: path
  command_prefix:
    description: Words before the command of the engine, such as V([numactl, --physcpubind=0-23, --localalloc]). Not with O(runtime=docker).
    type: list
    elements: str
    default: []
  user:
    description: User the engine runs as, when this task runs as root. By default that of the task. Not with O(runtime=docker).
    type: str
  plan:
    description: The row of P(npufleet.ascend.vllm_plan#filter) that the engine runs by. It is kept with the engine for M(npufleet.ascend.plan_info).
    type: dict
  replace:
    description:
      - May a running engine be replaced when its spec differs? V(true) replaces it now, V(false) leaves it running and reports what differs.
      - When not given, the task stops and says what would be interrupted.
    type: bool
  ready_url:
    description:
      - For a member of a group, base address of the head's API as this host reaches it, such as C(http://192.0.2.10:8000).
      - With it a member is ready when its process lives and the head gives a completion of the same model (O(served_model_name), O(api_key)). Without
        it a member is ready when its process has lived for 30 seconds, which says nothing of the group.
    type: str
  wait:
    description:
      - Whether to call again until the engine is ready. V(false) comes back after at most O(wait_slice), which may be V(0), and RV(engine.ready) tells
        how far it is; that it is not ready yet is no failure before O(wait_timeout).
      - With V(false) nothing is noted that O(state=restored) could go back to; a call with V(true) that finds the engine ready notes it.
      - A later call goes on waiting for the same launch and does not touch it; with O(state=ready) it certainly does not.
    type: bool
    default: true
  wait_timeout:
    description: Seconds from the launch until the engine must have answered.
    type: int
    default: 900
  wait_slice:
    description: Longest wait of one call on the host, in seconds. The task calls again until the engine is ready, and shows progress between.
    type: int
    default: 15
  stop_timeout:
    description:
      - Seconds that a stop may take before the engine is killed.
      - vLLM 0.32 ends running requests at once, unless O(args) has V(shutdown_timeout) (read in its source, not measured).
    type: int
    default: 60
"""
