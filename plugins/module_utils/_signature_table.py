# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The failure-signature table as one tuple. In every line of a log the first row that fits wins, so order matters."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._signature import Signature
from ansible_collections.npufleet.ascend.plugins.module_utils._signature_table_cluster import CLUSTER_ROWS
from ansible_collections.npufleet.ascend.plugins.module_utils._signature_table_device import DEVICE_ROWS
from ansible_collections.npufleet.ascend.plugins.module_utils._signature_table_engine import ENGINE_ROWS
from ansible_collections.npufleet.ascend.plugins.module_utils._signature_table_host import HOST_ROWS
from ansible_collections.npufleet.ascend.plugins.module_utils._signature_table_model import MODEL_ROWS

# Title of each part, for the generated page.
PARTS: t.Tuple[t.Tuple[str, t.Tuple[Signature, ...]], ...] = (
    ("Host, container and visible devices", HOST_ROWS),
    ("NPU, driver, CANN and plugin", DEVICE_ROWS),
    ("Several NPUs and several hosts", CLUSTER_ROWS),
    ("Model, quantization, memory and graphs", MODEL_ROWS),
    ("Command line, CPU engine and operating system", ENGINE_ROWS),
)

SIGNATURES: t.Tuple[Signature, ...] = tuple(row for _title, rows in PARTS for row in rows)

_COMPILED: t.Tuple[t.Tuple[t.Pattern[str], Signature], ...] = tuple((re.compile(row.pattern), row) for row in SIGNATURES)


def first_match(text: str, engine: t.Optional[str] = None) -> t.Optional[Signature]:
    """Return the first row whose pattern occurs in ``text``, or None.

    :param engine: "ascend" or "cpu" leaves out the rows of the other engine; None searches all
    """
    for pattern, row in _COMPILED:
        if (engine is None or engine in row.engines) and pattern.search(text):
            return row
    return None
