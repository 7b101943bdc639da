# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The options of the module ascend_package."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import ARCHES
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS

# In the order of the documentation.
CHIP_NAMES = ["910", "910b", "310p", "310b", "A3", "950"]


def argument_spec() -> t.Dict[str, t.Any]:
    """Return the argument spec."""
    entry = {
        "name": {"type": "str", "required": True, "choices": list(KINDS)},
        "version": {"type": "str"},
        "file": {"type": "path"},
        "sha256": {"type": "str"},
        "url": {"type": "str", "no_log": True},  # it may hold a password
        "chip": {"type": "str", "choices": CHIP_NAMES},
        "arch": {"type": "str", "choices": list(ARCHES)},
    }
    return {
        "packages": {"type": "list", "elements": "dict", "required": True, "options": entry},
        "state": {"type": "str", "choices": ["present", "absent", "downloaded"], "default": "present"},
        "folder": {"type": "path", "default": "/var/lib/npufleet/packages"},
        "install_path": {"type": "path", "default": "/usr/local/Ascend"},
        "chip": {"type": "str", "choices": CHIP_NAMES},
        "arch": {"type": "str", "choices": list(ARCHES)},
        "user": {"type": "str", "default": "HwHiAiUser"},
        "group": {"type": "str", "default": "HwHiAiUser"},
        "download": {"type": "bool", "default": False},
        "mirror": {"type": "str", "no_log": True},  # it may hold a password
        "accept_licences": {"type": "bool", "default": False},
        "unverified_ok": {"type": "bool", "default": False},
        "checksums": {"type": "dict", "default": {}},
        "allow_downgrade": {"type": "bool", "default": False},
        "secure_boot_ok": {"type": "bool", "default": False},
        "register_runtime": {"type": "bool", "default": True},
        "hdk": {"type": "str"},
        "vllm_ascend": {"type": "str"},
        "python_version": {"type": "str"},
        "record_folder": {"type": "path", "default": "/var/lib/npufleet/ascend_package"},
        "wait_timeout": {"type": "int", "default": 3600},
        "wait_slice": {"type": "int", "default": 10},
    }


def checked(params: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """Return the options with plain paths.

    :raises NpufleetError: a folder is not absolute, or has characters that the installers refuse
    """
    plain = dict(params)
    for name in ("folder", "record_folder", "install_path"):
        if not params[name].startswith("/"):
            raise NpufleetError("{0!r} is no absolute path".format(params[name]), where=name, remedy="Give the whole path on the host")
        plain[name] = "/" + os.path.normpath(params[name]).lstrip("/")
    # The driver's installer takes no others (check_install_path_valid of hicann/driver).
    if not re.fullmatch(r"(/[A-Za-z0-9._-]+)+", plain["install_path"]):
        raise NpufleetError(
            "the installers refuse {0!r} as a path".format(params["install_path"]),
            where="install_path",
            remedy="Use letters, digits, - and _ only, or the default",
        )
    return plain
