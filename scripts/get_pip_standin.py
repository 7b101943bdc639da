# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ansible-test runs instead of a downloaded get-pip.py, where only a package index can be reached: pip from ensurepip."""

from __future__ import annotations

import subprocess
import sys

DROPPED = ("--no-setuptools", "--no-wheel")

subprocess.run([sys.executable, "-m", "ensurepip"], check=True)
subprocess.run([sys.executable, "-m", "pip", "install", *(word for word in sys.argv[1:] if word not in DROPPED)], check=True)
