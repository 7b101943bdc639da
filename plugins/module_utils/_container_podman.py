# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Podman adapter: a file of its own in containers.conf.d. There is no daemon: the next command reads it (containers.conf(5))."""

from __future__ import annotations

import json
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import ASK_SECONDS, Composed, EngineAdapter, Look
from ansible_collections.npufleet.ascend.plugins.module_utils._container_files import ConfigFile
from ansible_collections.npufleet.ascend.plugins.module_utils._container_json import Config
from ansible_collections.npufleet.ascend.plugins.module_utils._container_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import CONFIG_PATHS, RuntimeEntry
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

MARK = "# Managed by npufleet.ascend: changes made here are replaced by the next run.\n"


def render_conf(entries: t.Sequence[RuntimeEntry], default: t.Optional[str]) -> str:
    """Return the drop-in. Its table is merged with that of containers.conf, so the runtimes that are known stay."""
    lines = ["[engine]", 'runtime = "{0}"'.format(default), ""] if default else []
    lines.append("[engine.runtimes]")
    lines += ['{0} = ["{1}"]'.format(entry.name, entry.path) for entry in entries]
    return MARK + "\n".join(lines) + "\n"


def runtimes_of(text: t.Optional[str]) -> t.List[RuntimeEntry]:
    """Return the runtimes of a drop-in that render_conf wrote."""
    return [RuntimeEntry(name, path) for name, path in re.findall(r'^([\w.-]+) = \["([^"]+)"\]$', text or "", re.MULTILINE)]


class PodmanAdapter(EngineAdapter):
    """Podman."""

    def look(self) -> Look:
        program = self._host.tool("podman")
        if not program:
            return Look(missing="Podman is not installed")
        found = re.search(r"version (\S+)", self._host.run([program, "--version"], timeout=ASK_SECONDS).stdout)
        info = _json(self._host.run([program, "info", "--format", "json"], timeout=ASK_SECONDS))
        return Look(program, version=found.group(1) if found else "", runs=True, data={"info": info})

    def compose(self, look: Look, record: t.Optional[Record]) -> Composed:
        wanted = self._wanted
        file = ConfigFile(wanted.config_path or CONFIG_PATHS["podman"], self._host.owner)
        text = file.read()
        if text is not None and not text.startswith(MARK):
            raise NpufleetError(
                "the file was not written by this collection", where=file.path, remedy="Move its settings to a file of another name"
            )
        if wanted.state == "absent":
            return Composed(file, text, None, None)
        names = {entry.name for entry in wanted.runtimes}
        entries = sorted([*wanted.runtimes, *(entry for entry in runtimes_of(text) if entry.name not in names)])
        after = render_conf(entries, wanted.default_runtime) if entries or wanted.default_runtime else text
        doubts = tuple(self.doubts(look, wanted.runtimes))
        old = record or Record()
        # With a default of ours in the file, `podman info` shows that one.
        site = old.site_default if old.known and "\n[engine]\n" in (text or "") else _name(look.data)
        kept = old._replace(known=True, created=True, site_default=site, managed=tuple(entry.name for entry in entries))
        return Composed(
            file,
            text,
            after,
            kept,
            default_runtime=wanted.default_runtime or site,
            site_default=site,
            runtimes=tuple(entry.name for entry in entries),
            warnings=doubts,
        )

    def validate(self, look: Look, composed: Composed) -> None:
        """Podman has no check of a file; confirm() asks it for each runtime."""

    def act(self, look: Look, composed: Composed, action: str) -> None:
        composed.file.write(composed.after)

    def confirm(self, look: Look, composed: Composed) -> None:
        if self._wanted.state == "absent":
            return
        asked = [(["--runtime", entry.name], entry.name) for entry in self._wanted.runtimes]
        asked += [([], self._wanted.default_runtime)] if self._wanted.default_runtime else []
        for words, name in asked:
            result = self._host.run([look.program, *words, "info", "--format", "json"], timeout=ASK_SECONDS)
            if _name({"info": _json(result)}) != name:
                said = result.stderr.strip()[-500:] or "it uses {0}".format(_name({"info": _json(result)}))
                raise NpufleetError(
                    "Podman does not have the runtime {0}: {1}".format(name, said),
                    where=os.path.dirname(composed.file.path),
                    remedy="Look at `podman {0}`; containers.conf.d needs Podman 3 or later".format(" ".join([*words, "info"])),
                )


def _json(result: CommandResult) -> Config:
    try:
        value = json.loads(result.stdout)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _name(data: t.Optional[Config]) -> t.Optional[str]:
    """Name of the runtime that `podman info` shows."""
    runtime = ((data or {}).get("info") or {}).get("host", {}).get("ociRuntime") or {}
    name = runtime.get("name")
    return str(name) if name else None
