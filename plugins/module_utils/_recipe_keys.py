# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Keys of ``--additional-config`` by minor of vllm-ascend: data, and a check of a mapping against it. Pure.

Sources: vllm_ascend/ascend_config.py of the source distributions 0.23.0.post1, 0.26.0rc1 and 0.30.0rc2 (read, not imported). 0.30 refuses
keys that it does not know; 0.23 and 0.26 ignore them without a word, so that a key of another release does nothing there.
"""

from __future__ import annotations

import difflib
import typing as t


class Key(t.NamedTuple):
    """One key: dotted path, kind of its value (bool int number text list map), and the minors that read it."""

    path: str
    kind: str
    minors: t.Tuple[str, ...]


_ROWS = """
0.23 0.26 0.30
    ascend_compilation_config map  ascend_compilation_config.enable_npugraph_ex bool  ascend_compilation_config.enable_static_kernel bool
    ascend_compilation_config.fuse_norm_quant bool  ascend_compilation_config.fuse_qknorm_rope bool
    ascend_compilation_config.fuse_muls_add bool  ascend_fusion_config map  ascend_fusion_config.fusion_ops_gmmswigluquant bool
    ascend_log_path text  c8_enable_reshape_optim bool  dump_config map  dump_config_path text  enable_balance_scheduling bool
    enable_cpu_binding bool  enable_dsa_cp bool  enable_flashcomm1 bool  enable_fused_mc2 int  enable_kv_nz bool
    enable_mc2_hierarchy_comm bool  enable_mlapo bool  enable_prefill_mc2 bool  enable_shared_expert_dp bool  enable_sparse_li_c8 bool
    enable_sparse_sfa_c8 bool  enable_transpose_kv_cache_by_block bool  eplb_config map  eplb_config.dynamic_eplb bool
    eplb_config.expert_map_path text  eplb_config.expert_heat_collection_interval int  eplb_config.algorithm_execution_interval int
    eplb_config.expert_map_record_path text  eplb_config.num_redundant_experts int  eplb_config.eplb_policy_type int
    eplb_config.eplb_heat_collection_stage text  finegrained_tp_config map  finegrained_tp_config.oproj_tensor_parallel_size int
    finegrained_tp_config.lmhead_tensor_parallel_size int  finegrained_tp_config.embedding_tensor_parallel_size int
    finegrained_tp_config.mlp_tensor_parallel_size int  mega_moe_max_tokens int  mix_placement bool  msmonitor_use_daemon bool
    multistream_dsv4_dsa_overlap bool  multistream_overlap_shared_expert bool  pa_shape_list list  profiling_chunk_config map
    profiling_chunk_config.enabled bool  profiling_chunk_config.smooth_factor number  profiling_chunk_config.min_chunk int
    profiling_chunk_config.need_timing bool  profiling_chunk_config.max_fit_chunk int  recompute_scheduler_enable bool  refresh bool
    rejection_sampler_config map  rejection_sampler_config.enable_block_verify bool  rejection_sampler_config.enable_entropy_verify bool
    rejection_sampler_config.posterior_threshold number  rejection_sampler_config.posterior_alpha number  weight_nz_mode int
    xlite_graph_config map  xlite_graph_config.enabled bool  xlite_graph_config.full_mode bool
0.23 0.26
    enable_reduce_sample bool  enable_sleep_mode_extra_cleanup bool  finegrained_tp_config.olora_tensor_parallel_size int
0.23
    SLO_limits_for_dynamic_batch int  ascend_compilation_config.fuse_allreduce_rms bool  dp_allreduce_on_npu bool
    enable_async_exponential bool  enable_flashcomm2_parallel_size int  enable_matmul_allreduce bool  hamming_sparse map
    layer_sharding list  multistream_overlap_gate bool  weight_prefetch_config map
    weight_prefetch_config.enabled bool  weight_prefetch_config.prefetch_ratio map
0.26 0.30
    batch_job_sched_config map  mc2_comm_alg text  scheduler_config map  scheduler_config.batch_job_sched_config map
    scheduler_config.enable_balance_scheduling bool  scheduler_config.profiling_chunk_config map
    scheduler_config.recompute_scheduler_enable bool  scheduler_config.short_request_first_config map  short_request_first_config map
    sparse_kv_offload_config map  sparse_kv_offload_config.dram_size_per_dp_GB int  sparse_kv_offload_config.enabled bool
    sparse_kv_offload_config.keep_device_kv_cache bool  sparse_kv_offload_config.topk_buffer_size int
0.30
    ascend_compilation_config.enable_super_kernel bool  ascend_warmup_config map  ascend_warmup_config.enable_early_kernel_warmup bool
    ascend_warmup_config.enable_early_nz_warmup bool  combine_quant_mode int  draft_window_size int  dynamic_spec_config map
    dynamic_spec_config.method text  dynamic_spec_config.method_params map  enable_force_eplb bool  enable_kvpp bool
    enable_pcp_embedding_lmhead_weight_sharding bool  enable_pcp_o_proj_weight_sharding bool  eplb_config.load_collection_phase text
    eplb_config.stair_config map  mlapo_keep_prefill_weights bool  multistream_engram_overlap bool  rl_config map
    rl_config.enable_batch_invariant bool  rl_config.enable_training_consistency bool  rl_config.enabled bool
    rl_config.sleep_mode_extra_cleanup bool  scheduler_config.dyntra_lb_config map  sfa_dcp_force_tmajor_restore bool
    sparse_kv_offload_config.fused_op_type text  sparse_kv_offload_config.use_fused_overlap bool
