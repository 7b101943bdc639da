#!/bin/sh
# Make .venv with what this checkout needs: `setup.sh runtime` to run playbooks, `setup.sh dev` to run the tests too.
# Needs Python 3.10 or newer with venv. Takes the newest that works; PYTHON=/path/to/python decides otherwise.
set -eu
cd "$(dirname "$0")/.."
kind=${1:-runtime}
case $kind in
  runtime) files="requirements.txt" ;;
  dev) files="requirements.txt requirements-dev.txt" ;;
  *) echo "usage: $0 runtime|dev" >&2; exit 2 ;;
esac

works() { "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; }

find_python() {
  if [ -n "${PYTHON:-}" ]; then echo "$PYTHON"; return; fi
  roots=""
  if command -v pyenv >/dev/null 2>&1; then roots=$(pyenv root)/versions; fi
  for minor in 13 12 14 11 10; do
    for candidate in "python3.$minor" "$roots"/3."$minor".*/bin/python; do
      path=$(command -v "$candidate" 2>/dev/null) || continue
      if works "$path"; then echo "$path"; return; fi
    done
  done
  if works python3; then command -v python3; fi
}

need() { # what is missing, package for apt, package for dnf
  if command -v apt-get >/dev/null 2>&1; then install="apt-get install -y $2"; else install="dnf install -y $3"; fi
  if [ "$(id -u)" = 0 ] && [ "${NPUFLEET_INSTALL_PREREQUISITES:-}" = 1 ]; then
    echo "setup: $1 is missing; running: $install"
    sh -c "$install"
    return
  fi
  echo "setup: $1 is missing. Run as root: $install" >&2
  echo "setup: or run this as root with NPUFLEET_INSTALL_PREREQUISITES=1" >&2
  exit 1
}

python=$(find_python)
if [ -z "$python" ]; then need "Python 3.10 or newer" "python3 python3-venv" "python3.11"; python=$(find_python); fi
if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then need "Python's venv module" "python3-venv" "python3"; fi
if ! [ -e collections/ansible_collections/npufleet/ascend/galaxy.yml ]; then
  echo "setup: collections/ansible_collections/npufleet/ascend is no working link; get the project with git clone, not as a zip" >&2
  exit 1
fi

# shellcheck disable=SC2086  # the list of files is words on purpose
wanted=$("$python" -c 'import sys; print(sys.version)'; cat $files)
stamp=.venv/.npufleet-$kind
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then exit 0; fi
echo "setup: $("$python" --version) ($python), $kind environment in .venv"
if [ -x .venv/bin/python ] && [ "$(.venv/bin/python -c 'import sys; print(sys.version)')" != "$("$python" -c 'import sys; print(sys.version)')" ]; then
  rm -rf .venv
fi
[ -x .venv/bin/python ] || "$python" -m venv .venv
for file in $files; do
  if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check -c requirements-constraints.txt -r "$file" > .venv/pip.log 2>&1; then
    cat .venv/pip.log >&2
    echo "setup: pip could not install $file. Is a package index reachable? pip's configuration and PIP_INDEX_URL are honoured." >&2
    exit 1
  fi
done
printf '%s\n' "$wanted" > "$stamp"
