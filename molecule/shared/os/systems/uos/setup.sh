#!/bin/sh
set -eu
ln -s UnionTech-release /etc/system-release
