# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every script that generates one file does with it: write it, or with --check say that it is out of date."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def keep_current(path: Path, text: str, check: bool) -> int:
    """Bring the file to this text; with ``check`` write nothing. Returns the exit status: 1 for a file that check found out of date."""
    current = path.read_text(encoding="utf-8") if path.exists() else ""
    if current == text:
        return 0
    if check:
        print("{0} is out of date: run scripts/{1}".format(path.relative_to(ROOT), Path(sys.argv[0]).name), file=sys.stderr)
        return 1
    path.write_text(text, encoding="utf-8")
    return 0
