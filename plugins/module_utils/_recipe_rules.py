# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Pairs of chip, weights, version and options that do not work together: a table of rules, each with its reason and its source. Pure.

A rule returns what is wrong and what to do, or nothing. Options are those of ``vllm serve`` with underscores and without dots.
"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_checks import on_capture_grid
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_catalogue import QUANTIZATIONS

DESCRIPTION = "quant_model_description.json"

# The largest number of tokens of one decode step for which the plugin captures a graph.
CAPTURE_CEILING = 512
# Longest context that a 310P was documented with; the attention mask is allocated for the square of it.
LENGTH_310P = 20480
# DSpark came with this release.
DSPARK_SINCE = (0, 25)
DSPARK_TOKENS = 5


class Case(t.NamedTuple):
    """A deployment to judge. ``files`` are names in the weights folder, None when nobody looked."""

    soc: str
    minor: str
    family: str
    quantization: str
    npus_per_host: int
    tensor_parallel_size: int
    options: t.Mapping[str, t.Any]
    env: t.Mapping[str, t.Any]
    files: t.Optional[t.FrozenSet[str]]

    def part(self, *path: str) -> t.Any:
        """The value at a path of options, or None."""
        value: t.Any = self.options
        for key in path:
            value = value.get(key) if isinstance(value, t.Mapping) else None
        return value

    def number(self, *path: str) -> t.Optional[int]:
        """The whole number at a path, or None."""
        text = str(self.part(*path))
        return int(text) if text.isdecimal() and len(text) < 12 else None


class Rule(t.NamedTuple):
    """One rule; ``text`` is what the table in the documents says."""

    name: str
    text: str
    source: str
    check: t.Callable[[Case], t.Optional[str]]


def _fp8(case: Case) -> t.Optional[str]:
    if case.soc == "a5" or (case.quantization != "fp8" and case.part("quantization") != "fp8"):
        return None
    return "FP8 weights need an Ascend 950: on {0} they become 16-bit weights at load, twice as large, or fail. Use W8A8 weights".format(
        case.soc
    )


def _half_precision(case: Case) -> t.Optional[str]:
    dtype = case.part("dtype")
    if case.soc != "310p" or dtype in ("float16", "half"):
        return None
    return "the 310P has no bfloat16, and dtype is {0}. Set dtype to float16".format(dtype or "left to the model")


def _length_310p(case: Case) -> t.Optional[str]:
    length = case.number("max_model_len")
    if case.soc != "310p" or (length is not None and length <= LENGTH_310P):
        return None
    shown = "not set" if case.part("max_model_len") is None else case.part("max_model_len")
    return "max_model_len is {0}, and a 310P allocates a mask of its square. Set it to at most {1}".format(shown, LENGTH_310P)


def _graph_310p(case: Case) -> t.Optional[str]:
    if case.soc != "310p" or case.part("additional_config", "ascend_compilation_config", "enable_npugraph_ex") is False:
        return None
    return "the 310P has no npugraph_ex. Set additional_config.ascend_compilation_config.enable_npugraph_ex to false"


def _transfer_310p(case: Case) -> t.Optional[str]:
    if case.soc != "310p" or case.part("kv_transfer_config") is None:
        return None
    return "prefill and decode cannot be separated on a 310P. Remove kv_transfer_config"


def _sparse_310p(case: Case) -> t.Optional[str]:
    if case.soc != "310p" or case.family in ("dense", "other"):
        return None
    return "no DeepSeek model with MLA runs on a 310P; V3.2 fails on the type of its KV cache. Use a distilled model, or another chip"


def _description(case: Case) -> t.Optional[str]:
    if case.files is None or case.part("quantization") != "ascend" or DESCRIPTION in case.files:
        return None
    return "the weights folder has no {0}, which quantization: ascend reads. Export the weights again with ModelSlim, or fetch it".format(
        DESCRIPTION
    )


def _flag_missing(case: Case) -> t.Optional[str]:
    if case.files is None or DESCRIPTION not in case.files or case.part("quantization") == "ascend":
        return None
    return "the weights folder has {0}, so ModelSlim made it. Set quantization to ascend".format(DESCRIPTION)


def _foreign_format(case: Case) -> t.Optional[str]:
    value = case.part("quantization")
    if value is None or value in QUANTIZATIONS:
        return None
    return "vllm-ascend has no quantization {0}. Use weights of ModelSlim (ascend) or of LLM Compressor (compressed-tensors)".format(value)


