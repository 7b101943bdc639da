# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The files of host_tuning on the host, as text: what keeps the values over a reboot. Every one of them is ours alone."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_host import IRQ_NAMES, POLICIES, HostState
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_limits import OWN_FILE as LIMITS
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_npu import Share, irq_cpus, numa_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import Target, written

HEAD = "# Managed by npufleet.ascend (host_tuning): changes made here are replaced by the next run.\n"
PROFILE = "npufleet"
SYSCTL = "/etc/sysctl.d/90-npufleet.conf"
SCRIPT = "/etc/npufleet/tuning.sh"
UNITS = "/etc/systemd/system"
UNIT = UNITS + "/npufleet-tuning.service"
NPU_UNIT = UNITS + "/npufleet-tuning-npu.service"
WANTS = UNITS + "/multi-user.target.wants/"
BAN_ENV = "/etc/npufleet/irqbalance.env"
BAN_SCRIPT = "/etc/npufleet/irqbalance-policy.sh"
BAN_UNIT = UNITS + "/irqbalance.service.d/npufleet.conf"
GRUB = "/etc/default/grub.d/npufleet.cfg"
TUNED_FILES = tuple("{0}/{1}/tuned.conf".format(folder, PROFILE) for folder in ("/etc/tuned", "/etc/tuned/profiles"))
# Every file that this module may have made; those that are not wanted are deleted.
OWN_FILES: t.Tuple[str, ...] = (SYSCTL, SCRIPT, UNIT, WANTS + UNIT.rpartition("/")[2], NPU_UNIT, WANTS + NPU_UNIT.rpartition("/")[2])
OWN_FILES += (BAN_ENV, BAN_SCRIPT, BAN_UNIT, GRUB, LIMITS, *TUNED_FILES)
# Folders that are removed with the last file in them.
OWN_FOLDERS = frozenset(path.rpartition("/")[0] for path in (SCRIPT, BAN_UNIT, *TUNED_FILES))

# Seconds that the script waits for the driver; a device takes a minute and more to boot.
DRIVER_TURNS, DRIVER_PAUSE = 60, 5

SCRIPT_TEXT = """\
#!/bin/sh
{head}# Sets again at each boot what sysctl.d cannot hold; with the argument npu, what waits for the driver.

put() {{ # value, then the files; those that are not there are left out
    value=$1
    shift
    for file; do
        if [ -w "$file" ]; then echo "$value" >"$file" || echo "npufleet-tuning: $file refused $value" >&2; fi
    done
}}

{ports}{npu}{kernel}"""

# Where ports are reserved: those that the site reserves elsewhere stay, which a file of sysctl.d would replace.
PORTS_TEXT = """\
reserve() {{ # ports, file
    if [ -w "$2" ]; then
        there=$(cat "$2")
        echo "${{there:+$there,}}$1" >"$2" || echo "npufleet-tuning: $2 refused $1" >&2
    fi
}}

"""

# Behind the functions for kernel files, where there are NPUs.
NPU_TEXT = """\
irqs() {{ # PCI function, handler: numbers of its interrupts
    for path in "{root}/sys/bus/pci/devices/$1/msi_irqs"/*; do
        for handler in "{root}/proc/irq/${{path##*/}}"/*"$2"*; do
            if [ -d "$handler" ]; then echo "${{path##*/}}"; fi
        done
    done
}}

irq() {{ # PCI function, handler, CPUs
    for number in $(irqs "$1" "$2"); do put "$3" "{root}/proc/irq/$number/smp_affinity_list"; done
}}

ready() {{ # whether the driver has made the interrupts and work queues of all NPUs
    for bus in {buses}; do
        if [ -z "$(irqs "$bus" {handler})" ]; then return 1; fi
    done
    for queue in {queues}; do
        if [ ! -e "$queue" ]; then return 1; fi
    done
}}

if [ "${{1:-}}" = npu ]; then
    turn=0
    while [ "$turn" -lt {turns} ] && ! ready; do
        sleep {pause}
        turn=$((turn + 1))
    done
{lines}    exit 0
fi

"""

UNIT_TEXT = """\
{head}[Unit]
Description=Kernel settings of npufleet.ascend{what}
After=systemd-sysctl.service systemd-modules-load.service sys-kernel-debug.mount tuned.service

[Service]
Type={kind}
ExecStart=/bin/sh {script}{argument}

[Install]
WantedBy=multi-user.target
"""

BAN_TEXT = """\
#!/bin/sh
{head}# irqbalance asks about each interrupt: $1 is the device, $2 the number. Those that host_tuning pins are not moved.
for name in {names}; do
    for handler in "/proc/irq/$2"/*"$name"*; do
        if [ -d "$handler" ]; then echo ban=true; fi
    done
done
exit 0
"""


class OwnFile(t.NamedTuple):
    """A file of ours; of a link ``text`` is the target and ``mode`` is 0."""

    path: str
    text: str
    mode: int = 0o644


def is_sysctl(target: Target) -> bool:
    """Whether the file is a sysctl whose value is ours alone, so that sysctl.d can hold it."""
    return target.path.startswith("/proc/sys/") and target.form != "ports"


def sysctl_name(path: str) -> str:
    """``kernel.shmmax`` for /proc/sys/kernel/shmmax."""
    return path[len("/proc/sys/") :].replace("/", ".")


def sysctl_text(targets: t.Iterable[Target]) -> str:
    """Lines for sysctl.d(5)."""
    return "".join("{0} = {1}\n".format(sysctl_name(target.path), target.wanted) for target in targets if is_sysctl(target))


