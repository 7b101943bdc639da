# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later


"""Runs the module vllm_venv and shows what it is waiting for."""

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.plugin_utils._progress import ProgressActionBase


class ActionModule(ProgressActionBase):
    """See plugins/modules/vllm_venv.py."""

    ONCE_STATES = ()
