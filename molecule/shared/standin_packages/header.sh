#!/bin/sh
# Stand-in for one of Huawei's packages, made for tests by npufleet.ascend: nothing in here comes from Huawei.
# Shaped like a Makeself archive: this header, then the simulated installer (enginesize bytes), then the payload (filesizes bytes).
# The header of a real archive has these, whether it reads them or not.
# shellcheck disable=SC2034
{
CRCsum="0000000000"
MD5="@MD5@"
SHA="@SHA@"
label="@LABEL@"
script="./@SCRIPT@"
filesizes="@FILESIZES@"
}
enginesize="@ENGINESIZE@"
skip="@SKIP@"
umask @UMASK@
for python in python3 /usr/libexec/platform-python /usr/bin/python3; do
    command -v "$python" >/dev/null 2>&1 && break
done
offset=$(head -n "$skip" "$0" | wc -c | tr -d ' ')
work="${TMPDIR:-/tmp}/selfgz$$"
mkdir -m 0700 "$work" || { echo "Cannot create target directory $work" >&2; exit 1; }
if ! tail -c "+$((offset + 1))" "$0" | head -c "$enginesize" | tar xzf - -C "$work"; then
    rm -rf "$work"
    echo "Unable to decompress $0" >&2
    exit 1
fi
exec "$python" -B "$work/standin/main.py" "$0" "$work" "$((offset + enginesize))" "$@"
exit 1