def _grid(case: Case) -> t.Optional[str]:
    number = case.number("max_num_seqs")
    if number is None or on_capture_grid(number):
        return None
    return "max_num_seqs {0} is none of 1, 2, 4 and the multiples of 8: {1}".format(
        number, "the largest batches run without a graph, about 7.5 times slower"
    )


def _ceiling(case: Case) -> t.Optional[str]:
    number, tokens = case.number("max_num_seqs"), case.number("speculative_config", "num_speculative_tokens") or 0
    if number is None or number * (1 + tokens) <= CAPTURE_CEILING or case.part("enforce_eager"):
        return None
    limit = CAPTURE_CEILING // (1 + tokens) // 8 * 8
    return "max_num_seqs {0} with {1} speculative tokens is more than the {2} tokens that graphs are captured for. Give at most {3}".format(
        number, tokens, CAPTURE_CEILING, limit
    )


def _balance_on(case: Case) -> bool:
    keys = (("additional_config", "enable_balance_scheduling"), ("additional_config", "scheduler_config", "enable_balance_scheduling"))
    return any(case.part(*key) is True for key in keys) or str(case.env.get("VLLM_ASCEND_BALANCE_SCHEDULING")) == "1"


def _balance_transfer(case: Case) -> t.Optional[str]:
    if not _balance_on(case) or case.part("kv_transfer_config") is None:
        return None
    return "balance scheduling must not be used where prefill and decode are separated. Switch it off, or remove kv_transfer_config"


def _recompute(case: Case) -> t.Optional[str]:
    keys = (("additional_config", "recompute_scheduler_enable"), ("additional_config", "scheduler_config", "recompute_scheduler_enable"))
    if not any(case.part(*key) is True for key in keys) or case.part("kv_transfer_config", "kv_role") == "kv_consumer":
        return None
    return "recompute_scheduler_enable is for the decode side of separated prefill and decode (kv_role: kv_consumer). Remove it"


def _transfer_port(case: Case) -> t.Optional[str]:
    port, last = case.number("kv_transfer_config", "kv_port"), 20000 + case.npus_per_host * 1000
    if port is None or not 20000 <= port < last:
        return None
    return "kv_port {0} lies among the ports 20000 to {1} that the transport takes at random. Give {2} or more".format(port, last - 1, last)


def _lite_graph(case: Case) -> t.Optional[str]:
    if case.family != "v2-lite" or case.part("enforce_eager") is True:
        return None
    return "V2-Lite has 16 heads, and MLA in graph mode takes 32, 64 or 128 queries for a KV head. Set enforce_eager to true"


def _uniform_graph(case: Case) -> t.Optional[str]:
    mode = str(case.part("compilation_config", "cudagraph_mode") or "").upper()
    if case.family in ("dense", "ocr-2", "other") or mode != "FULL":
        return None
    return "MLA and SFA have only graphs of uniform decode steps, and cudagraph_mode is FULL. Set it to FULL_DECODE_ONLY"


def _dspark(case: Case) -> t.Optional[str]:
    if case.part("speculative_config", "method") != "dspark":
        return None
    if tuple(int(part) for part in case.minor.split(".")) < DSPARK_SINCE:
        return "vllm-ascend {0} has no dspark; it came with 0.25. Use mtp, or a newer vllm-ascend".format(case.minor)
    tokens = case.number("speculative_config", "num_speculative_tokens")
    if tokens is None or tokens < DSPARK_TOKENS:
        return "dspark needs at least {0} speculative tokens, and {1} are asked for".format(DSPARK_TOKENS, tokens or "none")
    return None


def _tensor_950(case: Case) -> t.Optional[str]:
    if case.soc != "a5" or case.family != "v4" or case.tensor_parallel_size == 1:
        return None
    if all(case.part("additional_config", key) is True for key in ("enable_flashcomm1", "enable_dsa_cp")):
        return None
    keys = "additional_config.enable_flashcomm1 and enable_dsa_cp"
    return "V4 on a 950 takes tensor parallelism only with {0}. Set both, or use data parallelism".format(keys)


def _context_parallel(case: Case) -> t.Optional[str]:
    if case.part("additional_config", "enable_dsa_cp") is not True or case.minor == "0.30":
        return None
    if case.part("additional_config", "enable_flashcomm1") is True or str(case.env.get("VLLM_ASCEND_ENABLE_FLASHCOMM1")) == "1":
        return None
    return "enable_dsa_cp needs FlashComm1 in vllm-ascend {0}. Set additional_config.enable_flashcomm1 to true as well".format(case.minor)


