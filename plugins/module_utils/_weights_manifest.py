# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What lies in a folder of weights: names and sizes of all files, and the digests of the small ones."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import file_sha256

Row = t.Dict[str, t.Any]

# config.json, the index, tokenizer and quantization description of a DeepSeek of 671 billion parameters are below; a shard is not.
SMALL_BYTES = 64 * 1024**2
# A model has hundreds of files. More is a folder that holds something else, such as a whole disk.
MOST_FILES = 20000


def manifest(folder: str, hash_all: bool = False) -> t.Optional[t.Dict[str, Row]]:
    """Return ``size`` and ``sha256`` (None: not read) by the name below the folder; None where there is no such folder.

    Hidden files and folders are left out. Links to files are followed, as in a snapshot of the Hugging Face cache.

    :param hash_all: read every file, however large
    :raises NpufleetError: a file cannot be read, or there are too many
    """
    if not os.path.isdir(folder):
        return None
    files: t.Dict[str, Row] = {}
    try:
        for path in _paths(folder):
            size = os.stat(path).st_size
            digest = file_sha256(path) if hash_all or size <= SMALL_BYTES else None
            files[os.path.relpath(path, folder)] = {"size": size, "sha256": digest}
    except OSError as exc:
        raise NpufleetError(
            "a file of the weights cannot be read: {0}".format(exc.strerror or exc),
            where=str(exc.filename or folder),
            remedy="Make it readable, or copy it again",
        ) from exc
    return files


def _paths(folder: str) -> t.List[str]:
    found: t.List[str] = []
    for parent, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.join(parent, name) for name in sorted(names) if not name.startswith(".")]
        if len(found) > MOST_FILES:
            raise NpufleetError(
                "the folder holds more than {0} files, so it is no folder of one model".format(MOST_FILES),
                where=folder,
                remedy="Give the folder that holds config.json and the weights of the model",
            )
    return found


def _refuse(exc: OSError) -> None:
    raise exc
