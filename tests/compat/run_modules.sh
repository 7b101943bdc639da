#!/bin/sh
# run_modules.sh PYTHON MINOR: run every module of the collection with the given interpreter as the target's Python.
set -eu
cd "$(dirname "$0")/../.."
python=$1
# ansible-core 2.17 is the last that manages targets with Python 3.7.
case $2 in
  3.7|3.8) bin=.venvs/core-2.17.14/bin ;;
  *) bin=.venv/bin ;;
esac
folder=$(mktemp -d /tmp/npuf-compat-XXXXXX)
trap 'rm -rf "$folder"' EXIT
.venv/bin/python molecule/shared/standin_engine/make_standin.py "$folder/venv" "$PWD/.venv/bin/python"
port=$(.venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
ANSIBLE_COLLECTIONS_PATH=$PWD/collections ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false \
  "$bin/ansible-playbook" tests/compat/modules.yml -e "ansible_python_interpreter=$python" -e "folder=$folder" -e "port=$port" > "$folder/log" 2>&1 || {
  cat "$folder/log" >&2
  exit 1
}
echo "every module runs on Python $2: $(grep -c '^ok\|^changed' "$folder/log") tasks"
