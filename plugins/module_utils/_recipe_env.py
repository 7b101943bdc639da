# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Environment variables that do nothing, or no longer what they did, by minor of vllm-ascend: data, and a check of a mapping. Pure."""

from __future__ import annotations

import difflib
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_catalogue import environment


class DeadVariable(t.NamedTuple):
    """A variable that must not be set with these minors: why, what to do instead, and where that is known from."""

    name: str
    minors: t.Tuple[str, ...]
    reason: str
    remedy: str
    source: str


_ALL = ("0.23", "0.26", "0.30")
_ENVS = "vllm/envs.py of vLLM 0.23.0, 0.26.0 and 0.30.0"
_PLUGIN = "vllm_ascend/envs.py of vllm-ascend 0.23.0.post1, 0.26.0rc1 and 0.30.0rc2"
_GUIDE = "docs/source/user_guide/configuration/additional_config.md of vllm-ascend 0.30.0rc2"


def _moved(name: str, key: str) -> DeadVariable:
    return DeadVariable(
        name, ("0.30",), "it became a key of additional_config", "Remove it and set additional_config.{0}".format(key), _GUIDE
    )


DEAD = (
    DeadVariable("VLLM_USE_V1", _ALL, "vLLM no longer knows it; there is no other engine than V1", "Remove it", _ENVS),
    DeadVariable("VLLM_RPC_TIMEOUT", _ALL, "vLLM no longer knows it", "Remove it", _ENVS),
    DeadVariable(
        "VLLM_PREFIX_CACHE_RETENTION_INTERVAL",
        ("0.30",),
        "vLLM no longer knows it",
        "Remove it and give the option prefix_cache_retention_interval",
        _ENVS,
    ),
    DeadVariable(
        "VLLM_ASCEND_ENABLE_MATMUL_ALLREDUCE",
        ("0.26", "0.30"),
        "it was removed in vllm-ascend 0.26 without a successor",
        "Remove it",
        _PLUGIN,
    ),
    DeadVariable(
        "VLLM_ASCEND_FLASHCOMM2_PARALLEL_SIZE",
        ("0.26", "0.30"),
        "it was removed in vllm-ascend 0.26 without a successor",
        "Remove it",
        _PLUGIN,
    ),
    DeadVariable(
        "ASCEND_BUFFER_POOL",
        _ALL,
        "it was replaced",
        "Set ASCEND_ENABLE_USE_FABRIC_MEM=1 or HCCL_INTRA_ROCE_ENABLE=1 instead",
        "release notes of vllm-ascend: removed in 0.23.0, deprecated in 0.26.0rc1",
    ),
    # 0.30 still reads this one beside the key, but its documentation has only the key.
    _moved("VLLM_ASCEND_ENABLE_FLASHCOMM1", "enable_flashcomm1"),
    _moved("VLLM_ASCEND_ENABLE_MLAPO", "enable_mlapo"),
    _moved("VLLM_ASCEND_ENABLE_NZ", "weight_nz_mode"),
    _moved("VLLM_ASCEND_ENABLE_FUSED_MC2", "enable_fused_mc2"),
    _moved("VLLM_ASCEND_BALANCE_SCHEDULING", "scheduler_config.enable_balance_scheduling"),
    _moved("VLLM_ASCEND_FUSION_OP_TRANSPOSE_KV_CACHE_BY_BLOCK", "enable_transpose_kv_cache_by_block"),
    _moved("MSMONITOR_USE_DAEMON", "msmonitor_use_daemon"),
)

# Names that the plugin itself reads and that begin with VLLM_. Source: _PLUGIN.
PLUGIN_VARIABLES: t.Dict[str, t.Tuple[str, ...]] = {
    "VLLM_VERSION": _ALL,
    "VLLM_ASCEND_ENABLE_BATCH_MEMCPY": _ALL,
    "VLLM_ASCEND_ENABLE_FLASHCOMM1": ("0.23", "0.26"),
    "VLLM_ASCEND_ENABLE_MLAPO": ("0.23", "0.26"),
    "VLLM_ASCEND_ENABLE_NZ": ("0.23", "0.26"),
    "VLLM_ASCEND_ENABLE_FUSED_MC2": ("0.23", "0.26"),
    "VLLM_ASCEND_BALANCE_SCHEDULING": ("0.23", "0.26"),
    "VLLM_ASCEND_FUSION_OP_TRANSPOSE_KV_CACHE_BY_BLOCK": ("0.23", "0.26"),
    "VLLM_ASCEND_ENABLE_MATMUL_ALLREDUCE": ("0.23",),
    "VLLM_ASCEND_FLASHCOMM2_PARALLEL_SIZE": ("0.23",),
    "VLLM_ASCEND_MLA_FIA_SPLIT": ("0.26",),
    "VLLM_ASCEND_KVPOOL_RANGE_DEBUG": ("0.30",),
    "VLLM_ASCEND_ROPE_UB_SIZE_KB": ("0.30",),
    "VLLM_ASCEND_LW_DEFER_LAST_SAVE": ("0.30",),
}


def problems_of_env(env: t.Mapping[str, t.Any], minor: str) -> t.List[str]:
    """Return what is wrong with the names of environment variables; only names that begin with VLLM_ can be unknown."""
    known = environment(minor) | {name for name, minors in PLUGIN_VARIABLES.items() if minor in minors}
    dead = {row.name: row for row in DEAD if minor in row.minors}
    found = []
    for name in sorted(str(key) for key in env):
        if name in dead:
            row = dead[name]
            found.append("{0} has no use with vllm-ascend {1}: {2}. {3} ({4})".format(name, minor, row.reason, row.remedy, row.source))
        elif name.startswith("VLLM_") and name not in known:
            found.append(_unknown(name, minor, known))
    return found


def _unknown(name: str, minor: str, known: t.Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8)
    hint = "Did you mean {0}?".format(near[0]) if near else "Remove it"
    return "neither vLLM nor vllm-ascend {0} knows {1}. {2}".format(minor, name, hint)
