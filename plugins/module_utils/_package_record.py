# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What this collection remembers of each kind of package on the host: one small file a kind.

A record makes visible what the files of a package cannot tell: that an installer was started and never finished, which firmware number belongs
to an HDK, and that a reboot is due.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._package_state import is_version, same_version, small_file

BEGUN, DONE, FAILED, REMOVED = "begun", "done", "failed", "removed"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Record(t.NamedTuple):
    """The last thing that was done with one kind.

    :param version: version asked for; of firmware that of the HDK
    :param number: version that the files of the package are expected to say; of firmware its own number
    :param action: install, upgrade, downgrade, repair or remove
    :param digest: SHA-256 of the file
    :param phase: BEGUN until the result is known, then DONE, FAILED or REMOVED; '' for none
    :param job: digest of the job that does or did it
    :param boot_id: boot during which it happened
    :param reboot: does it take effect at a reboot?
    :param attempts: how often it was started without an end
    """

    version: str = ""
    number: str = ""
    action: str = ""
    digest: str = ""
    phase: str = ""
    job: str = ""
    boot_id: str = ""
    reboot: bool = False
    attempts: int = 0


class Records:
    """The records of one host. A damaged file counts as none."""

    def __init__(self, folder: str, boot_id_file: str = BOOT_ID) -> None:
        self.folder = folder
        self.boot_id = small_file(boot_id_file).strip()

    def read(self, kind: str) -> Record:
        """Return the record of a kind; an empty one where there is none."""
        try:
            values = json.loads(read_text(self._path(kind)) or "{}")
        except (ValueError, RecursionError):
            return Record()
        if not isinstance(values, dict):
            return Record()
        known = {}
        for key, default in Record()._asdict().items():
            value = values.get(key, default)
            known[key] = value if isinstance(value, type(default)) else default
        return Record(**known)

    def read_all(self, kinds: t.Iterable[str]) -> t.Dict[str, Record]:
        """Return the record of each kind."""
        return {kind: self.read(kind) for kind in kinds}

    def write(self, kind: str, record: Record) -> Record:
        """Keep a record of this boot and return it.

        :raises OSError: the folder cannot be written to
        """
        record = record._replace(boot_id=self.boot_id)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        write_text(self._path(kind), json.dumps(record._asdict(), sort_keys=True) + "\n", 0o600)
        return record

    def npus_before(self) -> t.Optional[int]:
        """Return how many NPUs there were before driver or firmware changed; None once all of them were seen again.

        The file is written and deleted by the role ascend_driver, which knows what the PCI bus shows.
        """
        text = small_file(os.path.join(self.folder, "npus")).strip()
        return int(text) if text.isdecimal() and len(text) < 10 else None

    @contextlib.contextmanager
    def locked(self) -> t.Iterator[bool]:
        """Keep other tasks on this host from starting an installer meanwhile; False when one of them does so right now."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        with open(os.path.join(self.folder, "lock"), "w", encoding="utf-8") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def _path(self, kind: str) -> str:
        return os.path.join(self.folder, kind + ".json")


def unfinished(record: Record) -> str:
    """Say that an installer began and never came to a good end; '' otherwise."""
    if record.phase == BEGUN:
        return "an earlier {0} of {1} was interrupted".format(record.action or "run", record.version or "it")
    if record.phase == FAILED:
        return "an earlier {0} of {1} failed".format(record.action or "run", record.version or "it")
    return ""


def firmware_number(record: Record, hdk: str) -> str:
    """Return the number of the firmware that is known to belong to a version of the HDK; '' when that is not known."""
    return record.number if record.version and same_version(record.version, hdk) and is_version(record.number) else ""
