# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_arguments import (
    argument_plan,
    giant_words,
    grubby_words,
    iommu_found,
    iommu_words,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import read_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_spec import Knobs
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import Target
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import Bench

ON = "iommu.passthrough=1"


@pytest.mark.parametrize(("machine", "words"), [("aarch64", (ON,)), ("x86_64", ("iommu=pt",))])
def test_iommu_words(machine, words):
    assert iommu_words(machine) == words


@pytest.mark.parametrize(
    ("cmdline", "found"),
    [("ro", "off"), ("ro iommu.passthrough=1", "on"), ("iommu=pt", "on"), ("iommu.passthrough=0", "iommu.passthrough=0")],
)
def test_iommu_found(cmdline, found):
    assert iommu_found(cmdline.split()) == found


def pool(size, node, wanted):
    where = "/sys/devices/system/node/node{0}".format(node) if node is not None else "/sys/kernel/mm"
    path = "{0}/hugepages/hugepages-{1}kB/nr_hugepages".format(where, size)
    return Target("hugepages", path, path, wanted, "number")


@pytest.mark.parametrize(
    ("pools", "kernel", "words"),
    [
        ([], (6, 6), ()),
        ([pool(2048, 0, "512")], (6, 6), ()),
        ([pool(1048576, 0, "0"), pool(1048576, 1, None)], (6, 6), ()),
        ([pool(1048576, 0, "2"), pool(1048576, 1, "3")], (6, 6), ("hugepagesz=1G", "hugepages=0:2,1:3")),
        # Kernels before 5.16 know no nodes there; the script spreads them at boot.
        ([pool(1048576, 0, "2"), pool(1048576, 1, "3")], (5, 10), ("hugepagesz=1G", "hugepages=5")),
        ([pool(16777216, None, "1")], (6, 6), ("hugepagesz=16G", "hugepages=1")),
    ],
)
def test_giant_pages(pools, kernel, words):
    assert giant_words(pools, kernel) == words


@pytest.fixture()
def host(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch)
    return read_host(str(bench.root), [])


def plan(host, recorded=(), persisted=None, wanted=True, pages=()):
    return argument_plan(Knobs(iommu_passthrough=wanted), host, pages, recorded, host.cmdline if persisted is None else persisted)


def test_an_argument_that_is_missing_is_added_and_waits(host):
    found = plan(host)
    assert (found.ours, found.add, found.remove, found.waiting, found.skips) == ((ON,), (ON,), (), ("iommu_passthrough",), {})


def test_one_that_the_boot_loader_has_only_waits(host):
    found = plan(host, recorded=(ON,), persisted=(ON,))
    assert (found.ours, found.add, found.waiting) == ((ON,), (), ("iommu_passthrough",))


def test_after_the_reboot_nothing_is_left(host):
    booted = host._replace(cmdline=(*host.cmdline, ON))
    found = plan(booted, recorded=(ON,))
    assert (found.ours, found.add, found.remove, found.waiting) == ((ON,), (), (), ())


def test_one_that_somebody_else_set_is_not_ours(host):
    booted = host._replace(cmdline=(*host.cmdline, ON), boot_tool=None)
    found = plan(booted)
    assert (found.ours, found.add, found.skips) == ((), (), {})


def test_what_is_not_wanted_any_more_is_removed(host):
    booted = host._replace(cmdline=(*host.cmdline, ON))
    found = plan(booted, recorded=(ON,), wanted=False)
    assert (found.ours, found.remove, found.waiting) == ((), (ON,), ("removed arguments",))
    assert plan(host, recorded=(ON,), wanted=False).waiting == ()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "container", "kind_source": "/.dockerenv"}, "a container shares this with its host (/.dockerenv)"),
        ({"iommu": False}, "the kernel shows no IOMMU"),
        ({"cmdline": ("ro", "iommu.passthrough=0")}, "the kernel command line already says iommu.passthrough=0"),
        ({"boot_tool": None}, "neither grubby nor update-grub is here"),
    ],
)
def test_what_hinders_it(host, changes, reason):
    found = plan(host._replace(**changes))
    assert found.skips == {"iommu_passthrough": reason}
    assert found.ours == found.add == found.waiting == ()


def test_huge_pages_of_others_are_left_alone(host):
    booted = host._replace(cmdline=("hugepagesz=1G", "hugepages=9"))
    found = plan(booted, wanted=False, pages=[pool(1048576, 0, "2")])
    assert found.skips == {"hugepages": "the kernel command line already says hugepages=9"}


def test_a_changed_number_replaces_the_old_argument(host):
    booted = host._replace(cmdline=("hugepagesz=1G", "hugepages=0:1"))
    found = plan(booted, recorded=("hugepagesz=1G", "hugepages=0:1"), wanted=False, pages=[pool(1048576, 0, "2")])
    assert (found.add, found.remove) == (("hugepages=0:2",), ("hugepages=0:1",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ('index=0\nargs="ro quiet a=1"\nroot="/dev/sda"\nindex=1\nargs="ro a=1"\n', ("a=1", "ro")),
        ('args="ro"\nargs="quiet"\n', ()),
    ],
)
def test_arguments_that_every_entry_has(text, words):
    assert grubby_words(text) == words
