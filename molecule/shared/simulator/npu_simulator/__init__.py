# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A simulated Ascend host: an npu-smi whose state is a file, a sysfs root, device nodes and driver files.

Runs on Python 3.7 to 3.14 with the standard library only, because it is copied to the simulated hosts. README.md beside this folder says
what follows from a source and what is assumed.
"""
