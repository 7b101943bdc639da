# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documents of containers, as vllm_engine returns them."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_render import container_document
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import build_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import Document, read_documents
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import IMAGE
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import KEY, params

NPU = {"devices": ["/dev/davinci4", "/dev/davinci5"], "control_devices": ["/dev/davinci_manager"], "cpuset": "0-23", "shm_bytes": 16 << 30}
ODD = "$HOME $(POD_IP) ${A} $$"
RAY = {"address": "192.0.2.10", "node_address": "192.0.2.10", "npus": 2}
GROUP = {"data_parallel_size": 2, "data_parallel_address": "192.0.2.10", "data_parallel_rpc_port": 13389}


def raw(**changes: t.Any) -> t.Dict[str, t.Any]:
    """The document of an engine on the CPU, with changes of the options of vllm_engine."""
    options = dict({"image": IMAGE}, **changes.pop("container", {}))
    driver = ("/etc/hccn.conf", "/usr/local/dcmi")
    return container_document(build_spec(params(runtime="docker", venv=None, container=options, **changes), driver.__contains__))


def npu(**changes: t.Any) -> t.Dict[str, t.Any]:
    """The document of an engine on two NPUs, with a key."""
    container = dict(NPU, **changes.pop("container", {}))
    return raw(**dict({"accelerator": "ascend", "api_key": KEY, "container": container}, **changes))


def document(given: t.Optional[t.Dict[str, t.Any]] = None, **changes: t.Any) -> Document:
    """A document as the exports take it; ``changes`` are keys of the document itself."""
    return read_documents(dict(raw() if given is None else given, **changes))[0]