"""

# Mappings whose keys are not listed: they hold values of the site, or tuning that no recipe uses.
_OPEN = frozenset(
    {
        "dump_config",
        "weight_prefetch_config.prefetch_ratio",
        "hamming_sparse",
        "dynamic_spec_config.method_params",
        "eplb_config.stair_config",
        "batch_job_sched_config",
        "short_request_first_config",
        "scheduler_config.batch_job_sched_config",
        "scheduler_config.short_request_first_config",
        "scheduler_config.profiling_chunk_config",
        "scheduler_config.dyntra_lb_config",
    }
)

# Keys with few values. enable_fused_mc2: 0.26 asserts 0 or 1; 0.30 takes 2 as well.
_VALUES: t.Dict[str, t.Dict[str, t.Tuple[t.Any, ...]]] = {
    "enable_fused_mc2": {"0.23": (0, 1, 2), "0.26": (0, 1), "0.30": (0, 1, 2)},
    "weight_nz_mode": {"0.23": (0, 1, 2), "0.26": (0, 1, 2), "0.30": (0, 1, 2)},
    "mc2_comm_alg": {"0.26": ("", "fullmesh", "hierarchy", "fullmesh_v2"), "0.30": ("", "fullmesh", "hierarchy", "fullmesh_v2")},
}

# What became of a key that a minor no longer has. Source: docs/source/user_guide/configuration/additional_config.md and release notes.
_MOVED: t.Dict[str, str] = {
    "layer_sharding": "it was removed in 0.26",
    "weight_prefetch_config": "it was removed in 0.26",
    "multistream_overlap_gate": "it was removed in 0.26",
    "SLO_limits_for_dynamic_batch": "it was removed in 0.26",
    "enable_matmul_allreduce": "it was removed in 0.26",
    "enable_flashcomm2_parallel_size": "it was removed in 0.26",
    "scheduler_config": "0.23 has its keys at the top: enable_balance_scheduling, recompute_scheduler_enable, profiling_chunk_config",
}

_TYPES: t.Dict[str, t.Tuple[t.Any, str]] = {
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
    "number": ((int, float), "a number"),
    "text": (str, "text"),
    "list": ((list, tuple), "a list"),
    "map": (t.Mapping, "a mapping"),
}


def _read_rows(text: str) -> t.List[Key]:
    keys: t.List[Key] = []
    minors: t.Tuple[str, ...] = ()
    for line in text.strip().splitlines():
        if not line.startswith(" "):
            minors = tuple(line.split())
            continue
        words = line.split()
        keys.extend(Key(path, kind, minors) for path, kind in zip(words[::2], words[1::2]))
    return keys


KEYS: t.Dict[str, Key] = {key.path: key for key in _read_rows(_ROWS)}


def problems_of_additional_config(config: t.Any, minor: str) -> t.List[str]:
    """Return what a minor of vllm-ascend does not take in a value of ``additional_config``."""
    if not isinstance(config, t.Mapping):
        return ["additional_config is no mapping: write its keys below it"]
    return [text for key in sorted(config, key=str) for text in _check(str(key), config[key], minor)]


def _check(path: str, value: t.Any, minor: str) -> t.Iterator[str]:
    key = KEYS.get(path)
    if key is None or minor not in key.minors:
        yield _unknown(path, minor, key)
        return
    kind, words = _TYPES[key.kind]
    if not isinstance(value, kind) or (key.kind in ("int", "number") and isinstance(value, bool)):
        yield "additional_config.{0} of vllm-ascend {1} takes {2}, not {3!r}".format(path, minor, words, value)
        return
    allowed = _VALUES.get(path, {}).get(minor)
    if allowed is not None and value not in allowed:
        yield "additional_config.{0} of vllm-ascend {1} takes one of {2}, not {3!r}".format(
            path, minor, ", ".join(repr(item) for item in allowed), value
        )
    if key.kind == "map" and path not in _OPEN:
        for name in sorted(value, key=str):
            yield from _check("{0}.{1}".format(path, name), value[name], minor)


def _unknown(path: str, minor: str, key: t.Optional[Key]) -> str:
    text = "vllm-ascend {0} knows no additional_config.{1}".format(minor, path)
    if path in _MOVED:
        return "{0}: {1}".format(text, _MOVED[path])
    if key is not None:
        return "{0}; {1} has it".format(text, " and ".join(key.minors))
    known = [name for name, row in KEYS.items() if minor in row.minors]
    near = difflib.get_close_matches(path, known, n=1, cutoff=0.6)
    return "{0}. Did you mean {1}?".format(text, near[0]) if near else "{0}: leave it out".format(text)
