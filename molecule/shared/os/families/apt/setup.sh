#!/bin/sh
# What an installed Ubuntu has and the Debian userland lacks. Run once, while the image of the family is made; no network is used.
set -eu
apt_get() { apt-get -o Dir::Etc::SourceList=/dev/null -qq "$@"; }
apt_get update
DEBIAN_FRONTEND=noninteractive apt_get install --yes --no-install-recommends bsdextrautils iptables udev xz-utils >/dev/null
apt-get clean
# The lists of the mirror are not here yet: old enough for Ansible's cache_valid_time to fetch them.
touch -d '2000-01-01' /var/lib/apt/lists