def _fused(case: Case) -> t.Optional[str]:
    fused = case.part("additional_config", "enable_fused_mc2") or case.env.get("VLLM_ASCEND_ENABLE_FUSED_MC2")
    if str(fused) != "1" or case.part("additional_config", "multistream_overlap_shared_expert") is not True:
        return None
    return "enable_fused_mc2 1 and multistream_overlap_shared_expert exclude each other. Leave one out"


def _chunks(case: Case) -> t.Optional[str]:
    if not _balance_on(case):
        return None
    keys = (("additional_config", "profiling_chunk_config"), ("additional_config", "scheduler_config", "profiling_chunk_config"))
    if not any(case.part(*key, "enabled") is True for key in keys):
        return None
    return "profiling_chunk_config and balance scheduling exclude each other. Switch one off"


_TABLE_310P = "docs/source/getting_started/quick_start of vllm-ascend 0.30.0rc2, 310P"
_CONFIG = "vllm_ascend/ascend_config.py of vllm-ascend 0.23.0.post1, 0.26.0rc1 and 0.30.0rc2"
_R1 = "docs/source/tutorials/models/DeepSeek-R1.md of vllm-ascend 0.23.0.post1"
_V4 = "docs/source/tutorials/models/DeepSeek-V4-Flash.md of vllm-ascend 0.23.0.post1 and 0.30.0rc2"

RULES = (
    Rule("fp8-weights", "FP8 weights on A2, A3 and 310P", "vllm-ascend #1526, #119, #14466; quantization guide of 0.30.0rc2", _fp8),
    Rule("310p-bfloat16", "310P with another dtype than float16", _TABLE_310P, _half_precision),
    Rule("310p-length", "310P without max_model_len, or with more than 20480", "Qwen3-Dense.md of vllm-ascend 0.23.0.post1", _length_310p),
    Rule("310p-npugraph", "310P with npugraph_ex, which is on by default", _TABLE_310P, _graph_310p),
    Rule("310p-transfer", "310P with separated prefill and decode", "supported_models.md of vllm-ascend 0.23.0.post1", _transfer_310p),
    Rule("310p-mla", "310P with a DeepSeek model that has MLA", "vllm-ascend #7685; supported_models.md of 0.23.0.post1", _sparse_310p),
    Rule("description-missing", "quantization: ascend without " + DESCRIPTION, "vllm-ascend #2290, #580", _description),
    Rule(
        "quantization-missing", DESCRIPTION + " without quantization: ascend", "quantization guide of vllm-ascend 0.30.0rc2", _flag_missing
    ),
    Rule("foreign-format", "AWQ, GPTQ and other formats", "vllm-ascend #1233, #6484", _foreign_format),
    Rule("capture-grid", "max_num_seqs off the grid 1, 2, 4, multiples of 8", "vllm-ascend #16049, PR #16970", _grid),
    Rule("capture-ceiling", "max_num_seqs x (1 + speculative tokens) above 512 with graphs", "vllm-ascend #14440", _ceiling),
    Rule("balance-transfer", "Balance scheduling with separated prefill and decode", _R1, _balance_transfer),
    Rule("balance-chunks", "Balance scheduling with profiling_chunk_config", _CONFIG, _chunks),
    Rule(
        "recompute-scheduler", "recompute_scheduler_enable anywhere but on decode hosts", "additional_config.md of 0.23.0.post1", _recompute
    ),
    Rule(
        "transfer-port", "kv_port among the ports of the transport", "pd_disaggregation_mooncake_multi_node.md of 0.30.0rc2", _transfer_port
    ),
    Rule(
        "v2-lite-graph", "V2-Lite without enforce_eager", "FAQ of vllm-ascend 0.23.0.post1 and 0.30.0rc2, MLA and graph mode", _lite_graph
    ),
    Rule("uniform-graph", "cudagraph_mode FULL on a model with MLA or SFA", "graph_mode.md of vllm-ascend 0.30.0rc2", _uniform_graph),
    Rule("dspark", "dspark before 0.25, or with fewer than 5 tokens", _V4, _dspark),
    Rule("950-tensor-parallel", "V4 on 950 with tensor parallelism alone", _V4, _tensor_950),
    Rule("context-parallel", "enable_dsa_cp without FlashComm1 before 0.30", "additional_config.md of 0.23.0.post1", _context_parallel),
    Rule("fused-mc2", "enable_fused_mc2 1 with multistream_overlap_shared_expert", _CONFIG, _fused),
)
