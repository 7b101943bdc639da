# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action plugin of bundle_host: hash in slices and show progress between."""

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.plugin_utils._last_diff import LastDiffActionBase


class ActionModule(LastDiffActionBase):
    """See plugins/modules/bundle_host.py."""
