#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_weights
short_description: Check the weights of a model, or build a tiny test model
version_added: 0.1.0
description:
  - With O(source=existing), checks a folder in the Hugging Face layout before an engine spends minutes on it - C(config.json), the shard
    index, and the header of every safetensors file against the size of the file. Truncated files, unfinished downloads, Git LFS pointers and
    missing shards are named. Such a folder is never changed.
  - With O(source=tiny), builds a complete model of a few megabytes with a real architecture, real tensor names, a trained tokenizer and a
    chat template. vLLM serves it on a CPU within a minute. It answers with a few fixed sentences and knows nothing.
  - The tiny model is the same down to the last byte on every host. Its folder holds a C(SHA256SUMS) that C(sha256sum -c) reads.
  - A folder that holds files and was not built by this module is neither replaced nor removed.
extends_documentation_fragment:
  - npufleet.ascend.attributes
attributes:
  check_mode:
    support: full
    details: Refuses what it would refuse, and returns RV(weights) as it would be.
  diff_mode:
    support: full
    details: Shows the digest of C(SHA256SUMS), the files with their sizes, and what is wrong with them.
  idempotent:
    support: full
options:
  path:
    description: Absolute path of the model folder. For O(source=tiny) it is created, with the folders above it.
    type: path
    required: true
  state:
    description:
      - V(present) means that a complete model is there.
      - V(absent) removes a model that this module built, and what an interrupted run left beside it. It refuses any other folder,
        whatever O(source) says.
    type: str
    choices: [present, absent]
    default: present
  source:
    description:
      - V(existing) checks the model that is at O(path).
      - V(tiny) builds the tiny test model there, and repairs it when it is damaged.
    type: str
    choices: [existing, tiny]
    default: existing
  architecture:
    description:
      - Architecture of the tiny model; only for O(source=tiny).
      - V(deepseek_v2) is C(DeepseekV2ForCausalLM) with multi-head latent attention and a mixture of experts, in two shards.
      - V(qwen2) is C(Qwen2ForCausalLM), the architecture of the R1-Distill models, in one file.
    type: str
    choices: [deepseek_v2, qwen2]
    default: deepseek_v2
  seed:
    description: Number that the weights of the tiny model are derived from; only for O(source=tiny).
    type: int
    default: 20260101
  verify:
    description:
      - V(quick) compares names and sizes and reads the headers; seconds, even for hundreds of gigabytes.
      - V(full) also hashes each file that C(SHA256SUMS) lists. Reckon with a quarter of an hour or more for 700 GB.
    type: str
    choices: [quick, full]
    default: quick
author:
  - npufleet.ascend maintainers (@npufleet)
seealso:
  - module: npufleet.ascend.vllm_engine
"""

EXAMPLES = r"""
- name: Check downloaded weights before the engine loads them
  npufleet.ascend.model_weights:
    path: /data/models/DeepSeek-R1-Distill-Qwen-7B
  register: result

- name: Say what they are
  ansible.builtin.debug:
    msg: "{{ result.weights.architecture }}, {{ (result.weights.total_bytes / 2**30) | round(1) }} GiB"

- name: Build a tiny DeepSeek to try a deployment with
  npufleet.ascend.model_weights:
    path: /var/lib/npufleet/models/tiny-deepseek
    source: tiny

- name: Compare every byte of it with its digests
  npufleet.ascend.model_weights:
    path: /var/lib/npufleet/models/tiny-deepseek
    source: tiny
    verify: full

- name: Remove it
  npufleet.ascend.model_weights:
    path: /var/lib/npufleet/models/tiny-deepseek
    state: absent
"""

RETURN = r"""
weights:
  description: What the folder holds, or will hold in check mode. V(null) for O(state=absent).
  type: dict
  returned: success
  contains:
    path:
      description: The folder.
      type: str
      sample: /var/lib/npufleet/models/tiny-deepseek
    architecture:
      description: First of C(architectures) in C(config.json).
      type: str
      sample: DeepseekV2ForCausalLM
    model_type:
      description: C(model_type) in C(config.json), or V(null).
      type: str
      sample: deepseek_v2
    total_bytes:
      description: Bytes of all tensors, which an engine needs at least for the weights.
      type: int
      sample: 11778560
    tensor_count:
      description: Number of tensors in the weights files.
      type: int
      sample: 83
    files:
      description: The visible regular files of the folder by name, each with its RV(ignore:name) and RV(ignore:size) in bytes.
      type: list
      elements: dict
      sample: [{"name": "config.json", "size": 1013}]
    manifest_sha256:
      description: SHA-256 of C(SHA256SUMS), which stands for the whole content, or V(null) without one.
      type: str
    quantization:
      description:
        - V(ascend) when ModelSlim's C(quant_model_description.json) is there, else C(quant_method) of C(config.json), for example V(fp8).
        - V(null) for weights that are not quantized.
      type: str
    max_position_embeddings:
      description: Longest context of the model in tokens, or V(null) when C(config.json) does not tell.
      type: int
      sample: 4096
differences:
  description: Why something was changed, or would be; empty without a change.
  type: list
  elements: str
  returned: success
  sample: ["the model is not there"]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import sha256
from ansible_collections.npufleet.ascend.plugins.module_utils._weights import Outcome, check_existing, ensure_absent, ensure_tiny

ARGUMENT_SPEC = {
    "path": {"type": "path", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "source": {"type": "str", "choices": ["existing", "tiny"], "default": "existing"},
    "architecture": {"type": "str", "choices": ["deepseek_v2", "qwen2"], "default": "deepseek_v2"},
    "seed": {"type": "int", "default": 20260101},
    "verify": {"type": "str", "choices": ["quick", "full"], "default": "quick"},
}


def run(params: t.Mapping[str, t.Any], check: bool) -> Outcome:
    full = params["verify"] == "full"
    if params["state"] == "absent":
        return ensure_absent(params["path"], check)
    if params["source"] == "existing":
        return check_existing(params["path"], full)
    return ensure_tiny(params["path"], params["architecture"], params["seed"], full, check)


def returned(outcome: Outcome) -> t.Optional[t.Dict[str, t.Any]]:
    if outcome.weights is None:
        return None
    weights = outcome.weights._asdict()
    del weights["warnings"]
    weights["files"] = [{"name": name, "size": size} for name, size in outcome.weights.files.items()]
    weights["manifest_sha256"] = None if outcome.manifest is None else sha256(outcome.manifest.encode())
    return dict(weights)


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENT_SPEC, supports_check_mode=True)
    try:
        outcome = run(module.params, module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    for warning in outcome.warnings:
        module.warn(warning)
    result = {"changed": bool(outcome.differences), "weights": returned(outcome), "differences": outcome.differences}
    if module._diff:
        result["diff"] = {"before": outcome.before, "after": outcome.after}
    module.exit_json(**result)


if __name__ == "__main__":
    main()
