# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An environment for NPUs, as the tests of _venv_* want it."""

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._venv_spec import Ascend, VenvSpec


def ascend(**changes):
    fields = {
        "plugin": "0.23.0.post1",
        "soc": "a3",
        "soc_version": "ascend910_9391",
        "wheel": False,
        "torchvision": "0.25.0",
        "torchaudio": "2.10.0",
        "triton": "3.2.2",
        "index_url": "https://ascend.example/pypi",
        "set_env": ("/opt/cann/set_env.sh", "/opt/nnal/set_env.sh"),
    }
    return Ascend(**dict(fields, **changes))


def spec(**changes):
    fields = {
        "path": "/srv/venv",
        "python": "/usr/bin/python3.11",
        "python_version": "3.11.9",
        "version": "0.23.0",
        "torch": "2.10.0",
        "machine": "aarch64",
        "requirements": "torch-npu\n",
        "constraints": "",
        "index_url": None,
        "torch_index_url": None,
        "pip_args": (),
        "ascend": ascend(),
    }
    return VenvSpec(**dict(fields, **changes))
