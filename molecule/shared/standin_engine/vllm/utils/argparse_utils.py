# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where vLLM 0.30 and newer keep their parser class."""

from __future__ import annotations

import argparse


class FlexibleArgumentParser(argparse.ArgumentParser):
    """vLLM's parser reads _ as - in option names, and does not take abbreviations for granted; this one needs only the name."""
