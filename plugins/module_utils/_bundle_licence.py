# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The licence that a wheel states in its METADATA."""

from __future__ import annotations

import email.parser
import typing as t
import zipfile

# Some wheels put the whole text into the field.
LONGEST = 120


def wheel_licence(path: str) -> t.Optional[str]:
    """Return the licence expression of a wheel, else its classifiers, else the field License; None where it states none.

    Source: core metadata of packaging.python.org, versions 2.1 and 2.4.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.count("/") == 1 and name.endswith(".dist-info/METADATA")]
            text = archive.read(names[0]).decode("utf-8", "replace") if names else ""
    except (OSError, zipfile.BadZipFile):
        return None
    headers = email.parser.HeaderParser().parsestr(text)
    classifiers = [value.rpartition(" :: ")[2] for value in headers.get_all("Classifier", []) if value.startswith("License :: ")]
    stated = headers.get("License-Expression") or "; ".join(classifiers) or headers.get("License") or ""
    return " ".join(stated.split())[:LONGEST] or None
