# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _tuning_files as files
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import read_host
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import Target
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.tuning_fakes import BUS, Bench, add_npus, read, write

SWAPPINESS = Target("swappiness", "s", "/proc/sys/vm/swappiness", "0", "number")
THP = Target("transparent_hugepage", "t", "/sys/kernel/mm/transparent_hugepage/enabled", "always", "choice")
GOVERNORS = [
    Target("cpu_governor", str(cpu), "/sys/devices/system/cpu/cpufreq/policy{0}/scaling_governor".format(cpu), "performance")
    for cpu in range(2)
]
QUEUE = Target("npu_work_queue_affinity", "q", "/sys/devices/virtual/workqueue/dev0_sq_send_wq/cpumask", "8-15", "mask", within="8-15")


@pytest.fixture()
def bench(tmp_path, monkeypatch):
    return Bench(tmp_path, monkeypatch)


def texts(found):
    return {item.path: item.text for item in found}


def boot(bench, targets, irqs=False, systemd=True):
    host = read_host(str(bench.root), bench.chips)._replace(systemd=systemd)
    return texts(files.boot_files(targets, host, irqs))


def test_sysctls_alone_need_no_script(bench):
    assert boot(bench, [SWAPPINESS]) == {files.SYSCTL: files.HEAD + "vm.swappiness = 0\n"}
    assert boot(bench, []) == {}


def test_other_values_are_set_by_a_unit(bench):
    found = boot(bench, [SWAPPINESS, THP, *GOVERNORS])
    assert set(found) == {files.SYSCTL, files.SCRIPT, files.UNIT, files.WANTS + "npufleet-tuning.service"}
    lines = found[files.SCRIPT].splitlines()
    assert lines.count("put performance /sys/devices/system/cpu/cpufreq/policy[0-9]*/scaling_governor") == 1
    assert "put always /sys/kernel/mm/transparent_hugepage/enabled" in lines
    assert "swappiness" not in found[files.SCRIPT] and "npu ]" not in found[files.SCRIPT]
    assert "Type=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh /etc/npufleet/tuning.sh\n" in found[files.UNIT]
    assert found[files.WANTS + "npufleet-tuning.service"] == files.UNIT


def test_without_systemd_only_sysctls_last(bench):
    assert set(boot(bench, [SWAPPINESS, THP], systemd=False)) == {files.SYSCTL}


def test_npus_have_a_unit_of_their_own_before_the_driver_is_there(bench):
    add_npus(bench.root, driver=False)
    found = boot(bench, [], irqs=True)
    assert set(found) == {files.SCRIPT, files.NPU_UNIT, files.WANTS + "npufleet-tuning-npu.service"}
    assert "    irq {0} cq_update_irq 8-15\n".format(BUS[1]) in found[files.SCRIPT]
    assert "ExecStart=/bin/sh /etc/npufleet/tuning.sh npu\n" in found[files.NPU_UNIT]
    assert boot(bench, [], irqs=False) == {}


def run_script(bench, argument, lines, npu, buses):
    text = files.script_text(lines, npu, buses, str(bench.root), 0)
    path = bench.root / "tuning.sh"
    path.write_text(text)
    return subprocess.run(["sh", "-eu", str(path), *argument], capture_output=True, text=True, timeout=30, check=False)


def test_the_script_sets_what_is_there(bench):
    write(bench.root, "/a/one", "0\n")
    write(bench.root, "/a/two", "0\n")
    lines = ["put 5 {0}/a/* {0}/missing".format(bench.root), "put 7 {0}/absent".format(bench.root)]
    done = run_script(bench, [], lines, [], [])
    assert (done.returncode, done.stderr) == (0, "")
    assert (read(bench.root, "/a/one"), read(bench.root, "/a/two")) == ("5", "5")
    assert not (bench.root / "missing").exists()


@pytest.mark.parametrize(("there", "then"), [("8080,9148\n", "8080,9148,60000-60015"), ("\n", "60000-60015")])
def test_the_script_adds_ports_to_those_that_are_reserved(bench, there, then):
    write(bench.root, "/ports", there)
    done = run_script(bench, [], ["reserve 60000-60015 {0}/ports".format(bench.root), "reserve 1 {0}/missing".format(bench.root)], [], [])
    assert (done.returncode, done.stderr, read(bench.root, "/ports")) == (0, "", then)
    assert not (bench.root / "missing").exists()


def test_reserved_ports_are_no_matter_of_sysctl_d(bench):
    """A file there would replace what the site reserves in another one."""
    ports = Target("reserved_ports", "p", "/proc/sys/net/ipv4/ip_local_reserved_ports", "60000-60015", "ports")
    found = boot(bench, [SWAPPINESS, ports])
    assert found[files.SYSCTL] == files.HEAD + "vm.swappiness = 0\n"
    assert "reserve 60000-60015 /proc/sys/net/ipv4/ip_local_reserved_ports" in found[files.SCRIPT].splitlines()


