# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make a folder that looks like the virtual environment of vLLM, with an engine of a few lines that starts in a second.

Usage: make_standin.py FOLDER [PYTHON]. See README.md for what of its behaviour is from vLLM and what is assumed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "0.32.0+cpu"


def write(path: str, text: str, mode: int = 0o644) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text)
    os.chmod(path, mode)


def make(folder: str, python: str) -> None:
    """Write bin/python, bin/vllm, the package with the parser, and the marker of vllm_venv."""
    site = os.path.join(folder, "site")
    for name in ("bin", "site"):
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    wrapper = '#!/bin/sh\nPYTHONPATH="{0}" exec "{1}" "$@"\n'.format(site, python)
    write(os.path.join(folder, "bin", "python"), wrapper, 0o755)
    write(os.path.join(folder, "bin", "vllm"), '#!/bin/sh\nPYTHONPATH="{0}" exec "{1}" -m vllm.engine "$@"\n'.format(site, python), 0o755)
    shutil.copytree(os.path.join(HERE, "vllm"), os.path.join(site, "vllm"), ignore=shutil.ignore_patterns("__pycache__"))
    metadata = "Metadata-Version: 2.1\nName: vllm\nVersion: {0}\n".format(VERSION)
    write(os.path.join(site, "vllm-{0}.dist-info".format(VERSION), "METADATA"), metadata)
    supervisord = shutil.which("supervisord", path=os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    if supervisord:
        os.symlink(supervisord, os.path.join(folder, "bin", "supervisord"))
    write(os.path.join(folder, "npufleet-venv.json"), json.dumps({"managed_by": "npufleet.ascend", "path": folder, "vllm": "0.32.0"}))


if __name__ == "__main__":
    make(os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else sys.executable)
