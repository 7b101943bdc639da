# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The work of the module bundle_manifest: write the manifest of a bundle, or check a bundle against it."""

from __future__ import annotations

import contextlib
import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils import _bundle_signature as signature
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_hashes import Hasher, file_mark
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_manifest import (
    NAME,
    STATE_FOLDER,
    make_manifest,
    manifest_text,
    parse_bundle_manifest,
    sums_text,
    walk,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_records import file_size, read_json, work_of
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import MANIFEST as SUMS
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import parse_manifest, sha256

MEMORY = "hashes.json"
SIGNED = STATE_FOLDER + "/signed.json"
SHOWN = 10

Mapping = t.Mapping[str, t.Any]
Result = t.Dict[str, t.Any]


class ManifestTask:
    """One call of bundle_manifest."""

    def __init__(self, params: Mapping, run: Runner, clock: Clock, find: signature.Find = find_tool) -> None:
        self._params = params
        self._run = run
        self._find = find
        self._clock = clock
        self._folder: str = params["path"].rstrip("/")
        if not self._folder.startswith("/"):
            raise NpufleetError("{0} is no absolute path".format(params["path"]), where="path", remedy="Give the whole path of the folder")
        # Not in the bundle: whoever had that in hand could have written there what was to be found.
        memory = os.path.join(work_of(params["work_folder"], self._folder), MEMORY)
        self._hasher = Hasher(self._folder, memory, clock.now, params["rehash"])

    def _at(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def execute(self, check_mode: bool) -> Result:
        """Write or check.

        :raises NpufleetError: with one message, also when a file is missing or differs
        """
        if self._params["state"] == "present":
            return self._write(check_mode)
        return self._check_bundle()

    def _write(self, check_mode: bool) -> Result:
        if not os.path.isdir(self._folder):
            raise NpufleetError("there is no such folder", where=self._folder, remedy="Fill it first")
        names = walk(self._folder)
        digests = self._hasher.digests(names, self._params["wait_slice"])
        if digests is None:
            return self._pending()
        sizes = {name: file_size(self._at(name)) or 0 for name in names}
        params = self._params
        manifest = make_manifest(digests, sizes, params["sources"], params["parts"], params["packages"], self._old_manifest())
        text = manifest_text(manifest)
        sums = sums_text(manifest, text)
        before = read_text(self._at(SUMS)) or ""
        changed = before != sums or read_text(self._at(NAME)) != text
        if changed and not check_mode:
            # Signatures of what it was would only look like forgeries.
            for old in signature.SIGNATURES:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._at(old))
            write_text(self._at(NAME), text)
            write_text(self._at(SUMS), sums)
        signs = self._needs_signature(sums)
        if signs and not check_mode:
            self._sign(sums)
        made = signature.signature_name(self._params["sign_with"]) if self._params["sign_with"] else ""
        return self._result(changed or signs, names, manifest["bytes"], before, sums, signature=made)

    def _old_manifest(self) -> t.Optional[t.Dict[str, t.Any]]:
        """The manifest that is there; None where it is of no use."""
        try:
            return parse_bundle_manifest(read_text(self._at(NAME)) or "", self._at(NAME))
        except NpufleetError:
            return None

    def _needs_signature(self, sums: str) -> bool:
        key = self._params["sign_with"]
        if not key:
            return False
        done = read_json(self._at(SIGNED))
        return done != self._signed(sums) or not os.path.isfile(self._at(signature.signature_name(key)))

    def _signed(self, sums: str) -> t.Dict[str, t.Any]:
        """What the signature was made of. A key in a file may become another one."""
        key = self._params["sign_with"]
        return {"key": key, "mark": file_mark(key), "sha256": sha256(sums.encode("utf-8"))}

    def _sign(self, sums: str) -> None:
        signature.sign(self._folder, self._params["sign_with"], self._run, self._find)
        os.makedirs(self._at(STATE_FOLDER), exist_ok=True)
        write_text(self._at(SIGNED), json.dumps(self._signed(sums)))

    def _check_bundle(self) -> Result:
        sums = read_text(self._at(SUMS))
        if sums is None:
            raise NpufleetError(
                "there is no {0}".format(SUMS), where=self._folder, remedy="Give the folder that bundle.yml filled, as a whole"
            )
        if self._params["trust"]:
            signature.check(self._folder, self._params["trust"], sums, self._run, self._find)
        wanted = parse_manifest(sums, self._at(SUMS))
        manifest = self._read_manifest(wanted)
        digests = self._hasher.digests(sorted(set(wanted) - {NAME}), self._params["wait_slice"])
        if digests is None:
            return self._pending()
        wrong = [name for name in sorted(digests) if digests[name] != wanted[name]]
        if wrong:
            raise self._damaged(wrong, wanted)
        checked = "valid" if self._params["trust"] else "not checked"
        size = sum(row["size"] for row in manifest["files"].values())
        return self._result(False, sorted(wanted), size, "", "", signature=checked, manifest=manifest)

    def _read_manifest(self, wanted: t.Mapping[str, str]) -> t.Dict[str, t.Any]:
        """Return the manifest; the text that is compared is the text that is read."""
        path = self._at(NAME)
        text = read_text(path)
        if text is None or wanted.get(NAME) != sha256(text.encode("utf-8")):
            raise self._damaged([NAME], wanted)
        manifest = parse_bundle_manifest(text, path)
        unlisted = sorted(name for name, row in manifest["files"].items() if wanted.get(name) != row["sha256"])
        if unlisted:
            raise NpufleetError(
                "{0} does not list {1} as {2} does".format(SUMS, some(unlisted), NAME),
                where=self._folder,
                remedy="Bring the bundle again, as a whole",
            )
        return manifest

    def _damaged(self, wrong: t.List[str], wanted: t.Sized) -> NpufleetError:
        return NpufleetError(
            "{0} of {1} files are missing or not what the manifest says: {2}".format(len(wrong), len(wanted), some(wrong)),
            where=self._folder,
            remedy="Bring them again; sha256sum -c {0} checks the folder, too".format(SUMS),
        )

    def _pending(self) -> Result:
        return dict(self._result(False, [], 0, "", ""), pending=True, progress=self._hasher.progress)

    def _result(self, changed: bool, names: t.Sequence[str], size: int, before: str, after: str, **more: t.Any) -> Result:
        result = {
            "changed": changed,
            "files": len(names),
            "bytes": size,
            "signature": "",
            "manifest": {},
            "diff": {"before": before, "after": after},
            "pending": False,
            "progress": "",
            "seconds": 0.0,
        }
        return dict(result, **more)


def some(names: t.Sequence[str]) -> str:
    """The first names, and how many there are more."""
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (" and {0} more".format(rest) if rest > 0 else "")
