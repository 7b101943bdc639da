#!/bin/sh
# Make this machine pose as an Ascend host, from a healthy state.
#
#   install.sh PRODUCT [options of make_state.py]          with its driver, for example: install.sh atlas-800i-a2 --chip 910B3
#   install.sh --boot PRODUCT [options of make_state.py]   and its boots: PCI bus, boot id, device nodes, running driver (boot.py)
#   install.sh --bare PRODUCT [options of make_state.py]   the same without a driver: NPUs on the PCI bus and nothing else
#
# For throw-away machines: it writes /usr/local/sbin/npu-smi, /dev/davinci*, /etc/ascend_install.info and /usr/local/Ascend; with --boot and
# --bare also units of systemd, and the program that a container starts.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
how=driver
case "${1:-}" in
    --bare | --boot)
        how="${1#--}"
        shift
        ;;
esac
if [ "$#" -eq 0 ]; then
    sed -n '2,/^set/{/^#/p;}' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
fi
if [ -e /sys/module/drv_pcie_host ] || [ -e /sys/module/asdrv_pcie_host ]; then
    echo 'install: a real Ascend driver is loaded here, nothing was changed' >&2
    exit 1
fi
product="$1"
shift

# Units by links instead of systemctl: that also works in a chroot and before systemd answers.
install_boot_units() {
    cat >/etc/systemd/system/npu-simulator-boot.service <<UNIT
[Unit]
Description=Boot of the simulated Ascend host
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/env python3 "$here/boot.py"
UNIT
    cat >/etc/systemd/system/npu-simulator-up.service <<UNIT
[Unit]
Description=End of the boot of the simulated Ascend host
After=multi-user.target npu-simulator-boot.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/env python3 "$here/boot.py" --finish
UNIT
    for unit in sysinit.target.wants/npu-simulator-boot multi-user.target.wants/npu-simulator-up; do
        mkdir -p "/etc/systemd/system/${unit%/*}"
        ln -sf "../${unit#*/}.service" "/etc/systemd/system/$unit.service"
    done
}

# What a container starts as PID 1: from its first moment on it shows the boot id of the boot before. The program keeps its name, by which
# Ansible recognises it (ansible_service_mgr).
install_first_program() {
    if [ ! -e /usr/lib/npu-simulator/systemd ]; then
        mkdir -p /usr/lib/npu-simulator
        mv /lib/systemd/systemd /usr/lib/npu-simulator/systemd
    fi
    cat >/lib/systemd/systemd <<'PROGRAM'
#!/bin/sh
# From the simulator's install.sh. PID 1 without arguments is the start of the container; with them systemd executes itself again.
if [ "$$" -eq 1 ] && [ "$#" -eq 0 ]; then
    mount --bind /var/lib/npu-simulator/boot_id /proc/sys/kernel/random/boot_id
fi
exec /usr/lib/npu-simulator/systemd "$@"
PROGRAM
    chmod 0755 /lib/systemd/systemd
}

install_boots() {
    if [ -d /etc/systemd/system ]; then
        install_boot_units
        if [ -e /.dockerenv ]; then
            install_first_program
        fi
    fi
    python3 "$here/boot.py"
    python3 "$here/boot.py" --finish
}

rm -f /usr/local/sbin/npu-smi
# Any user may call npu-smi, and every call is logged.
mkdir -p /var/log/npu-simulator
: >/var/log/npu-simulator/calls.jsonl
chmod 0666 /var/log/npu-simulator/calls.jsonl

if [ "$how" = bare ]; then
    python3 "$here/make_state.py" --product "$product" --no-driver "$@"
    python3 "$here/host_tree.py" sysfs --root "$here"
    python3 "$here/host_tree.py" no-driver --root / --dev /dev
    install_boots
    exit
fi

# The driver's installer wants this user; it also owns the device nodes.
getent group HwHiAiUser >/dev/null || groupadd --system HwHiAiUser
getent passwd HwHiAiUser >/dev/null || useradd --system --gid HwHiAiUser --shell /usr/sbin/nologin --no-create-home HwHiAiUser
printf '#!/bin/sh\nexec python3 "%s/npu_smi" "$@"\n' "$here" >/usr/local/sbin/npu-smi
chmod 0755 /usr/local/sbin/npu-smi

python3 "$here/make_state.py" --product "$product" "$@"
python3 "$here/host_tree.py" sysfs --root "$here"
python3 "$here/host_tree.py" devices --dev /dev
python3 "$here/host_tree.py" driver --root /
# Where the precheck of engines on several hosts looks for it.
mkdir -p /usr/local/Ascend/driver/tools
printf '#!/bin/sh\nexec python3 "%s/hccn_tool" "$@"\n' "$here" >/usr/local/Ascend/driver/tools/hccn_tool
chmod 0755 /usr/local/Ascend/driver/tools/hccn_tool
if [ "$how" = boot ]; then
    install_boots
fi
