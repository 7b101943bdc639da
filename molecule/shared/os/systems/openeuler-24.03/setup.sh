#!/bin/sh
set -eu
ln -s openEuler-release /etc/system-release
