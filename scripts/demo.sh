#!/bin/sh
# `demo.sh up` serves the tiny DeepSeek on this machine and chats with it; `demo.sh down` removes everything that up made.
set -eu
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
export PATH
home=${NPUFLEET_HOME:-$HOME/.local/share/npufleet}

case ${1:-} in
  up)
    if [ "$(id -u)" = 0 ] && [ "${NPUFLEET_INSTALL_PREREQUISITES:-}" = 1 ]; then
      set -- -e vllm_engine_install_prerequisites=true
    else
      set --
    fi
    ansible-playbook -i inventories/local site.yml "$@"
    python scripts/chat.py "http://127.0.0.1:${NPUFLEET_PORT:-8000}/v1" "What is an NPU?"
    ;;
  down)
    if [ -x .venv/bin/ansible-playbook ]; then
      ansible-playbook -i inventories/local playbooks/remove.yml -e npufleet_remove_weights=true
    elif [ -d "$home" ]; then
      echo "demo: .venv is gone; run 'make setup' and then 'make demo-down' again" >&2
      exit 1
    fi
    for folder in "$home/models" "$home/venvs" "$home/engines" "$home"; do
      if [ -d "$folder" ]; then rmdir "$folder" 2>/dev/null || echo "demo: $folder holds something else and stays"; fi
    done
    # A .venv with the test tools belongs to `make test`.
    if ! [ -f .venv/.npufleet-dev ]; then rm -rf .venv; fi
    ;;
  *) echo "usage: $0 up|down" >&2; exit 2 ;;
esac
