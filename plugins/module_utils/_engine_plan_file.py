# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The row of the plan that an engine runs by, kept in its folder: a later plan leaves the engine its chips, CPUs and ports."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, read_text, write_text

PLAN_NAME = "plan.json"
# What a later plan asks of an engine that runs (_plan_record); reasons and the like change with everything around it.
KEPT = ("name", "host", "chips", "layout", "cpuset", "binding", "ports", "rank")


def keep_plan(folder: str, row: t.Mapping[str, t.Any]) -> None:
    """Write what counts of the row, where it is not there yet.

    :raises OSError: the folder cannot be written
    """
    path = os.path.join(folder, PLAN_NAME)
    text = json.dumps({key: row[key] for key in KEPT if key in row}, sort_keys=True, indent=2) + "\n"
    if read_text(path) != text:
        make_folders(folder)
        write_text(path, text)
