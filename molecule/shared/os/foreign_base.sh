#!/bin/sh
# ../images/build.sh debian-systemd for another architecture than the machine's: the same packages, set up by emulated programs.
#
#   molecule/shared/os/foreign_base.sh arm64             see to the emulation, build when missing, print the tag
#   molecule/shared/os/foreign_base.sh --tag arm64       print the tag
#   molecule/shared/os/foreign_base.sh --emulate arm64   see to the emulation, which a reboot ends; a cached image needs it, too
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
list="$here/../images/debian-systemd.packages"
action=build
case "$1" in --*) action=${1#--} && shift ;; esac
architecture=$1
case "$architecture" in
    arm64) program=aarch64 ;;
    *)
        echo "foreign_base: only arm64 was tried, not $architecture" >&2
        exit 2
        ;;
esac
tag="npufleet-molecule/debian-systemd-$architecture:$(cat "$here/foreign_base.sh" "$list" | sha256sum | cut -c1-12)"

say() { printf 'image debian-systemd-%s: %s\n' "$architecture" "$*" >&2; }

install_missing() { # command, Debian package
    command -v "$1" >/dev/null 2>&1 && return
    if [ "$(id -u)" -ne 0 ] || [ ! -e /etc/debian_version ]; then
        say "$1 is missing. Enable with: sudo apt-get install $2"
        exit 3
    fi
    say "installing $2"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$2"; } >&2
}

# The kernel has to know an interpreter for the programs; with the flag F it opens it at once, and containers need not contain it.
emulate() {
    register=/proc/sys/fs/binfmt_misc
    if grep -q '^flags:.*F' "$register/qemu-$program" 2>/dev/null; then return; fi
    install_missing "qemu-$program-static" qemu-user-static
    if [ "$(id -u)" -ne 0 ]; then
        say "no emulation of $program. Enable as root: $here/foreign_base.sh --emulate $architecture"
        exit 3
    fi
    [ -e "$register/register" ] || mount -t binfmt_misc binfmt_misc "$register"
    [ -e "$register/qemu-$program" ] || cat "/usr/lib/binfmt.d/qemu-$program.conf" >"$register/register"
}

build() {
    install_missing mmdebstrap mmdebstrap
    packages=$(sed -e 's/#.*//' "$list" | tr -s ' \n' ',' | sed -e 's/^,//' -e 's/,$//')
    # shellcheck disable=SC2016  # apt-get expands these
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | sed -n '/-\(security\|updates\|backports\)$/!{s/ .*//p;q;}')
    say 'building under emulation, which takes some minutes'
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # shellcheck disable=SC2016  # mmdebstrap expands $1
    mmdebstrap --quiet --variant=minbase --skip=check/qemu --architectures="$architecture" --include="$packages" \
        --customize-hook=': >"$1/etc/machine-id"' \
        --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"' \
        bookworm "$work/root.tar" ${mirror:+"$mirror"} >&2
    docker import -c 'ENV container=docker' -c 'CMD ["/lib/systemd/systemd"]' -c 'LABEL npufleet.molecule=image' "$work/root.tar" "$tag" >/dev/null
    say "built $tag"
}

case "$action" in
    tag) echo "$tag" ;;
    emulate) emulate ;;
    build)
        emulate
        docker image inspect "$tag" >/dev/null 2>&1 || build
        echo "$tag"
        ;;
    *)
        sed -n '2,/^set/{/^#/p;}' "$0" | sed 's/^# \{0,1\}//' >&2
        exit 2
        ;;
esac