def boot_files(targets: t.Sequence[Target], host: HostState, irqs: bool) -> t.List[OwnFile]:
    """sysctl.d, the script and its units: for those targets, and for the interrupts of NPUs that the driver may make only later."""
    files = []
    sysctls = sysctl_text(targets)
    if sysctls:
        files.append(OwnFile(SYSCTL, HEAD + sysctls))
    kernel = _kernel_lines(targets)
    shares = [share for share in numa_plan(host.npus) if share.near]
    npu = _npu_lines(targets, shares if irqs else [])
    if not host.systemd or not (kernel or npu):
        return files
    files.append(OwnFile(SCRIPT, script_text(kernel, npu, [share.npu.bus_id for share in shares if share.npu.bus_id]), 0o755))
    for path, lines, what, kind, argument in (
        (UNIT, kernel, "", "oneshot\nRemainAfterExit=yes", ""),
        # "simple": a host whose driver does not come up is not kept waiting.
        (NPU_UNIT, npu, ", when the NPU driver is up", "simple", " npu"),
    ):
        if lines:
            files.append(OwnFile(path, UNIT_TEXT.format(head=HEAD, what=what, kind=kind, script=SCRIPT, argument=argument)))
            files.append(OwnFile(WANTS + path.rpartition("/")[2], path, 0))
    return files


def script_text(kernel: t.Sequence[str], npu: t.Sequence[str], buses: t.Sequence[str], root: str = "", pause: int = DRIVER_PAUSE) -> str:
    """The script; ``root`` and ``pause`` are for tests."""
    part = NPU_TEXT.format(
        root=root,
        handler=IRQ_NAMES[0],
        turns=DRIVER_TURNS,
        pause=pause,
        buses=" ".join(buses),
        queues=" ".join(line.rpartition(" ")[2] for line in npu if line.startswith("put ")),
        lines="".join("    {0}\n".format(line) for line in npu),
    )
    ports = PORTS_TEXT.format() if any(line.startswith("reserve ") for line in kernel) else ""
    return SCRIPT_TEXT.format(head=HEAD, ports=ports, npu=part if npu else "", kernel="".join(line + "\n" for line in kernel))


def _kernel_lines(targets: t.Iterable[Target]) -> t.List[str]:
    lines = []
    for target in targets:
        if is_sysctl(target) or target.knob.startswith("npu_"):
            continue
        path = POLICIES if target.knob == "cpu_governor" else target.path
        line = "{0} {1} {2}".format("reserve" if target.form == "ports" else "put", target.wanted, path)
        if line not in lines:
            lines.append(line)
    return lines


def _npu_lines(targets: t.Iterable[Target], shares: t.Iterable[Share]) -> t.List[str]:
    lines = [
        "irq {0} {1} {2}".format(share.npu.bus_id, name, irq_cpus(share, name))
        for share in shares
        if share.npu.bus_id
        for name in IRQ_NAMES
    ]
    queues = [target for target in targets if target.knob == "npu_work_queue_affinity"]
    return lines + ["put {0} {1}".format(written(target.form, str(target.wanted)), target.path) for target in queues]


def limits_file(lines: t.Sequence[str]) -> t.List[OwnFile]:
    """limits.d, where there is something to raise."""
    return [OwnFile(LIMITS, HEAD + "".join(line + "\n" for line in lines))] if lines else []


def grub_file(words: t.Sequence[str]) -> t.List[OwnFile]:
    """/etc/default/grub.d, which grub-mkconfig of Debian reads after /etc/default/grub."""
    text = '{0}GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {1}"\n'.format(HEAD, " ".join(words))
    return [OwnFile(GRUB, text)] if words else []


def ban_files(arguments: t.Mapping[str, str]) -> t.List[OwnFile]:
    """Policy script of irqbalance, and the options that name it after those that the host gives already.

    :param arguments: IRQBALANCE_ARGS and OPTIONS as the host has them; which of the two counts depends on its unit
    """
    lines = ['{0}="{1}"\n'.format(name, " ".join(filter(None, (old, "--policyscript=" + BAN_SCRIPT)))) for name, old in arguments.items()]
    return [
        OwnFile(BAN_SCRIPT, BAN_TEXT.format(head=HEAD, names=" ".join(IRQ_NAMES)), 0o755),
        OwnFile(BAN_ENV, HEAD + "".join(lines)),
        OwnFile(BAN_UNIT, "{0}[Service]\nEnvironmentFile=-{1}\n".format(HEAD, BAN_ENV)),
    ]


def tuned_file(targets: t.Sequence[Target], host: HostState, base: str) -> t.List[OwnFile]:
    """A profile of TuneD with the same values on top of the profile ``base``; none where TuneD would not touch any of them."""
    values = {target.knob: str(target.wanted) for target in targets}
    sections = [("sysctl", sysctl_text(targets))]
    if "transparent_hugepage" in values:
        sections.append(("vm", "transparent_hugepages = {0}\n".format(values["transparent_hugepage"])))
    if "cpu_governor" in values:
        sections.append(("cpu", "governor = {0}\n".format(values["cpu_governor"])))
    body = "".join("\n[{0}]\n{1}".format(name, text) for name, text in sections if text)
    if not body:
        return []
    include = "include = {0}\n".format(",".join(base.split())) if base else ""
    text = "{0}[main]\nsummary = Kernel settings of npufleet.ascend\n{1}{2}".format(HEAD, include, body)
    return [OwnFile("{0}/{1}/tuned.conf".format(host.tuned_folder, PROFILE), text)]
