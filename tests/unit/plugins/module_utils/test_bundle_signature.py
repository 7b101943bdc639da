# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import shutil

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_signature import check, is_pem, sign, signature_name
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult, find_tool, run
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

PEM = "-----BEGIN PRIVATE KEY-----\n"
PGP = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"


class Tools:
    """Answers like openssl, gpg and gpgv; records what they were asked."""

    def __init__(self, rc=0, says="", dearmor=0):
        self.rc, self.says, self.dearmor = rc, says, dearmor
        self.calls = []

    def run(self, argv, timeout, stdin=None):
        self.calls.append(list(argv))
        self.stdin = stdin
        if "--dearmor" in argv:
            return CommandResult(list(argv), self.dearmor, "", "gpg: no valid OpenPGP data found.\n" if self.dearmor else "")
        return CommandResult(list(argv), self.rc, "", self.says)


def find(name):
    return "/bin/" + name


@pytest.fixture()
def folder(tmp_path):
    (tmp_path / "SHA256SUMS").write_text("x")
    (tmp_path / "pem").write_text(PEM)
    (tmp_path / "pgp").write_text(PGP)
    (tmp_path / "binary").write_bytes(b"\x99\x01\xff")
    for name in ("SHA256SUMS.sig", "SHA256SUMS.asc"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "key, pem, name", [("pem", True, "SHA256SUMS.sig"), ("pgp", False, "SHA256SUMS.asc"), ("none", False, "SHA256SUMS.asc")]
)
def test_kinds_of_keys(folder, key, pem, name):
    assert (is_pem(str(folder / key)), signature_name(str(folder / key))) == (pem, name)


def test_signing(folder):
    tools = Tools()
    assert sign(str(folder), str(folder / "pem"), tools.run, find) == "SHA256SUMS.sig"
    assert sign(str(folder), "0xABCD", tools.run, find) == "SHA256SUMS.asc"
    openssl, gpg = tools.calls
    assert openssl[:5] == ["/bin/openssl", "dgst", "-sha256", "-sign", str(folder / "pem")] and openssl[-1] == str(folder / "SHA256SUMS")
    assert gpg[0] == "/bin/gpg" and gpg[4:6] == ["--local-user", "0xABCD"] and "--batch" in gpg


@pytest.mark.parametrize(
    "says, words", [("secret key not available\n", "gpg cannot sign: secret key not available"), ("", "gpg cannot sign: no message")]
)
def test_a_key_that_does_not_sign(folder, says, words):
    with pytest.raises(NpufleetError, match=words):
        sign(str(folder), "0xABCD", Tools(2, says).run, find)


def test_a_pem_key_is_checked_by_openssl(folder):
    tools = Tools()
    check(str(folder), str(folder / "pem"), "x", tools.run, find)
    argv = [
        "/bin/openssl",
        "dgst",
        "-sha256",
        "-verify",
        str(folder / "pem"),
        "-signature",
        str(folder / "SHA256SUMS.sig"),
    ]
    assert (tools.calls, tools.stdin) == ([argv], "x")


def test_an_openpgp_key_is_the_whole_keyring(folder):
    tools = Tools()
    check(str(folder), str(folder / "pgp"), "x", tools.run, find)
    dearmor, verify = tools.calls
    assert dearmor[-2:] == ["--dearmor", str(folder / "pgp")]
    keyring = verify[verify.index("--keyring") + 1]
    assert verify[-2:] == [str(folder / "SHA256SUMS.asc"), "-"] and tools.stdin == "x"
    assert verify[0] == "/bin/gpgv" and keyring == dearmor[dearmor.index("--output") + 1] and not os.path.exists(os.path.dirname(keyring))
    binary = Tools()
    check(str(folder), str(folder / "binary"), "x", binary.run, find)
    assert binary.calls[0][0] == "/bin/gpgv" and str(folder / "binary") in binary.calls[0]


@pytest.mark.parametrize(
    "key, tools", [("pem", Tools(1, "Verification failure\n")), ("pgp", Tools(1, "gpgv: BAD signature\n")), ("pgp", Tools(dearmor=2))]
)
def test_a_wrong_signature_is_refused(folder, key, tools):
    with pytest.raises(NpufleetError) as caught:
        check(str(folder), str(folder / key), "x", tools.run, find)
    assert "the signature of the bundle is not valid: " in caught.value.what and "Do not use it" in caught.value.remedy


@pytest.mark.parametrize(
    "key, gone, words", [("none", None, "public key cannot be read"), ("pem", "SHA256SUMS.sig", "has no signature SHA256SUMS.sig")]
)
def test_a_key_or_a_signature_that_is_not_there(folder, key, gone, words):
    if gone:
        (folder / gone).unlink()
    tools = Tools()
    with pytest.raises(NpufleetError, match=words):
        check(str(folder), str(folder / key), "x", tools.run, find)
    assert tools.calls == []


def test_a_tool_that_is_not_there(folder):
    with pytest.raises(NpufleetError, match="no openssl"):
        sign(str(folder), str(folder / "pem"), Tools().run, lambda _name: None)


def test_openssl_itself(folder):
    """Signed, checked, and refused after a change; openssl is on every machine that runs Ansible."""
    if find_tool("openssl") is None:
        pytest.fail("this test needs openssl")
    private, public = str(folder / "private.pem"), str(folder / "public.pem")
    openssl = shutil.which("openssl")
    assert run([openssl, "genrsa", "-out", private, "2048"], timeout=60).rc == 0
    assert run([openssl, "rsa", "-in", private, "-pubout", "-out", public], timeout=60).rc == 0
    sign(str(folder), private, run)
    check(str(folder), public, "x", run)
    with pytest.raises(NpufleetError, match="not valid"):
        check(str(folder), public, "y", run)
