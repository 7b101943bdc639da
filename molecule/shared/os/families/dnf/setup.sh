#!/bin/sh
# Turn the Debian userland into one with dnf. Run once, while the image of the family is made.
set -eu

# Ansible and installers take a host with apt-get for a Debian. Nothing is lost: the programs lie in /usr/lib/debian-tools.
tools=/usr/lib/debian-tools
mkdir -p "$tools"
mv /usr/bin/apt /usr/bin/apt-* /usr/bin/dpkg /usr/bin/dpkg-* /usr/bin/debconf* /usr/bin/deb-systemd-* "$tools"
mv /usr/sbin/dpkg-* /usr/sbin/update-rc.d /usr/sbin/invoke-rc.d "$tools"
mv /etc/apt "$tools/etc-apt"
rm -f /etc/debian_version

ln -s dnf-3 /usr/bin/yum
ln -sf bash /usr/bin/sh
# shellcheck disable=SC2046  # words on purpose
dnf install --quiet --assumeyes $(cat /tmp/installed)
dnf clean all --quiet
rm -rf /var/log/dnf* /var/log/hawkey.log
