# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import builtins
import json
import os
import stat
from unittest import mock

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _tuning_files as files
from ansible_collections.npufleet.ascend.plugins.module_utils import _tuning_task
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_task import TuningTask
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import (
    RECORD,
    Bench,
    add_npus,
    rows_of,
    snapshot,
    start_irqbalance,
    start_tuned,
    write,
)

SHM = {"shmmax_bytes": 68719476736}
ALL = dict(
    SHM,
    hugepages=[{"size": "2M", "count": 8}],
    transparent_hugepage="always",
    swappiness=0,
    numa_balancing=0,
    sched_migration_cost_ns=50000,
    cpu_governor="performance",
    irqbalance="stopped",
    npu_irq_affinity=True,
    npu_work_queue_affinity=True,
    reserved_ports="60000-60255",
    iommu_passthrough=True,
    nofile=65536,
    memlock="unlimited",
)


@pytest.fixture()
def bench(tmp_path, monkeypatch):
    return Bench(tmp_path, monkeypatch)


@pytest.fixture()
def full(bench):
    """A server with NPUs, irqbalance and TuneD."""
    bench.chips = add_npus(bench.root)
    start_irqbalance(bench.root)
    start_tuned(bench.root)
    return bench


def test_everything_at_once(full):
    before = snapshot(full.root)
    checked = full.run(check=True, **ALL)
    assert (checked["changed"], snapshot(full.root), full.tools.calls) == (True, before, [])
    done = full.run(**ALL)
    assert done["diff"] == checked["diff"]
    assert {knob: row["action"] for knob, row in rows_of(done).items() if row["action"] != "set"} == {"numa_plan": "partly"}
    assert full.tools.names() == [
        "tuned-adm profile npufleet",
        "systemctl daemon-reload",
        "update-grub",
        "systemctl disable --now irqbalance.service",
    ]
    for path, value in (
        ("/proc/sys/kernel/shmmax", "68719476736"),
        ("/proc/sys/kernel/shmall", "16777216"),
        ("/proc/sys/vm/swappiness", "0"),
        ("/sys/kernel/debug/sched/migration_cost_ns", "50000"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always"),
        ("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "4"),
        ("/sys/devices/system/cpu/cpufreq/policy15/scaling_governor", "performance"),
        ("/proc/irq/111/smp_affinity_list", "8-15"),
        ("/sys/devices/virtual/workqueue/dev1_sq_send_wq/cpumask", "0000ff00"),
        ("/proc/sys/net/ipv4/ip_local_reserved_ports", "8080,9148,60000-60255"),
        ("/etc/tuned/active_profile", "npufleet"),
    ):
        assert full.read(path) == value, path
    assert (done["reboot_required"], done["reboot_reason"]) == (True, "kernel arguments: iommu_passthrough")


def test_a_second_run_writes_nothing_and_starts_nothing(full):
    full.run(**ALL)
    before, full.tools.calls = snapshot(full.root), []
    again = full.run(**ALL)
    assert (again["changed"], snapshot(full.root), full.tools.calls) == (False, before, [])
    assert again["diff"]["before"] == again["diff"]["after"]
    assert {row["action"] for row in again["table"]} == {"ok", "partly"}
    assert again["reboot_required"] is True


def test_absent_puts_everything_back(full):
    before = snapshot(full.root)
    full.run(**ALL)
    checked = full.absent(check=True)
    full.tools.calls = []
    done = full.absent()
    assert (done["changed"], done["diff"]) == (True, checked["diff"])
    # TuneD first: it puts its own values back.
    assert full.tools.names()[0] == "tuned-adm profile balanced"
    after = snapshot(full.root)
    after["sys/kernel/mm/transparent_hugepage/enabled"] = "always [madvise] never"  # the folder keeps what was written: madvise
    for number in range(2):
        name = "sys/devices/virtual/workqueue/dev{0}_sq_send_wq/cpumask".format(number)
        assert int(after[name], 16) == int(before[name], 16)
        after[name] = before[name]
    assert after == before
    again = full.absent()
    assert again["changed"] is False
    assert {row["action"] for row in again["table"]} <= {"off", "partly"}


def test_units_are_stopped_before_their_files_go(full):
    """One that still waits for the driver would set its values after they were put back."""
    full.run(**ALL)
    full.tools.calls, full.tools.fail = [], "systemctl stop"
    with pytest.raises(NpufleetError, match="failed: it broke"):
        full.absent()
    assert [full.has(path) for path in (files.UNIT, files.NPU_UNIT, files.SCRIPT)] == [True, True, True]
    full.tools.calls, full.tools.fail = [], ""
    full.absent()
    assert "systemctl stop npufleet-tuning-npu.service npufleet-tuning.service" in full.tools.names()
    assert [full.has(path) for path in (files.UNIT, files.NPU_UNIT, files.SCRIPT)] == [False, False, False]


PORTS = "/proc/sys/net/ipv4/ip_local_reserved_ports"


def test_ports_are_added_to_those_of_the_site(full):
    done = full.run(reserved_ports="60000-60031")
    assert rows_of(done)["reserved_ports"] == {
        "knob": "reserved_ports",
        "found": "8080,9148",
        "wanted": "60000-60031",
        "now": "8080,9148,60000-60031",
        "action": "set",
        "reason": "no connection takes what HCCL listens on (CANN)",
    }
    # What is there at boot is known only then.
    assert not full.has(files.SYSCTL) and "reserve 60000-60031 {0}".format(PORTS) in full.read(files.SCRIPT).splitlines()
    # The site gives up one and adds others, one of them between two of ours.
    write(full.root, PORTS, "8080,7000-7001,60000-60031,60100\n")
    assert full.run(reserved_ports="60000-60031")["changed"] is False
    assert full.run(reserved_ports="60000-60255")["changed"] is True
    assert full.read(PORTS) == "7000-7001,8080,60000-60255"
    assert full.run(reserved_ports="60000-60255")["changed"] is False
    # Fewer: ours go, and theirs stay.
    full.run(reserved_ports="60000-60015")
    assert full.read(PORTS) == "7000-7001,8080,60000-60015,60100"
    write(full.root, PORTS, "7000-7001,8080,9000,60000-60015,60100\n")
    full.absent()
    assert full.read(PORTS) == "7000-7001,8080,9000,60100"
    assert not full.has(RECORD) and not full.has(files.SCRIPT)


def test_ports_that_the_site_reserves_already_stay(full):
    write(full.root, PORTS, "60000-60255\n")
    done = full.run(reserved_ports="60000-60015")
    assert (rows_of(done)["reserved_ports"]["action"], full.read(PORTS), full.has(RECORD)) == ("ok", "60000-60255", False)
    assert full.run(reserved_ports="60000-60015")["changed"] is False
    full.absent()
    assert full.read(PORTS) == "60000-60255"


def test_ports_after_a_boot_that_lost_them(full):
    full.run(reserved_ports="60000-60015")
    write(full.root, PORTS, "8080\n")
    full.run(reserved_ports="60000-60015")
    assert full.read(PORTS) == "8080,60000-60015"
    full.absent()
    assert full.read(PORTS) == "8080"


def test_a_host_without_npus_keeps_its_ports(bench):
    done = bench.run(reserved_ports="60000-60255")
    assert (rows_of(done)["reserved_ports"]["action"], rows_of(done)["reserved_ports"]["reason"]) == ("skipped", "no NPU here")
    assert (done["changed"], bench.read(PORTS)) == (False, "8080,9148")


def test_a_knob_that_is_not_wanted_any_more_is_put_back(bench):
    bench.run(swappiness=0, numa_balancing=0)
    done = bench.run(numa_balancing=0)
    assert (done["changed"], bench.read("/proc/sys/vm/swappiness"), bench.read("/proc/sys/kernel/numa_balancing")) == (True, "60", "0")
    assert rows_of(done)["swappiness"] == {
        "knob": "swappiness",
        "found": "0",
        "wanted": "-",
        "now": "60",
        "action": "undone",
        "reason": "back to the value found first",
    }
    assert "vm.swappiness" not in bench.read(files.SYSCTL)


def test_drift_is_repaired_and_the_first_value_remembered(bench):
    bench.run(swappiness=0)
    write(bench.root, "/proc/sys/vm/swappiness", "30\n")
    assert bench.run(swappiness=0)["changed"] is True
    bench.absent()
    assert bench.read("/proc/sys/vm/swappiness") == "60"


def test_higher_limits_of_shared_memory_stay(bench):
    write(bench.root, "/proc/sys/kernel/shmmax", "18446744073692774399\n")
    write(bench.root, "/proc/sys/kernel/shmall", "18446744073692774399\n")
    done = bench.run(**SHM)
    assert (done["changed"], rows_of(done)["shmmax_bytes"]["action"], bench.has(files.SYSCTL), bench.has(RECORD)) == (
        False,
        "kept",
        False,
        False,
    )


def test_a_container_gets_what_is_its_own(bench):
    write(bench.root, "/run/systemd/container", "docker")
    bench.chips = add_npus(bench.root)
    done = bench.run(**ALL)
    actions = {row["knob"]: row["action"] for row in done["table"]}
    assert {knob for knob, action in actions.items() if action == "set"} == {"shmmax_bytes", "shmall_pages", "nofile", "memlock"}
    assert {knob for knob, action in actions.items() if action == "skipped"} >= {"swappiness", "cpu_governor", "iommu_passthrough"}
    assert bench.tools.calls == []
    assert (done["host_type"], bench.has(files.SCRIPT), bench.has(files.GRUB)) == ("container", False, False)
    assert bench.run(**ALL)["changed"] is False


def test_what_the_host_is_can_be_told(bench):
    write(bench.root, "/run/systemd/container", "docker")
    assert rows_of(bench.run(host_type="physical", swappiness=0))["swappiness"]["action"] == "set"


@pytest.mark.parametrize("broken", ["daemon-reload", "update-grub", "tuned-adm", "irqbalance"])
def test_an_interrupted_run_is_finished_by_the_next(full, broken):
    before = snapshot(full.root)
    full.tools.fail = broken
    with pytest.raises(NpufleetError, match="failed: it broke"):
        full.run(**ALL)
    full.tools.fail, full.tools.calls = "", []
    done = full.run(**ALL)
    assert done["changed"] is True
    assert any(broken in name for name in full.tools.names())
    assert full.run(**ALL)["changed"] is False
    full.absent()
    assert full.read("/proc/sys/vm/swappiness") == before["proc/sys/vm/swappiness"]
    assert full.read("/etc/tuned/active_profile") == "balanced"


def test_a_run_that_died_between_record_and_change_is_undone(bench, monkeypatch):
    monkeypatch.setattr(TuningTask, "_act", mock.Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        bench.run(swappiness=0)
    monkeypatch.undo()
    assert json.loads(bench.read(RECORD))["values"]["/proc/sys/vm/swappiness"]["before"] == "60"
    bench.absent()
    assert (bench.read("/proc/sys/vm/swappiness"), bench.has(RECORD)) == ("60", False)


def refuse(monkeypatch, wanted, answer):
    """Let ``answer`` replace what happens when a file whose path ends so is written."""
    real = builtins.open

    def opened(path, mode="r", **options):
        if "w" in mode and str(path).endswith(wanted):
            return answer(real, path)
        return real(path, mode, **options)

    monkeypatch.setattr(_tuning_task, "open", opened, raising=False)


def test_what_the_kernel_refuses_is_reported_and_no_failure(bench, monkeypatch):
    def denied(_open, path):
        raise PermissionError(1, "Operation not permitted", path)

    refuse(monkeypatch, "/swappiness", denied)
    done = bench.run(swappiness=0, numa_balancing=0)
    row = rows_of(done)["swappiness"]
    assert (row["action"], row["now"]) == ("skipped", "60")
    assert row["reason"] == "the kernel refused /proc/sys/vm/swappiness: Operation not permitted"
    assert done["notes"] == ["swappiness: " + row["reason"]]
    assert rows_of(done)["numa_balancing"]["action"] == "set"
    assert bench.run(swappiness=0, numa_balancing=0)["changed"] is False


def test_fewer_pages_than_wanted(bench, monkeypatch):
    def fragmented(real, path):
        write_two = real(path, "w", encoding="ascii")
        write_two.write("2\n")
        write_two.close()
        return real("/dev/null", "w", encoding="ascii")

    refuse(monkeypatch, "node0/hugepages/hugepages-2048kB/nr_hugepages", fragmented)
    done = bench.run(hugepages=[{"count": 8, "node": 0}])
    row = rows_of(done)["hugepages"]
    assert (row["action"], row["now"], row["reason"]) == (
        "partly",
        "2M: 2 + 0; 1G: 0 x2",
        "memory is fragmented, the pages come at the next boot",
    )
    assert (done["changed"], done["reboot_required"]) == (True, False)
    assert bench.run(hugepages=[{"count": 8, "node": 0}])["changed"] is False


def test_giant_pages_need_a_reboot_only_where_they_are_not_found(bench, monkeypatch):
    wanted = {"hugepages": [{"size": "1G", "count": 2, "node": 1}]}
    done = bench.run(**wanted)
    assert 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX hugepagesz=1G hugepages=1:2"' in bench.read(files.GRUB)
    assert (done["reboot_required"], rows_of(done)["hugepages"]["now"]) == (False, "2M: 0 x2; 1G: 0 + 2")
    bench.absent()
    refuse(monkeypatch, "hugepages-1048576kB/nr_hugepages", lambda real, _path: real("/dev/null", "w", encoding="ascii"))
    done = bench.run(**wanted)
    assert (done["reboot_required"], done["reboot_reason"]) == (True, "kernel arguments: hugepages")


def test_grubby(bench):
    (bench.root / "usr/sbin/update-grub").unlink()
    write(bench.root, "/usr/sbin/grubby")
    done = bench.run(iommu_passthrough=True)
    assert bench.tools.names() == [
        "grubby --info=ALL",
        "grubby --update-kernel=ALL --args=iommu.passthrough=1",
        "grubby --info=ALL",
    ]
    assert (done["changed"], done["reboot_required"], rows_of(done)["iommu_passthrough"]["reason"]) == (
        True,
        True,
        "on after the next reboot",
    )
    again = bench.run(iommu_passthrough=True)
    assert (again["changed"], again["reboot_required"]) == (False, True)
    # After the reboot nothing has to be asked any more.
    write(bench.root, "/proc/cmdline", "ro quiet iommu.passthrough=1\n")
    bench.tools.calls = []
    booted = bench.run(iommu_passthrough=True)
    assert (booted["changed"], booted["reboot_required"], bench.tools.calls) == (False, False, [])
    assert rows_of(booted)["iommu_passthrough"]["now"] == "on"
    gone = bench.absent()
    assert bench.tools.names() == ["grubby --update-kernel=ALL --remove-args=iommu.passthrough=1"]
    assert (gone["changed"], gone["reboot_required"], bench.has(RECORD)) == (True, True, False)
    assert bench.tools.grubby_info == 'args="ro quiet"\n'


def test_irqbalance_without_the_npus(full):
    done = full.run(irqbalance="ban_npu")
    assert full.tools.names() == ["systemctl daemon-reload", "systemctl try-restart irqbalance.service"]
    assert rows_of(done)["irqbalance"]["now"] == "running, enabled, leaves NPUs alone"
    assert full.run(irqbalance="ban_npu")["changed"] is False
    script = full.root / files.BAN_SCRIPT[1:]
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    full.absent()
    assert not script.exists() and not (full.root / files.BAN_UNIT[1:]).parent.exists()


def test_a_profile_that_tuned_chose_itself_is_chosen_again(full):
    start_tuned(full.root, "virtual-guest", "auto")
    full.run(swappiness=0)
    full.tools.calls = []
    full.absent()
    assert full.tools.names() == ["tuned-adm auto_profile"]


def test_tuned_without_a_profile_is_switched_off_again(full):
    start_tuned(full.root, "")
    full.run(swappiness=0)
    full.tools.calls = []
    full.absent()
    assert full.tools.names() == ["tuned-adm off"]


def test_files_of_others_are_left_alone(bench):
    write(bench.root, "/etc/npufleet/mine.conf", "x")
    bench.run(transparent_hugepage="always")
    bench.absent()
    assert bench.read("/etc/npufleet/mine.conf") == "x"
    assert (bench.root / "etc/systemd/system/multi-user.target.wants").is_dir()


def test_a_link_that_points_elsewhere_is_made_anew(bench):
    link = bench.root / (files.WANTS + "npufleet-tuning.service")[1:]
    link.parent.mkdir(parents=True)
    link.symlink_to("/elsewhere")
    assert bench.run(transparent_hugepage="always")["changed"] is True
    assert os.readlink(str(link)) == files.UNIT


def test_files_that_win_at_boot_are_named(bench):
    write(bench.root, "/etc/sysctl.d/99-site.conf", "# x\n-vm/swappiness = 10\nkernel.numa_balancing=0\nother = 1\n")
    write(bench.root, "/etc/sysctl.d/10-site.conf", "vm.swappiness = 20\n")
    done = bench.run(swappiness=0, numa_balancing=0)
    assert done["notes"] == ["/etc/sysctl.d/99-site.conf sets vm.swappiness to 10 at boot, after /etc/sysctl.d/90-npufleet.conf"]


def test_only_root_may_change_something(bench):
    with pytest.raises(NpufleetError, match="only root may tune the kernel"):
        bench.run(is_root=False, swappiness=0)
    assert bench.run(check=True, is_root=False, swappiness=0)["changed"] is True
    assert bench.run(is_root=False)["changed"] is False


def test_a_missing_tool_is_one_message(bench):
    params = {"state": "present", "knobs": {"transparent_hugepage": "always"}, "npus": [], "host_type": "auto", "record": RECORD}
    task = TuningTask(params, bench.tools, lambda _name, _dirs: None, True, str(bench.root))
    with pytest.raises(NpufleetError, match="systemctl is missing"):
        task.execute(False)


def test_a_tool_that_hangs_is_one_message(bench):
    params = {"state": "present", "knobs": {"iommu_passthrough": True}, "npus": [], "host_type": "auto", "record": RECORD}

    def hang(argv, timeout, **_more):
        return CommandResult(list(argv), None, "", "", timed_out=True)

    with pytest.raises(NpufleetError, match="update-grub failed: no answer after 300 s"):
        TuningTask(params, hang, is_root=True, root=str(bench.root)).execute(False)


def test_bad_values_are_refused_before_anything_is_touched(bench):
    before = snapshot(bench.root)
    for knobs in ({"swappiness": 500}, {"nofile": 2000000}, {"hugepages": [{"size": "1G", "count": 100}]}):
        with pytest.raises(NpufleetError):
            bench.run(**knobs)
    assert snapshot(bench.root) == before


def test_the_plan_of_the_npus_is_returned(full):
    assert [(item["device"], item["cpus"]) for item in full.run(check=True)["numa_plan"]] == [(0, "8-11"), (1, "12-15")]


def test_the_table_is_readable(bench):
    text = bench.run(check=True, swappiness=0)["text"]
    assert text[0].split() == ["knob", "found", "wanted", "now", "reason"]
    (line,) = [line for line in text if line.startswith("swappiness")]
    assert line.split(None, 4) == ["swappiness", "60", "0", "0", "set: keep the engine out of swap (vllm-ascend)"]
