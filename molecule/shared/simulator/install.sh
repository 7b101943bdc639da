#!/bin/sh
# Make this machine pose as an Ascend host, from a healthy state.
#
#   install.sh PRODUCT [options of make_state.py]        for example: install.sh atlas-800i-a2 --chip 910B3
#
# For throw-away machines: it writes /usr/local/sbin/npu-smi, /dev/davinci*, /etc/ascend_install.info and /usr/local/Ascend.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
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

# The driver's installer wants this user; it also owns the device nodes.
getent group HwHiAiUser >/dev/null || groupadd --system HwHiAiUser
getent passwd HwHiAiUser >/dev/null || useradd --system --gid HwHiAiUser --shell /usr/sbin/nologin --no-create-home HwHiAiUser

rm -f /usr/local/sbin/npu-smi
printf '#!/bin/sh\nexec python3 "%s/npu_smi" "$@"\n' "$here" >/usr/local/sbin/npu-smi
chmod 0755 /usr/local/sbin/npu-smi
# Any user may call npu-smi, and every call is logged.
mkdir -p /var/log/npu-simulator
: >/var/log/npu-simulator/calls.jsonl
chmod 0666 /var/log/npu-simulator/calls.jsonl

python3 "$here/make_state.py" --product "$product" "$@"
python3 "$here/host_tree.py" sysfs --root "$here"
python3 "$here/host_tree.py" devices --dev /dev
python3 "$here/host_tree.py" driver --root /
