# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The self-extracting file and the zip around it: same input, same bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import typing as t
import zipfile

from standin_build import names

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENGINE = os.path.join(HERE, "standin")
# The earliest time a zip can hold.
ZIP_TIME = (1980, 1, 1, 0, 0, 0)

Files = t.Dict[str, t.Tuple[bytes, int]]


def packed(files: Files) -> bytes:
    """Return a tar.gz of the files, by name; the value is content and mode."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            content, mode = files[name]
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), mode, 0
            archive.addfile(entry, io.BytesIO(content))
    return _gzip(plain.getvalue())


def _gzip(content: bytes) -> bytes:
    target = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as stream:
        stream.write(content)
    return target.getvalue()


def filler(seed: str, size: int) -> bytes:
    """Return so many bytes that no compression shrinks, always the same for a seed."""
    return hashlib.shake_256(seed.encode()).digest(size) if size else b""


def payload(kind: str, version: str, chip: str, arch: str, size: int) -> bytes:
    """Return the part of the file that the sums in its header are about."""
    name = names.run_name(kind, version, chip, arch)
    return packed(
        {
            "./version.info": ("Version={0}\n".format(version).encode(), 0o444),
            "./script/install.sh": (b"#!/bin/sh\n# The simulated installer is not part of the payload.\n", 0o755),
            "./payload.bin": (filler(name, size), 0o444),
        }
    )


def engine(manifest: t.Dict[str, t.Any]) -> bytes:
    """Return the simulated installer with the description of its package."""
    files: Files = {"standin/manifest.json": ((json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode(), 0o644)}
    for name in sorted(os.listdir(ENGINE)):
        if name.endswith(".py"):
            with open(os.path.join(ENGINE, name), "rb") as stream:
                files["standin/" + name] = (stream.read(), 0o644)
    return packed(files)


def describe(kind: str, version: str, chip: str, arch: str, body: bytes, hdk: str = "") -> t.Dict[str, t.Any]:
    """Return what the simulated installer knows of its package.

    :param hdk: HDK release of a driver or firmware package
    """
    return {
        "kind": kind,
        "version": version,
        "chip": chip,
        "arch": arch,
        "file": names.run_name(kind, version, chip, arch),
        "label": names.LABELS.get(kind, "ASCEND_RUN_PACKAGE"),
        "payload": {"size": len(body), "sha256": hashlib.sha256(body).hexdigest(), "md5": hashlib.md5(body).hexdigest()},
        "pci": list(names.PCI_DEVICES[chip]),
        "hdk": hdk or version,
        "flash_version": names.firmware_version(hdk or version),
    }


def run_file(manifest: t.Dict[str, t.Any], body: bytes, corrupt: bool = False) -> bytes:
    """Return the whole self-extracting file.

    :param manifest: of ``describe``
    :param corrupt: change one byte of the payload, so that the sums do not fit
    """
    installer = engine(manifest)
    if corrupt:
        middle = len(body) // 2
        body = body[:middle] + bytes([body[middle] ^ 0xFF]) + body[middle + 1 :]
    return _header(manifest, len(installer)) + installer + body


def _header(manifest: t.Dict[str, t.Any], engine_size: int) -> bytes:
    with open(os.path.join(HERE, "header.sh"), encoding="utf-8") as stream:
        text = stream.read()
    is_runtime = manifest["kind"] == "docker_runtime"
    values = {
        "MD5": manifest["payload"]["md5"],
        "SHA": manifest["payload"]["sha256"],
        "LABEL": manifest["label"],
        "SCRIPT": "run_main.sh" if is_runtime else "install.sh",
        "FILESIZES": manifest["payload"]["size"],
        "ENGINESIZE": engine_size,
        "SKIP": text.count("\n"),
        "UMASK": "027" if is_runtime else "022",
    }
    for key, value in values.items():
        text = text.replace("@{0}@".format(key), str(value))
    return text.encode()


def zip_file(files: t.Dict[str, bytes]) -> bytes:
    """Return a zip of files with the signature files that lie beside each."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            for suffix, content in (("", files[name]), (".cms", b"stand-in signature\n"), (".crl", b"stand-in revocation list\n")):
                entry = zipfile.ZipInfo(name + suffix, ZIP_TIME)
                entry.create_system = 3
                entry.external_attr = 0o100644 << 16
                archive.writestr(entry, content)
    return target.getvalue()
