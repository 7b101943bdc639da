#!/bin/sh
# Build the image of a Molecule host and print its name.
#
#   molecule/shared/os/build.sh NAME          build what is missing, print the tag
#   molecule/shared/os/build.sh --tag NAME    print the tag, build nothing
#   molecule/shared/os/build.sh --list        print the names
#
# NAME is a folder of systems/, or a package list in ../images, which is left to ../images/build.sh. An image has three layers, each with
# a hash of what it is made of in its tag, so that what did not change is built once per Docker Engine:
#   base      Debian userland with systemd, by mmdebstrap
#   family    with apt or dnf, and the package repository; shared by the systems of a family
#   system    poses as one distribution
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
images="$here/../images"
kernel=$(uname -r)

usage() {
    sed -n '2,/^set/{/^#/p;}' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
}
say() { printf 'image %s: %s\n' "$name" "$*" >&2; }

tag_only=false
case "${1:-}" in
    --list)
        { cd "$here/systems" && ls -d -- */ && cd "$images" && ls -- *.packages; } | sed -e 's,/$,,' -e 's,\.packages$,,'
        exit 0
        ;;
    --tag) tag_only=true && shift ;;
    -*) usage ;;
esac
[ $# -eq 1 ] || usage
name=$1

if [ ! -f "$here/systems/$name/system.conf" ]; then
    if [ "$tag_only" = true ]; then exec "$images/build.sh" --tag "$name"; fi
    exec "$images/build.sh" "$name"
fi

family='' architecture=native like='' python=''
# shellcheck source=/dev/null
. "$here/systems/$name/system.conf"
case "$architecture:$(uname -m)" in arm64:aarch64) architecture=native ;; esac

built() { docker image inspect "$1" >/dev/null 2>&1; }

digest() { # stdin, names and contents of the files below the paths, relative to this folder
    { cat && cd "$here" && find "$@" -type f ! -name '*.pyc' | LC_ALL=C sort -u | xargs sha256sum; } | sha256sum | cut -c1-12
}

# A Python MAJOR.MINOR of this machine; pyenv's shims on PATH refuse to run, so its versions are looked up.
python_of() {
    roots=''
    if command -v pyenv >/dev/null 2>&1; then roots=$(pyenv root)/versions; fi
    for candidate in "$roots/$1".*/bin/python "python$1"; do
        path=$(command -v "$candidate" 2>/dev/null) || continue
        if [ "$("$path" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$1" ]; then
            echo "$path"
            return
        fi
    done
    say "no Python $1 on this machine, and the system has it as its python3. Enable with: pyenv install $1"
    exit 3
}

# Made inside the base image, so that architecture and libraries fit. The network is that of the machine, for its mirror.
make_repository() {
    case "$family" in dnf) tool=createrepo-c ;; *) tool=apt-utils ;; esac
    say "making the package repository ($family)"
    # shellcheck disable=SC2016  # the shell in the container expands these
    docker run --rm --network host --volume "$here:/source:ro" --volume "$1:/output" --env PYTHONDONTWRITEBYTECODE=1 "$base" sh -euc '
        apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$1"
        python3 /source/make_repository.py --format "$2" --kernel "$3" --output /output
    ' sh "$tool" "$family" "$kernel" >"$work/repository.log" 2>&1 || { cat "$work/repository.log" >&2 && exit 1; }
}

docker_build() { # Dockerfile, base, tag, context
    chmod -R u+rwX,go+rX,go-w "$4"
    docker build --quiet --force-rm --file "$1" --build-arg BASE="$2" --label npufleet.molecule=image --tag "$3" "$4" >"$work/build.log" 2>&1 || {
        cat "$work/build.log" >&2
        exit 1
    }
    say "built $3"
}

build_family() {
    case "$family:$architecture" in
        dnf:native) "$images/build.sh" debian-dnf >/dev/null ;;
        apt:native) "$images/build.sh" debian-systemd >/dev/null ;;
        *) "$here/foreign_base.sh" "$architecture" >/dev/null ;;
    esac
    context="$work/family"
    mkdir -p "$context/packages"
    cp -a "$here/families/$family/root" "$here/families/$family/setup.sh" "$context"
    make_repository "$context/packages"
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/make_repository.py" --list-installed --kernel "$kernel" >"$context/installed"
    docker_build "$here/families/Dockerfile" "$base" "$family_tag" "$context"
}

# The interpreter and its library at the place of a distribution's own; what pip installed for this machine, tests and caches stay here.
copy_python() { # root
    prefix=$("$interpreter" -c 'import sys; print(sys.base_prefix)')
    if [ ! -d "$prefix/lib/python$python/site-packages/pip" ]; then
        say "$interpreter has no pip in $prefix/lib/python$python/site-packages; a Python of pyenv has. Enable with: pyenv install $python"
        exit 3
    fi
    mkdir -p "$1/usr/bin" "$1/usr/lib"
    cp "$prefix/bin/python$python" "$1/usr/bin/"
    find "$prefix/lib" -maxdepth 1 -name 'libpython3*.so*' -exec cp -a {} "$1/usr/lib/" ';'
    tar -C "$prefix/lib" --exclude=__pycache__ --exclude='*.a' --exclude='*.pth' --exclude=test --exclude=tests --exclude=idlelib --exclude=tkinter \
        --exclude='site-packages/*' -c "python$python" | tar -C "$1/usr/lib" -x
    for package in pip setuptools pkg_resources; do
        cp -a "$prefix/lib/python$python/site-packages/$package" "$1/usr/lib/python$python/site-packages/"
    done
}

build_system() {
    context="$work/system"
    mkdir -p "$context"
    cp -a "$here/systems/${like:-$name}/root" "$here/systems/${like:-$name}/setup.sh" "$context"
    if [ -n "$like" ]; then cp -a "$here/systems/$name/root" "$context"; fi
    if [ -n "$python" ]; then copy_python "$context/root"; fi
    docker_build "$here/systems/Dockerfile" "$family_tag" "$tag" "$context"
}

case "$family:$architecture" in
    dnf:native) base=$("$images/build.sh" --tag debian-dnf) suffix='' ;;
    apt:native) base=$("$images/build.sh" --tag debian-systemd) suffix='' ;;
    *) base=$("$here/foreign_base.sh" --tag "$architecture") suffix="-$architecture" ;;
esac
interpreter='' interpreter_version=''
if [ -n "$python" ]; then
    interpreter=$(python_of "$python")
    interpreter_version=$("$interpreter" --version)
fi
family_hash=$(echo "$base $kernel $family" | digest build.sh make_repository.py packages families/Dockerfile "families/$family")
family_tag="npufleet-molecule/$family-family$suffix:$family_hash"
tag="npufleet-molecule/$name:$(echo "$family_tag $interpreter_version" | digest systems/Dockerfile "systems/$name" "systems/${like:-$name}")"

if [ "$tag_only" = true ]; then
    echo "$tag"
    exit 0
fi
if [ "$architecture" != native ]; then "$here/foreign_base.sh" --emulate "$architecture"; fi
if ! built "$tag"; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    built "$family_tag" || build_family
    build_system
fi
echo "$tag"
