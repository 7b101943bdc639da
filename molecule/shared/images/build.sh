#!/bin/sh
# Build a base image of the Molecule hosts and print its name.
#
#   molecule/shared/images/build.sh [debian-systemd]        build when missing, print the tag
#   molecule/shared/images/build.sh --tag [debian-systemd]  print the tag, build nothing
#
# No registry is asked: mmdebstrap makes a root file system from the packages that this machine's own apt sources offer, and
# `docker import` turns it into an image. The tag holds a hash of this script, the package list and the architecture, so an unchanged
# image is built once per Docker Engine. Root is needed for a build, not for a cached image.
set -eu

suite=bookworm
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tag_only=false
if [ "${1:-}" = '--tag' ]; then
    tag_only=true
    shift
fi
name="${1:-debian-systemd}"
list="$here/$name.packages"

say() { printf 'image %s: %s\n' "$name" "$*" >&2; }

if [ ! -f "$list" ]; then
    say "no package list $list"
    exit 2
fi
packages=$(sed -e 's/#.*//' "$list" | tr -s ' \n' ',' | sed -e 's/^,//' -e 's/,$//')
hash=$({ cat "$here/build.sh" "$list"; uname -m; } | sha256sum | cut -c1-12)
tag="npufleet-molecule/$name:$hash"

if [ "$tag_only" = true ] || docker image inspect "$tag" >/dev/null 2>&1; then
    echo "$tag"
    exit 0
fi

if ! command -v mmdebstrap >/dev/null 2>&1; then
    if [ "$(id -u)" -ne 0 ] || [ ! -e /etc/debian_version ]; then
        say 'mmdebstrap is missing. Enable with: sudo apt-get install mmdebstrap'
        exit 3
    fi
    say 'installing mmdebstrap'
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends mmdebstrap; } >&2
fi

# The mirror this machine itself uses for Debian, if any; mmdebstrap's default otherwise. Other sources (vendor repositories) stay out.
# shellcheck disable=SC2016  # apt-get expands these
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | sed -n '/-\(security\|updates\|backports\)$/!{s/ .*//p;q;}')
say "building from ${mirror:-the default mirror}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The empty machine id makes systemd give every container its own.
# shellcheck disable=SC2016  # mmdebstrap expands $1
mmdebstrap --quiet --variant=minbase --include="$packages" \
    --customize-hook=': >"$1/etc/machine-id"' \
    --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"' \
    "$suite" "$work/root.tar" ${mirror:+"$mirror"} >&2
docker import \
    -c 'ENV container=docker' -c 'CMD ["/lib/systemd/systemd"]' -c 'LABEL npufleet.molecule=image' \
    "$work/root.tar" "$tag" >/dev/null
say "built $tag"
echo "$tag"
