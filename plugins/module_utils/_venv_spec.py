# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What a virtual environment of vLLM shall hold. Values only.

Index URLs may hold credentials and are not part of the identity.
"""

from __future__ import annotations

import hashlib
import json
import typing as t


class Ascend(t.NamedTuple):
    """What an environment for NPUs holds besides.

    :param soc: a2, a3, 310p or a5
    :param wheel: the plugin comes as a wheel that PyPI has for this SoC, or is built on the host for ``soc_version``
    :param triton: version of triton-ascend, empty where the chip has none
    :param set_env: CANN's scripts on the host, for the build and for asking vLLM
    """

    plugin: str
    soc: str
    soc_version: str
    wheel: bool
    torchvision: str
    torchaudio: str
    triton: str
    index_url: t.Optional[str]
    set_env: t.Tuple[str, ...]


class VenvSpec(t.NamedTuple):
    """What shall be installed; ``ascend`` is None for the CPU engine."""

    path: str
    python: str
    python_version: str
    version: str
    torch: str
    machine: str
    requirements: str
    constraints: str
    index_url: t.Optional[str]
    torch_index_url: t.Optional[str]
    pip_args: t.Tuple[str, ...]
    ascend: t.Optional[Ascend] = None

    @property
    def python_minor(self) -> str:
        return ".".join(self.python_version.split(".")[:2])

    @property
    def folder(self) -> str:
        """Where the job, its log and the requirements lie."""
        return self.path + "/.npufleet"

    def digest(self) -> str:
        """SHA-256 of what decides the content of the environment."""
        identity = [self.python_minor, self.version, self.torch, self.machine, self.requirements, self.constraints]
        if self.ascend is not None:
            identity += [self.ascend.plugin, self.ascend.soc_version, self.ascend.triton]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()

    def shown(self) -> t.Dict[str, t.Any]:
        """The environment as shown in a diff."""
        shown = {"path": self.path, "vllm": self.version, "torch": self.torch, "python": self.python_version, "digest": self.digest()}
        if self.ascend is not None:
            shown.update(vllm_ascend=self.ascend.plugin, soc=self.ascend.soc)
        return shown
