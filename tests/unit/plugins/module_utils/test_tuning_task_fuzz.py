# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever is wanted in whatever order: a run is followed by one that changes nothing, check mode says what a run does, and absent undoes all."""

from __future__ import annotations

import pathlib
import tempfile

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import mask_cpus, normal
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import (
    Bench,
    add_npus,
    snapshot,
    start_irqbalance,
    start_tuned,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PAGES = st.fixed_dictionaries(
    {"size": st.sampled_from(["2M", "1G", "32M"]), "count": st.integers(0, 3)}, optional={"node": st.integers(0, 2)}
)
WANTED = st.fixed_dictionaries(
    {},
    optional={
        "hugepages": st.lists(PAGES, max_size=2),
        "shmmax_bytes": st.sampled_from([1, 33554432, 68719476736]),
        "shmall_pages": st.sampled_from([1, 2**40]),
        "transparent_hugepage": st.sampled_from(["always", "madvise", "never"]),
        "swappiness": st.sampled_from([0, 60]),
        "numa_balancing": st.integers(0, 1),
        "sched_migration_cost_ns": st.just(50000),
        "cpu_governor": st.sampled_from(["performance", "powersave", "turbo"]),
        "irqbalance": st.sampled_from(["keep", "stopped", "ban_npu"]),
        "npu_irq_affinity": st.booleans(),
        "npu_work_queue_affinity": st.booleans(),
        "reserved_ports": st.sampled_from(["", "60000-60015", "8080-8081,60000-60255"]),
        "iommu_passthrough": st.booleans(),
        "nofile": st.sampled_from([1024, 65536]),
        "memlock": st.sampled_from(["64", "unlimited"]),
    },
)
HOST = st.fixed_dictionaries({"npus": st.booleans(), "irqbalance": st.booleans(), "tuned": st.booleans(), "grubby": st.booleans()})


def canonical(found):
    """A snapshot in which values that mean the same are the same."""
    forms = {"transparent_hugepage/enabled": "choice"}
    values = {name: normal(next((form for end, form in forms.items() if name.endswith(end)), "text"), text) for name, text in found.items()}
    return {
        name: mask_cpus(text) if name.endswith("/cpumask") else text for name, text in values.items() if name != "etc/tuned/profile_mode"
    }


def prepare(bench, host):
    if host["npus"]:
        bench.chips = add_npus(bench.root)
    if host["irqbalance"]:
        start_irqbalance(bench.root)
    if host["tuned"]:
        start_tuned(bench.root)
    if host["grubby"]:
        (bench.root / "usr/sbin/update-grub").rename(bench.root / "usr/sbin/grubby")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(host=HOST, wishes=st.lists(WANTED, min_size=1, max_size=3))
def test_any_order_converges_and_is_undone(host, wishes):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        bench = Bench(pathlib.Path(folder), patch)
        prepare(bench, host)
        first, loader = canonical(snapshot(bench.root)), bench.tools.grubby_info
        for wish in wishes:
            said = bench.run(check=True, **wish)
            done = bench.run(**wish)
            assert said["diff"] == done["diff"]
            there = snapshot(bench.root)
            assert bench.run(**wish)["changed"] is False
            assert snapshot(bench.root) == there
        bench.absent()
        assert canonical(snapshot(bench.root)) == first
        assert bench.tools.grubby_info == loader
        assert bench.absent()["changed"] is False
