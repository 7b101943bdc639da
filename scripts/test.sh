#!/bin/sh
# Run parts of the tests: test.sh all | lint sanity unit functional compat build e2e molecule | recipes | hosts | groups
# "all" is everything but "recipes", which installs three versions of vLLM, "hosts", the scenarios with bare servers, which take as long again, and "groups", by hand.
# A part that cannot run here is skipped loudly; with NPUFLEET_NO_SKIP=1 (set in CI) a skipped part fails the run.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
out=$root/tests/output
mkdir -p "$out"
scripts/setup.sh dev
PATH="$root/.venv/bin:$PATH"
export PATH
collection=collections/ansible_collections/npufleet/ascend
skipped=""

say() { printf '\n== %s ==\n' "$*"; }
skip() {
  skipped="$skipped
  $1: $2"
  printf '\nSKIPPED %s: %s\n' "$1" "$2" >&2
}

# Paths of other Pythons, newest patch of each; pyenv's shims on PATH refuse to run, so its versions are looked up.
python_of() {
  roots=""
  if command -v pyenv >/dev/null 2>&1; then roots=$(pyenv root)/versions; fi
  for candidate in "$roots/$1".*/bin/python "python$1"; do
    path=$(command -v "$candidate" 2>/dev/null) || continue
    if [ "$("$path" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$1" ]; then echo "$path"; return; fi
  done
}

# A virtual environment below .venvs, made again when its list of packages or its Python changes.
environment() { # name, python, packages...
  folder=$root/.venvs/$1
  python=$2
  shift 2
  wanted="$("$python" --version) $*"
  if ! [ -f "$folder/.stamp" ] || [ "$(cat "$folder/.stamp")" != "$wanted" ]; then
    rm -rf "$folder"
    "$python" -m venv "$folder"
    if ! "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" > "$folder/pip.log" 2>&1; then
      cat "$folder/pip.log" >&2
      return 1
    fi
    printf '%s' "$wanted" > "$folder/.stamp"
  fi
}

vendored() { scripts/vendor_collections.sh .venv/bin/python -m pip; }

