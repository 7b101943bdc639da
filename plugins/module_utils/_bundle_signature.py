# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""A detached signature of SHA256SUMS, by openssl or gpg.

A private key in a PEM file (RSA or EC) signs with openssl into SHA256SUMS.sig; anything else is a key that gpg knows, and signs into
SHA256SUMS.asc. Likewise, a public key in a PEM file checks the one, an OpenPGP public key the other.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult, Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import MANIFEST

OPENSSL_SIGNATURE = MANIFEST + ".sig"
GPG_SIGNATURE = MANIFEST + ".asc"
SIGNATURES = (OPENSSL_SIGNATURE, GPG_SIGNATURE)
PEM_MARK = "-----BEGIN "
PGP_MARK = "-----BEGIN PGP"
# gpg may ask its agent for a passphrase.
SIGN_SECONDS = 300
CHECK_SECONDS = 60

Find = t.Callable[[str], t.Optional[str]]


def is_pem(key: str) -> bool:
    """True for the path of a PEM file that is no OpenPGP key."""
    text = read_text(key) or ""
    return text.startswith(PEM_MARK) and not text.startswith(PGP_MARK)


def signature_name(key: str) -> str:
    """Name of the signature that a key makes or checks."""
    return OPENSSL_SIGNATURE if is_pem(key) else GPG_SIGNATURE


def sign(folder: str, key: str, run: Runner, find: Find = find_tool) -> str:
    """Sign SHA256SUMS in the folder; return the name of the signature.

    :raises NpufleetError: the tool is missing or refuses
    """
    sums, signature = os.path.join(folder, MANIFEST), os.path.join(folder, signature_name(key))
    if is_pem(key):
        argv = [_tool("openssl", find), "dgst", "-sha256", "-sign", key, "-out", signature, sums]
    else:
        argv = [_tool("gpg", find), "--batch", "--yes", "--armor", "--local-user", key, "--output", signature, "--detach-sign", sums]
    answer = run(argv, timeout=SIGN_SECONDS)
    if answer.rc != 0:
        raise NpufleetError("{0} cannot sign: {1}".format(os.path.basename(argv[0]), _said(answer)), where=key, remedy="Check the key")
    return os.path.basename(signature)


def check(folder: str, key: str, sums: str, run: Runner, find: Find = find_tool) -> None:
    """Check the signature of SHA256SUMS with a public key.

    :param key: path of a PEM file or of an OpenPGP key, binary or armoured
    :param sums: content of SHA256SUMS; what is checked is this text, and not what the file may hold a moment later
    :raises NpufleetError: no signature, a wrong one, or one of another key
    """
    if read_text(key) is None:
        raise NpufleetError(
            "the public key cannot be read", where=key, remedy="Give the path of a file on this machine (offline_bundle_trust)"
        )
    name = signature_name(key)
    signature = os.path.join(folder, name)
    if not os.path.isfile(signature):
        raise NpufleetError(
            "the bundle has no signature {0}".format(name),
            where=folder,
            remedy="Bring the whole bundle, or leave offline_bundle_trust out when it was never signed",
        )
    answer = _check(sums, signature, key, run, find)
    if answer.rc != 0:
        raise NpufleetError(
            "the signature of the bundle is not valid: {0}".format(_said(answer)),
            where=signature,
            remedy="Do not use it: it was changed, or it was signed with another key than {0}".format(key),
        )


def _check(sums: str, signature: str, key: str, run: Runner, find: Find) -> CommandResult:
    if is_pem(key):
        argv = [_tool("openssl", find), "dgst", "-sha256", "-verify", key, "-signature", signature]
        return run(argv, timeout=CHECK_SECONDS, stdin=sums)
    # A keyring of its own: what else this user trusts does not count.
    folder = tempfile.mkdtemp(prefix="npufleet-")
    try:
        keyring = key
        if (read_text(key) or "").startswith(PGP_MARK):
            keyring = folder + "/key.gpg"
            answer = run([_tool("gpg", find), "--batch", "--homedir", folder, "--output", keyring, "--dearmor", key], timeout=CHECK_SECONDS)
            if answer.rc != 0:
                return answer
        argv = [_tool("gpgv", find), "--homedir", folder, "--keyring", os.path.abspath(keyring), signature, "-"]
        return run(argv, timeout=CHECK_SECONDS, stdin=sums)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tool(name: str, find: Find) -> str:
    path = find(name)
    if path is None:
        raise NpufleetError("this machine has no {0}".format(name), where="PATH", remedy="Install it, or leave the signature out")
    return path


def _said(answer: CommandResult) -> str:
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
