#!/bin/sh
# Put the collections that tests and playbooks use beside ours, without Ansible Galaxy.
#
#   scripts/vendor_collections.sh PIP...      for example: scripts/vendor_collections.sh .venv/bin/python -m pip
#
# They are a slice (3 MB) of the `ansible` package on PyPI (50 MB), which pip downloads once into .cache/. The folder
# collections/ansible_collections/ is ignored by git except for the link to this checkout, and Ansible finds it by itself.
# A stamp with the version makes a second run instant. NPUFLEET_ANSIBLE_WHEEL names a wheel that is already there.
set -eu

# Its community.docker runs on ansible-core 2.17 to 2.21.
version=14.5.0
slices='community/docker community/library_inventory_filtering_v1 ansible/posix'

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
target="$here/collections/ansible_collections"
stamp="$target/.npufleet-vendored"
cache="$here/.cache/wheels"
content="ansible $version: $slices"

if [ "$#" -eq 0 ]; then
    sed -n '2,/^set/{/^#/p;}' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
fi
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$content" ]; then
    exit 0
fi

wheel="${NPUFLEET_ANSIBLE_WHEEL:-$cache/ansible-$version-py3-none-any.whl}"
if [ ! -f "$wheel" ]; then
    echo "vendor_collections: downloading ansible $version" >&2
    mkdir -p "$cache"
    # The wheel is pure Python. Its own minimum (3.12) concerns ansible-core, which is not taken from it.
    "$@" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.13 --platform any --dest "$cache" "ansible==$version"
fi

python3 - "$wheel" "$here/collections" "$slices" <<'PYTHON'
import pathlib
import shutil
import sys
import zipfile

wheel, target, slices = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3].split()
for name in slices:
    shutil.rmtree(target / "ansible_collections" / name, ignore_errors=True)
with zipfile.ZipFile(wheel) as archive:
    prefixes = tuple("ansible_collections/{0}/".format(name) for name in slices)
    members = [member for member in archive.namelist() if member.startswith(prefixes)]
    for name, prefix in zip(slices, prefixes):
        if not any(member.startswith(prefix) for member in members):
            sys.exit("vendor_collections: {0} has no {1}".format(wheel, name))
    archive.extractall(target, members)
PYTHON
printf '%s\n' "$content" >"$stamp"
echo "vendor_collections: $content" >&2
