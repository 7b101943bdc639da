# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Docker adapter: merges daemon.json, reloads the daemon where that is enough, restarts it where it is not."""

from __future__ import annotations

import os
import re
import tempfile
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import Composed, EngineAdapter, Host, Look
from ansible_collections.npufleet.ascend.plugins.module_utils._container_docker_cli import UNIT, DockerCli
from ansible_collections.npufleet.ascend.plugins.module_utils._container_due import (
    Daemon,
    Due,
    describe,
    plan_due,
    remaining,
    restart_ends_containers,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._container_files import ConfigFile
from ansible_collections.npufleet.ascend.plugins.module_utils._container_json import (
    Config,
    changes,
    merge,
    parse,
    render,
    undo,
    usable_defaults,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._container_record import (
    Record,
    baseline,
    combine_changes,
    remembered,
    restored_default,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import CONFIG_PATHS, Wanted
from ansible_collections.npufleet.ascend.plugins.module_utils._container_versions import VALIDATE_SINCE, version_numbers
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# A reload is done within a second; its end is a line in the log, which a site may have switched off (log-level).
RELOAD_SECONDS = 15.0
SETTLE_SECONDS = 2.0
POLL_SECONDS = 0.3
RELOADED = re.compile(r"Reloaded configuration")
RELOAD_FAILED = re.compile(r"level=error.*(?:unable to configure the Docker daemon|[Ee]rror reconfiguring)")


class DockerAdapter(EngineAdapter):
    """Docker Engine as a unit of systemd."""

    unit_name = UNIT

    def __init__(self, host: Host, wanted: Wanted) -> None:
        super().__init__(host, wanted)
        self._cli = DockerCli(host)
        self._managed: t.Tuple[str, ...] = ()

    def look(self) -> Look:
        return self._cli.look(lambda: self._host.unit(UNIT).look())

    def compose(self, look: Look, record: t.Optional[Record]) -> Composed:
        flags = (look.data or {}).get("flags") or {}
        path = self._wanted.config_path or flags.get("config-file") or CONFIG_PATHS["docker"]
        file = ConfigFile(path, self._host.owner)
        text = file.read()
        before = parse(text, path)
        self._managed = record.managed if record else ()
        compose = self._removed if self._wanted.state == "absent" else self._merged
        return compose(look, file, text, before, record or Record(), flags)

    def _merged(
        self, look: Look, file: ConfigFile, text: t.Optional[str], before: Config, record: Record, flags: t.Mapping[str, str]
    ) -> Composed:
        wanted = self._wanted
        names = {entry.name for entry in wanted.runtimes} | set(record.managed)
        known = remembered(before, wanted.default_runtime, names, record)
        after = merge(before, wanted, wanted.default_runtime or known.site_default, flags)
        self._check(flags, before, after)
        self._check_default(look, after)
        base = baseline(before, [entry.name for entry in wanted.runtimes], record)
        fresh = changes(base, after)
        known = known._replace(
            changes=combine_changes(record.changes, fresh),
            created=record.created if record.known else text is None,
            seen=tuple(sorted(after["runtimes"])) if "runtimes" in after else None,
        )
        ours = self._ours(after, names, look)
        due = self._due(look, file, before, after, ours, record)
        return Composed(
            file,
            text,
            render(after, text) if after or text is not None else None,
            known,
            due.action,
            due.keys,
            tuple(describe(due.keys, after)),
            due.waits,
            (),
            after.get("default-runtime"),
            known.site_default,
            render(due.bridge, text) if due.bridge is not None else None,
            tuple(sorted(after.get("runtimes", {}))),
            tuple(self.doubts(look, wanted.runtimes)),
        )

    def _removed(
        self, look: Look, file: ConfigFile, text: t.Optional[str], before: Config, record: Record, flags: t.Mapping[str, str]
    ) -> Composed:
        after = undo(before, record.changes)
        default = restored_default(before.get("default-runtime"), record)
        after.pop("default-runtime", None)
        if default is not None:
            after["default-runtime"] = default
        due = self._due(look, file, before, after, {"runtimes", "default-runtime"}, record)
        gone = record.created and not after
        return Composed(
            file,
            text,
            None if gone or text is None else render(after, text),
            None,
            due.action,
            due.keys,
            tuple(describe(due.keys, after)),
            due.waits,
            (),
            default,
            default,
            render(due.bridge, text) if due.bridge is not None else None,
            tuple(sorted(after.get("runtimes", {}))),
        )

    def _ours(self, after: Config, names: t.Collection[str], look: Look) -> t.Set[str]:
        """Keys that this call asks for; the default runtime too, where an installer may have changed it."""
        wanted = self._wanted
        flags = (look.data or {}).get("flags") or {}
        ours = {*wanted.options, *usable_defaults(after, wanted.defaults, flags)}
        if wanted.runtimes:
            ours.add("runtimes")
        live = ((look.data or {}).get("info") or {}).get("DefaultRuntime")
        if wanted.default_runtime or live in names:
            ours.add("default-runtime")
        return ours

    def _check(self, flags: t.Mapping[str, str], before: Config, after: Config) -> None:
        """:raises NpufleetError: dockerd gets a setting on its command line that the file would hold as well, and would not start"""
        both = sorted(key for key in flags if key in after and key not in before)
        if both:
            raise NpufleetError(
                "dockerd is started with an option for {0}, and does not start when daemon.json has it as well".format(", ".join(both)),
                where="{0}, process of {1}".format(self._wanted.config_path or CONFIG_PATHS["docker"], UNIT),
                remedy="Take the option out of the unit ({0}, /etc/sysconfig/docker, /etc/default/docker), or leave the setting to it".format(
                    "systemctl cat " + UNIT
                ),
            )

    def _check_default(self, look: Look, after: Config) -> None:
        """:raises NpufleetError: a default runtime is asked for that Docker does not have, with which it would not start"""
        name = self._wanted.default_runtime
        known = {"runc", *after.get("runtimes", {}), *(((look.data or {}).get("info") or {}).get("Runtimes") or {})}
        if name and name not in known and not name.startswith("io.containerd."):
            raise NpufleetError(
                "Docker has no runtime {0}".format(name), where="default_runtime", remedy="Use one of {0}".format(", ".join(sorted(known)))
            )

    def _due(self, look: Look, file: ConfigFile, before: Config, after: Config, ours: t.Collection[str], record: Record) -> Due:
        if not look.runs or look.unit is None or look.data is None:
            return Due()
        info = _same_root(look.data["info"], after)
        daemon = Daemon(info, look.unit.start, look.unit.started)
        return plan_due(before, after, ours, self._wanted.runtimes, daemon, record, self._host.modified(file.path))

    def validate(self, look: Look, composed: Composed) -> None:
        """Versions before 23.0 have no such check: there names and types of settings are compared with what is known, and a failed start is undone."""
        if composed.after is None:
            return
        if version_numbers(look.version) < VALIDATE_SINCE:
            self._cli.check_keys({*self._wanted.options, *self._wanted.defaults} if self._wanted.state == "present" else ())
            return
        handle, path = tempfile.mkstemp(prefix="npufleet-", suffix=".json")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(composed.after)
            self._cli.check_file(path)
        finally:
            os.unlink(path)

    def in_use(self, look: Look, composed: Composed) -> t.List[str]:
        info = (look.data or {}).get("info") or {}
        if composed.action != "restart" or not restart_ends_containers(info, composed.keys, parse(composed.after, "")):
            return []
        return self._cli.containers()

    def bound(self, look: Look, composed: Composed) -> t.List[str]:
        known = set(((look.data or {}).get("info") or {}).get("Runtimes") or {})
        gone = {*parse(composed.before, "").get("runtimes", {}), *self._managed} & known - set(composed.runtimes)
        return self._cli.containers_with(gone)

    def act(self, look: Look, composed: Composed, action: str) -> None:
        if action == "reload":
            self._reload(composed.file, composed.bridge if composed.bridge is not None else composed.after)
        if composed.differs or composed.bridge is not None:
            composed.file.write(composed.after)
        self.begin(composed, action)

    def _reload(self, file: ConfigFile, text: t.Optional[str]) -> None:
        """Load ``text`` and wait until the daemon did.

        :raises NpufleetError: the daemon refused it
        """
        before = file.read()
        file.write(text)
        since = self._host.clock.now()
        self._host.unit(UNIT).reload()
        while self._host.clock.now() < since + RELOAD_SECONDS:
            log = self._host.unit(UNIT).log(since)
            refused = [line for line in log if RELOAD_FAILED.search(line)]
            if refused:
                file.write(before)
                raise NpufleetError(
                    "Docker refused to reload its settings: {0}".format(refused[-1]),
                    where=file.path,
                    remedy="Correct them; the file is as it was",
                )
            if any(RELOADED.search(line) for line in log):
                return
            if self._host.clock.now() > since + SETTLE_SECONDS and self._answers_as(text):
                return
            self._host.clock.sleep(POLL_SECONDS)

    def _answers_as(self, text: t.Optional[str]) -> bool:
        entries = self._wanted.runtimes if self._wanted.state == "present" else ()
        return not remaining(_same_root(self._cli.info(), {}), parse(text, ""), {"default-runtime"}, entries)

    def confirm(self, look: Look, composed: Composed) -> None:
        after = parse(composed.after, composed.file.path)
        info = _same_root((look.data or {}).get("info") or {}, after)
        present = self._wanted.state == "present"
        ours = {*composed.keys, *(self._wanted.options if present else ())} - set(composed.left)
        left = (
            remaining(info, after, ours, self._wanted.runtimes if present else ()) if look.runs else ["it does not run"] if present else []
        )
        if left:
            raise NpufleetError(
                "Docker does not have what is wanted: {0}".format("; ".join(left)),
                where="docker info",
                remedy="Look at `journalctl --unit {0}`, then restart Docker (restart: true)".format(UNIT),
            )

    def acknowledged(self, look: Look, composed: Composed) -> t.Optional[Record]:
        if composed.record is None or look.unit is None:
            return composed.record
        after = parse(composed.after, "")
        earlier = composed.record.values or {} if composed.record.daemon == look.unit.start else {}
        # A setting that waits for a restart is left out, so it is still due at the next call.
        asked = {*self._wanted.options, *self._wanted.defaults, "runtimes", "default-runtime"} - set(composed.left)
        values = dict({key: earlier[key] for key in earlier if key not in asked}, **{key: after[key] for key in asked if key in after})
        return composed.record._replace(daemon=look.unit.start, values=values)


def _same_root(info: Config, after: Config) -> Config:
    """`docker info` shows the real path of a data-root that is a link."""
    root = after.get("data-root")
    if root and os.path.realpath(root) == info.get("DockerRootDir"):
        return dict(info, DockerRootDir=root)
    return info