lint() {
  say "lint"
  vendored
  yamllint --strict .
  ruff check .
  ruff format --check .
  MYPYPATH=collections mypy "$collection/plugins/module_utils" "$collection/plugins/plugin_utils" "$collection/plugins/action" "$collection/plugins/filter"
  python scripts/generate_role_tables.py --check
  python scripts/generate_signatures_doc.py --check
  python scripts/generate_compatibility_doc.py --check
  python scripts/generate_recipes_doc.py --check
  antsibull-changelog lint
  antsibull-docs lint-collection-docs --plugin-docs .
  if command -v shellcheck >/dev/null 2>&1; then
    git ls-files '*.sh' .ci/run | xargs shellcheck
  elif [ "$(id -u)" = 0 ] && [ -n "${CI:-}" ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq && apt-get install -y -qq shellcheck >/dev/null
    git ls-files '*.sh' .ci/run | xargs shellcheck
  else
    skip shellcheck "run as root: apt-get install -y shellcheck"
  fi
  ansible-lint --offline
}

sanity() {
  say "sanity"
  cache=${HOME}/.ansible/test/cache
  mkdir -p "$cache"
  # ansible-test downloads get-pip.py from a host of its own; a file of that name in its cache is used instead.
  for version in 24_2 25_2; do
    [ -s "$cache/get_pip_$version.py" ] || cp scripts/get_pip_standin.py "$cache/get_pip_$version.py"
  done
  others=""
  for minor in 3.9 3.10 3.11 3.12 3.13; do
    path=$(python_of $minor)
    if [ -n "$path" ]; then others="$(dirname "$path"):$others"; fi
  done
  minor=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  PATH="$root/.venv/bin:$others$PATH" ANSIBLE_TEST_CONTENT_ROOT="$root/$collection" ansible-test sanity --python "$minor" > "$out/sanity.log" 2>&1 || {
    grep -E '^(ERROR|FATAL|WARNING: Unable)' "$out/sanity.log" >&2 || tail -30 "$out/sanity.log" >&2
    exit 1
  }
  grep -c '^Running sanity test' "$out/sanity.log" | sed 's/$/ runs of sanity tests passed/'
}

unit() {
  say "unit"
  python -m pytest tests/unit -q -n auto --dist loadfile --cov --cov-config=pyproject.toml --cov-report=term:skip-covered
}

functional() {
  say "functional"
  vendored
  python -m pytest tests/functional -q
}

# The oldest and the middle ansible-core, each with the newest Python it takes from 3.10 on.
cores() {
  for pair in 2.17.14:3.10,3.11,3.12 2.19.14:3.11,3.12,3.13; do
    core=${pair%%:*}
    for minor in $(echo "${pair#*:}" | tr , ' '); do
      path=$(python_of "$minor")
      if [ -n "$path" ]; then echo "$core $path"; break; fi
    done
  done
}

compat() {
  say "compat: units on older ansible-core"
  cores | while read -r core path; do
    echo "ansible-core $core on $("$path" --version)"
    environment "core-$core" "$path" "ansible-core==$core" "pytest<9" pytest-xdist hypothesis pytest-testinfra supervisor==4.3.0
    "$root/.venvs/core-$core/bin/python" -m pytest tests/unit -q -n auto --dist loadfile -p no:cacheprovider --deselect tests/unit/test_docs.py
  done
  [ "$(cores | wc -l)" = 2 ] || skip compat "ansible-core 2.17 needs Python 3.10 to 3.12, and 2.19 needs 3.11 to 3.13"
  say "compat: target code on Python 3.7 to 3.13"
  for minor in 3.7 3.9 3.11 3.13; do
    path=$(python_of $minor)
    if [ -z "$path" ]; then skip "target-$minor" "install Python $minor (pyenv install $minor)"; continue; fi
    environment "target-$minor" "$path" "pytest<9" pytest-xdist
    "$root/.venvs/target-$minor/bin/python" -m pytest tests/unit/plugins/module_utils -q -n auto --dist loadfile --ignore-glob='*_fuzz.py'
    tests/compat/run_modules.sh "$root/.venvs/target-$minor/bin/python" "$minor"
  done
}

build() {
  say "build"
  tests/build/run.sh
}

e2e() {
  say "e2e"
  if docker_answers; then
    # The demo's test fails after a silent minute, which this image alone can take on a new machine.
    molecule/shared/os/build.sh debian-systemd-cpp
    NPUFLEET_E2E_SYSTEMD=1
    export NPUFLEET_E2E_SYSTEMD
  fi
  python -m pytest tests/e2e/test_demo.py -q -s
}

# The command line of every recipe, by the real argument parser of exactly the vLLM that it names.
recipes() {
  say "recipes"
  for minor in 3.11 3.12 3.13; do
    path=$(python_of $minor)
    if [ -n "$path" ]; then break; fi
  done
  if [ -z "$path" ]; then skip recipes "vLLM needs Python 3.11 to 3.13"; return; fi
  NPUFLEET_PARSER_PYTHON=$path scripts/recipe_parsers.sh .cache/recipe-parsers
  python scripts/check_recipes.py .cache/recipe-parsers
  python scripts/generate_recipe_options.py .cache/recipe-parsers --check
}

# Real engines in containers and on "several hosts" of this machine, which compile for minutes; the same tasks run with stand-in engines in "functional".
groups() {
  say "groups"
  docker_answers || return 0
  vendored
  NPUFLEET_E2E_SYSTEMD=1 python -m pytest tests/e2e/test_engine_group.py tests/e2e/test_group_upgrade.py tests/e2e/test_engine_container.py tests/e2e/test_engine_ray.py -q -s
}

docker_answers() {
  vendored
  if scripts/docker_engine.sh ensure; then return 0; fi
  skip "the scenarios in containers" "no Docker Engine answers; as root on Debian: scripts/docker_engine.sh ensure --install"
  return 1
}

# label, folder of the commands, scenario; the slow ones first, and runs of one scenario apart
newest=$root/.venv/bin
oldest=$root/.venvs/molecule-2.17.14/bin
middle=$root/.venvs/molecule-2.19.14/bin
engine_scenarios() {
  echo "newest $newest default"
  echo "newest $newest gateway"
  echo "newest $newest engine_npu"
  echo "newest $newest engine"
  [ ! -d "$oldest" ] || echo "2.17.14 $oldest default"
  [ ! -d "$middle" ] || echo "2.19.14 $middle default"
}
host_scenarios() {
  # Kylin has Python 3.7, which 2.17 is the last to manage.
  if [ -d "$oldest" ]; then echo "2.17.14 $oldest host_prepare"; fi
  for scenario in host_upgrade remove air_gap aarch64 reboot container_runtime site; do echo "newest $newest $scenario"; done
}

# Environments of the older ansible-core, then scenarios, two at a time: a scenario waits for half of its time.
molecule_run() { # images, lister of scenarios
  docker_answers || return 0
  for image in $1; do molecule/shared/os/build.sh "$image" > /dev/null; done
  cores | while read -r core path; do
    case $core in
      2.17*) tools="molecule==26.6.0 ansible-compat==26.6.0" ;;
      *) tools="molecule==26.10.0" ;;
    esac
    # shellcheck disable=SC2086  # words on purpose
    environment "molecule-$core" "$path" "ansible-core==$core" $tools pytest-testinfra==10.2.2
  done
  "$2" | xargs -P 2 -L 1 scripts/molecule_scenario.sh
}

molecule_all() {
  say "molecule: engines"
  molecule_run debian-systemd engine_scenarios
}

hosts() {
  say "molecule: servers"
  [ "$(cores | wc -l)" = 2 ] || skip host_prepare "ansible-core 2.17 needs Python 3.10 to 3.12"
  molecule_run "debian-systemd debian-systemd-rsync ubuntu-22.04 ubuntu-22.04-aarch64 openeuler-22.03 openeuler-24.03 uos kylin-v10" host_scenarios
}

[ $# -gt 0 ] || set -- all
for part in "$@"; do
  case $part in
    all) lint; sanity; unit; functional; compat; build; e2e; molecule_all ;;
    lint|sanity|unit|functional|compat|build|e2e|recipes|hosts|groups) "$part" ;;
    molecule) molecule_all ;;
    *) echo "usage: $0 all|lint|sanity|unit|functional|compat|build|e2e|molecule|recipes|hosts|groups" >&2; exit 2 ;;
  esac
done

if [ -n "$skipped" ]; then
  printf '\nNOT TESTED HERE:%s\n' "$skipped" >&2
  if [ "${NPUFLEET_NO_SKIP:-}" = 1 ]; then exit 1; fi
fi
say "passed: $*"
