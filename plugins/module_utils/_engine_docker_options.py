# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The options of vllm_engine that only an engine in a container has, as an argument spec and with their defaults. Data only."""

from __future__ import annotations

import typing as t

# As in the quick start of vllm-ascend (--shm-size=1g); the planner gives more where a recipe wants more.
SHM_BYTES = 1024**3

SUBOPTIONS: t.Dict[str, t.Dict[str, t.Any]] = {
    "image": {"type": "str", "required": True},
    "archive": {"type": "path"},
    "name": {"type": "str"},
    "docker_host": {"type": "str", "default": "unix:///var/run/docker.sock"},
    "entrypoint": {"type": "list", "elements": "str"},
    "oci_runtime": {"type": "str"},
    "devices": {"type": "list", "elements": "str", "default": []},
    "control_devices": {"type": "list", "elements": "str"},
    "driver_root": {"type": "path", "default": "/"},
    "mounts": {"type": "list", "elements": "str", "default": []},
    "shm_bytes": {"type": "int", "default": SHM_BYTES},
    "cpuset": {"type": "str"},
    "network": {"type": "str", "default": "host"},
    "address": {"type": "str"},
    "restart": {"type": "str", "choices": ["unless-stopped", "always", "on-failure", "no"], "default": "unless-stopped"},
    "log_size": {"type": "str", "default": "50m"},
    "log_files": {"type": "int", "default": 3},
    "cap_add": {"type": "list", "elements": "str", "default": ["DAC_OVERRIDE", "SYS_NICE"]},
}


def container_options(given: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """The options with the defaults of those that nobody gave."""
    return {name: given[name] if given.get(name) is not None else row.get("default") for name, row in SUBOPTIONS.items()}
