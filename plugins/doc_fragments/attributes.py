# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Attributes that every module documents, once."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and tell what it would change, without changing it.
  diff_mode:
    description: Returns what changed, or would change in check mode, when run with C(--diff).
  idempotent:
    description: When run twice with the same options, the second run changes nothing.
"""

    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details: This module never changes anything.
  diff_mode:
    support: N/A
    details: This module never changes anything.
  idempotent:
    support: full
    details: This module never changes anything.
"""