def test_the_script_finds_interrupts_by_name(bench):
    add_npus(bench.root)
    npu = ["irq {0} sq_send_trigger_irq 8".format(BUS[0]), "irq {0} cq_update_irq 9".format(BUS[0])]
    done = run_script(bench, ["npu"], ["put 1 {0}/proc/sys/vm/swappiness".format(bench.root)], npu, list(BUS))
    assert (done.returncode, done.stderr) == (0, "")
    values = [read(bench.root, "/proc/irq/{0}/smp_affinity_list".format(number)) for number in (100, 101, 102, 103, 110)]
    assert values == ["8", "9", "9", "0-15", "0-15"]
    assert bench.read("/proc/sys/vm/swappiness") == "60"  # that is the other unit's


def test_the_script_waits_for_work_queues_as_well(bench):
    queue = bench.root / "queue"
    write(bench.root, "/proc/sys/vm/swappiness", "60\n")
    text = files.script_text([], ["put ff {0}".format(queue)], [], str(bench.root), 0)
    # The queue comes while the script waits: its third look finds it.
    text = text.replace("sleep 0", 'if [ "$turn" = 2 ]; then echo 0 >"{0}"; fi'.format(queue))
    done = subprocess.run(["sh", "-eu", "-s", "npu"], input=text, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr, queue.read_text()) == (0, "", "ff\n")


def test_chips_on_no_pci_bus_have_work_queues_only(bench):
    bench.chips = [{"bus_id": None, "phy_id": 0, "cpu_affinity": "8-15"}]
    write(bench.root, QUEUE.path, "ffff\n")
    script = boot(bench, [QUEUE], irqs=True)[files.SCRIPT]
    assert "    irq " not in script and "    put 0000ff00 " + QUEUE.path in script


def test_the_script_gives_up_on_a_driver_that_does_not_come(bench):
    add_npus(bench.root, driver=False)
    done = run_script(bench, ["npu"], [], ["irq {0} cq_update_irq 9".format(BUS[0])], list(BUS))
    assert (done.returncode, done.stderr) == (0, "")


def test_masks_are_written_as_masks(bench):
    add_npus(bench.root)
    assert "    put 0000ff00 " + QUEUE.path in boot(bench, [QUEUE])[files.SCRIPT]


def test_irqbalance_keeps_its_own_options():
    found = texts(files.ban_files({"IRQBALANCE_ARGS": "--journal", "OPTIONS": ""}))
    assert 'IRQBALANCE_ARGS="--journal --policyscript=/etc/npufleet/irqbalance-policy.sh"\n' in found[files.BAN_ENV]
    assert 'OPTIONS="--policyscript=/etc/npufleet/irqbalance-policy.sh"\n' in found[files.BAN_ENV]
    assert found[files.BAN_UNIT].endswith("[Service]\nEnvironmentFile=-/etc/npufleet/irqbalance.env\n")


@pytest.mark.parametrize(("number", "said"), [(101, "ban=true\n"), (103, ""), (999, "")])
def test_the_policy_of_irqbalance(tmp_path, number, said):
    for irq, handler in ((101, "cq_update_irq"), (103, "trs-mbox")):
        write(tmp_path, "/proc/irq/{0}/{1}/x".format(irq, handler))
    text = files.ban_files({})[0].text.replace("/proc/irq", str(tmp_path / "proc/irq"))
    done = subprocess.run(["sh", "-s", "/sys/x", str(number)], input=text, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_grub():
    assert files.grub_file([]) == []
    assert files.grub_file(["a=1", "b"])[0].text.endswith('GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX a=1 b"\n')


def test_limits():
    assert files.limits_file([]) == []
    assert files.limits_file(["* soft nofile 1"])[0].text == files.HEAD + "* soft nofile 1\n"


def test_a_tuned_profile_holds_the_same_values(bench):
    host = read_host(str(bench.root), [])
    (profile,) = files.tuned_file([SWAPPINESS, THP, *GOVERNORS], host, "balanced mine")
    assert profile.path == "/etc/tuned/npufleet/tuned.conf"
    assert profile.text == files.HEAD + (
        "[main]\nsummary = Kernel settings of npufleet.ascend\ninclude = balanced,mine\n"
        "\n[sysctl]\nvm.swappiness = 0\n\n[vm]\ntransparent_hugepages = always\n\n[cpu]\ngovernor = performance\n"
    )
    assert "include" not in files.tuned_file([THP], host, "")[0].text
    assert files.tuned_file([QUEUE], host, "balanced") == []


def test_every_file_that_is_made_can_be_found_again(bench):
    bench.chips = add_npus(bench.root)
    host = read_host(str(bench.root), bench.chips)
    made = files.boot_files([SWAPPINESS, THP, QUEUE], host, True) + files.ban_files({}) + files.grub_file(["a"]) + files.limits_file(["b"])
    made += files.tuned_file([THP], host, "") + files.tuned_file([THP], host._replace(tuned_folder="/etc/tuned/profiles"), "")
    assert {item.path for item in made} == set(files.OWN_FILES)
