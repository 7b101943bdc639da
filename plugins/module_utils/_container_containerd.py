# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""containerd adapter, for nerdctl and CRI: runtimes in a drop-in where containerd merges such files, else in a block of config.toml."""

from __future__ import annotations

import os
import re
import tempfile
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import ASK_SECONDS, Composed, EngineAdapter, Look
from ansible_collections.npufleet.ascend.plugins.module_utils._container_docker_cli import UNIT as DOCKER_UNIT
from ansible_collections.npufleet.ascend.plugins.module_utils._container_docker_cli import DockerCli
from ansible_collections.npufleet.ascend.plugins.module_utils._container_files import ConfigFile
from ansible_collections.npufleet.ascend.plugins.module_utils._container_record import Record
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import CONFIG_PATHS, RuntimeEntry
from ansible_collections.npufleet.ascend.plugins.module_utils._container_toml import (
    DROP_IN_FOLDER,
    Dump,
    defines,
    file_version,
    read_dump,
    tables,
    takes_drop_ins,
    with_block,
    without_block,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._container_versions import Version, version_numbers
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

UNIT = "containerd.service"
DROP_IN = DROP_IN_FOLDER + "/npufleet.toml"
CRI_DISABLED = "containerd's CRI plugin is switched off (disabled_plugins), and only CRI reads these runtimes; nerdctl run --runtime PATH needs no entry"


class ContainerdAdapter(EngineAdapter):
    """containerd as a unit of systemd."""

    unit_name = UNIT

    def look(self) -> Look:
        program = self._host.tool("containerd")
        if not program:
            return Look(missing="containerd is not installed")
        unit = self._host.unit(UNIT).look()
        if not unit.found:
            raise NpufleetError(
                "systemd knows no {0}".format(UNIT), where=program, remedy="Use containerd from a package that brings its unit"
            )
        found = re.search(r"\s(v?\d[\w.+~-]*)", self._host.run([program, "--version"], timeout=ASK_SECONDS).stdout)
        return Look(program, version=found.group(1).lstrip("v") if found else "", unit=unit, runs=unit.running)

    def compose(self, look: Look, record: t.Optional[Record]) -> Composed:
        main = ConfigFile(self._wanted.config_path or CONFIG_PATHS["containerd"], self._host.owner)
        main_text = main.read()
        version = version_numbers(look.version)
        dump = self._dump(look.program, main.path if main_text is not None else None) if look.installed else Dump({}, None, False)
        file, text, base = self._place(main, main_text, version)
        if self._wanted.state == "absent":
            return self._removed(look, file, text, record or Record(), main is file)
        old = record or Record()
        entries = self._entries(main_text or "", dump, old)
        content = tables(base, entries, without_block(main_text or ""), dump) if entries else ""
        if main is file:
            after = (
                with_block(text if text is not None else "version = {0}\n".format(base), content) if content or text is not None else None
            )
        else:
            after = "version = {0}\n{1}".format(base, content) if content else None
        names = tuple(sorted({*(entry.name for entry in entries), *dump.runtimes}))
        values = {"entries": {entry.name: entry.path for entry in entries}}
        known = old._replace(known=True, site_default=dump.default, created=old.created or text is None, managed=tuple(values["entries"]))
        due = bool(entries) and self._unread(look, file, text, after, old)
        warnings = [*self.doubts(look, self._wanted.runtimes), *([CRI_DISABLED] if dump.cri_disabled and self._wanted.runtimes else [])]
        composed = Composed(file, text, after, known._replace(values=old.values), default_runtime=dump.default, site_default=dump.default)
        return composed._replace(runtimes=names, warnings=tuple(warnings), **_action(due))

    def _removed(self, look: Look, file: ConfigFile, text: t.Optional[str], record: Record, is_main: bool) -> Composed:
        after = without_block(text) if is_main and text is not None else None
        if record.created and after is not None and re.fullmatch(r"version = \d+\n", after):
            after = None
        return Composed(file, text, after, None, **_action(look.runs and text != after))

    def _place(self, main: ConfigFile, text: t.Optional[str], version: Version) -> t.Tuple[ConfigFile, t.Optional[str], int]:
        """The file that holds our runtimes, its text, and the version that it is written in. A drop-in may not be newer than the main file."""
        base = file_version(text) if text is not None else 3 if version >= (2, 0) else 2
        if not takes_drop_ins(text, version):
            return main, text, base
        file = ConfigFile(os.path.join(os.path.dirname(main.path), "conf.d", os.path.basename(DROP_IN)), self._host.owner)
        return file, file.read(), base

    def _entries(self, main: str, dump: Dump, record: Record) -> t.List[RuntimeEntry]:
        """Runtimes that are ours: those wanted now and before. One that somebody else defined is left where it is."""
        if dump.cri_disabled:
            return []
        earlier: t.Dict[str, str] = (record.values or {}).get("entries") or {}
        wanted = {entry.name: entry for entry in self._wanted.runtimes}
        kept = [RuntimeEntry(name, path) for name, path in earlier.items() if name not in wanted]
        rest = without_block(main)
        entries = []
        for entry in wanted.values():
            if not defines(rest, entry.name):
                entries.append(entry)
            elif dump.runtimes[entry.name].program != entry.path:
                raise NpufleetError(
                    "the runtime {0} is there already, with the program {1!r}".format(entry.name, dump.runtimes[entry.name].program),
                    where=self._wanted.config_path or CONFIG_PATHS["containerd"],
                    remedy="Remove its table, or ask for that program",
                )
        return sorted([*entries, *kept])

    def _unread(self, look: Look, file: ConfigFile, text: t.Optional[str], after: t.Optional[str], record: Record) -> bool:
        """Did the daemon not read the file as it shall be?"""
        if not look.runs or look.unit is None:
            return False
        if text != after:
            return True
        modified = self._host.modified(file.path)
        return modified is not None and look.unit.started < modified and record.daemon != look.unit.start

    def _dump(self, program: str, path: t.Optional[str]) -> Dump:
        words = ["--config", path, "config", "dump"] if path else ["config", "default"]
        result = self._host.run([program, *words], timeout=ASK_SECONDS)
        if result.rc != 0:
            raise NpufleetError(
                "containerd refuses its settings: {0}".format(result.text.strip()[-500:] or "no message"),
                where=path or CONFIG_PATHS["containerd"],
                remedy="Correct the file by hand",
            )
        return read_dump(result.stdout)

    def validate(self, look: Look, composed: Composed) -> None:
        if composed.after is None:
            return
        handle, path = tempfile.mkstemp(prefix="npufleet-", suffix=".toml")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(composed.after)
            dump = self._dump(look.program, path)
        finally:
            os.unlink(path)
        # A drop-in alone does not show what the whole configuration will hold; confirm() looks at that.
        if self._wanted.state == "present" and os.path.basename(composed.file.path) != os.path.basename(DROP_IN):
            self._check(dump, composed.runtimes)

    def _check(self, dump: Dump, names: t.Collection[str]) -> None:
        lost = [name for name in names if name not in dump.runtimes and not dump.cri_disabled]
        there = [entry for entry in self._wanted.runtimes if entry.name in dump.runtimes and not dump.cri_disabled]
        wrong = [entry.name for entry in there if dump.runtimes[entry.name].program != entry.path]
        if lost or wrong:
            raise NpufleetError(
                "containerd would not have the runtime {0} as it should be".format(", ".join([*lost, *wrong])),
                where="containerd config dump",
                remedy="Define the runtimes by hand",
            )

    def in_use(self, look: Look, composed: Composed) -> t.List[str]:
        """The unit of containerd leaves its containers alone (KillMode=process). Docker's of docker.com 18.09 and 19.03 is restarted with it."""
        if composed.action != "restart" or look.unit is None:
            return []
        names = [] if look.unit.outlives else self._tasks()
        if DOCKER_UNIT in look.unit.dependents and self._host.unit(DOCKER_UNIT).look().running:
            names += DockerCli(self._host).containers()
        return names

    def _tasks(self) -> t.List[str]:
        ctr = self._host.tool("ctr") or "ctr"
        spaces = self._host.run([ctr, "namespaces", "list", "--quiet"], timeout=ASK_SECONDS).stdout.split()
        asked = [(space, self._host.run([ctr, "--namespace", space, "tasks", "list", "--quiet"], timeout=ASK_SECONDS)) for space in spaces]
        return ["{0}/{1}".format(space, name) for space, result in asked for name in result.stdout.split()]

    def act(self, look: Look, composed: Composed, action: str) -> None:
        if composed.differs:
            composed.file.write(composed.after)
        self.begin(composed, action)

    def confirm(self, look: Look, composed: Composed) -> None:
        if self._wanted.state == "absent":
            return
        if not look.runs:
            raise NpufleetError("containerd does not run", where=UNIT, remedy="Look at `journalctl --unit {0}`".format(UNIT))
        main = self._wanted.config_path or CONFIG_PATHS["containerd"]
        self._check(self._dump(look.program, main if os.path.exists(main) else None), composed.runtimes)

    def acknowledged(self, look: Look, composed: Composed) -> t.Optional[Record]:
        if composed.record is None or look.unit is None or composed.left:
            return composed.record
        paths = dict((composed.record.values or {}).get("entries") or {}, **{entry.name: entry.path for entry in self._wanted.runtimes})
        entries = {name: path for name, path in paths.items() if name in composed.record.managed}
        return composed.record._replace(daemon=look.unit.start, values={"entries": entries})


def _action(due: bool) -> t.Dict[str, t.Any]:
    return {"action": "restart", "keys": ("runtimes",), "due": ("runtimes",), "waits": ("runtimes",)} if due else {}
