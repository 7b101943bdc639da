#!/bin/sh
set -eu
ln -s kylin-release /etc/system-release

# Python 3.7 is the host's python3. Debian's, which python3-dnf belongs to, moves to where RHEL 8 keeps the one of its own tools; there
# Ansible's dnf module finds it, and no search by name does.
mv /usr/bin/python3.11 /usr/libexec/platform-python3.11
ln -s platform-python3.11 /usr/libexec/platform-python
ln -sf python3.7 /usr/bin/python3
sed -i '1s,^#!.*,#!/usr/libexec/platform-python,' /usr/bin/dnf-3
ldconfig
python3 -c 'import sys, ssl, sqlite3, lzma, bz2, ctypes; assert sys.version_info[:2] == (3, 7) and sys.prefix == "/usr", (sys.version, sys.prefix)'
