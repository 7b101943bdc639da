# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The work of the module container_engine: look, compose, ask for consent, check, write, let the engine take it over, confirm, remember."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import Composed, EngineAdapter, Host, Look
from ansible_collections.npufleet.ascend.plugins.module_utils._container_record import Record, load_record, record_path, save_record
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import Wanted, wanted_of
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._host import os_release
from ansible_collections.npufleet.ascend.plugins.module_utils._prerequisites import family_of

# Addresses of proxies and registries may hold a password.
CREDENTIALS = re.compile(r"(://)[^/@\s\"]+@")


class Move(t.NamedTuple):
    """
    What one call does.

    :param action: none, reload, restart or start
    :param enable: is the unit to start with the host from now on?
    :param pending: what waits for a restart that nobody allowed
    :param asks: consent is needed: what would happen
    :param containers: whom it would happen to
    """

    action: str = "none"
    enable: bool = False
    pending: t.Tuple[str, ...] = ()
    asks: str = ""
    containers: t.Tuple[str, ...] = ()


class ContainerTask:
    """One call of container_engine. ``root`` is where /etc/os-release lies, for tests."""

    def __init__(self, params: t.Mapping[str, t.Any], host: Host, root: str = "") -> None:
        self._wanted = wanted_of(params)
        self._host = host
        self._root = root
        self._adapter = _adapter(host, self._wanted)
        self._record_path = record_path(self._wanted.record_folder, self._wanted.engine)

    def execute(self, check_mode: bool) -> t.Dict[str, t.Any]:
        """Bring the engine to its state.

        :raises NpufleetError: with one message; up to the first change nothing was touched
        """
        record = load_record(self._record_path)
        look = self._adapter.look()
        present = self._wanted.state == "present"
        if present and not look.installed and not check_mode:
            raise NpufleetError(
                look.missing, where=self._wanted.engine, remedy="Install it first (role container_runtime), or choose another engine"
            )
        composed = self._adapter.compose(look, record) if present or record else self._untouched(look)
        move = self._move(look, composed)
        composed = composed._replace(left=composed.waits if move.pending else ())
        changed = composed.differs or move.enable or move.action != "none" or (present and not look.installed)
        if composed.differs and look.installed:
            self._adapter.validate(look, composed)
        if check_mode:
            return self._result(look, composed, move, record, changed)
        self._ask(move)
        after = self._carry_out(look, composed, move, record)
        return self._result(after, composed, move, load_record(self._record_path), changed, look)

    def _untouched(self, look: Look) -> Composed:
        """Without a record there is nothing to undo."""
        composed = self._adapter.compose(look, None)
        return composed._replace(after=composed.before, action="none", keys=(), due=(), bridge=None)

    def _move(self, look: Look, composed: Composed) -> Move:
        """Decide what to do, and whether somebody has to agree."""
        present = self._wanted.state == "present"
        unit = look.unit
        if unit is None:
            return Move()
        enable = present and unit.can_enable
        if not unit.running:
            return Move("start" if present else "none", enable)
        ended, bound = self._adapter.in_use(look, composed), self._adapter.bound(look, composed)
        whom = tuple(sorted({*ended, *bound}))
        if self._wanted.restart is None:
            return Move(composed.action, enable, (), self._question(composed, ended, bound), whom)
        if ended and not self._wanted.restart:
            pending = tuple(_waiting(composed))
            return Move("reload" if len(pending) < len(composed.keys) else "none", enable, pending, "", whom)
        return Move(composed.action, enable, (), "", whom)

    def _question(self, composed: Composed, ended: t.Sequence[str], bound: t.Sequence[str]) -> str:
        """What somebody has to agree to; empty where nothing is interrupted."""
        asks = []
        if ended:
            what = "{0} has to be restarted ({1}), which ends its running containers: {2}"
            asks.append(what.format(self._wanted.engine, ", ".join(_waiting(composed)), ", ".join(ended)))
        if bound:
            asks.append(
                "running containers use a runtime that is to be removed, and could not be started again: {0}".format(", ".join(bound))
            )
        return "; ".join(asks)

    def _ask(self, move: Move) -> None:
        """:raises NpufleetError: nobody agreed"""
        if move.asks:
            raise NpufleetError(
                move.asks,
                where="restart",
                remedy="Set it to true to go on, or to false to leave the containers alone and let it wait for the next restart",
            )

    def _carry_out(self, look: Look, composed: Composed, move: Move, record: t.Optional[Record]) -> Look:
        acts = composed.differs or move.action != "none"
        missing = self._adapter.missing_programs()
        if missing:
            raise NpufleetError(
                "programs of runtimes are not there: {0}".format(", ".join(missing)),
                where="runtimes",
                remedy="Install them first, or correct the paths",
            )
        if composed.record is not None:
            save_record(self._record_path, composed.record)
        if acts:
            self._adapter.act(look, composed, move.action)
        if move.enable:
            self._host.unit(self._adapter.unit_name).enable()
        after = self._adapter.look() if acts and look.installed else look
        if after.installed:
            self._adapter.confirm(after, composed)
        if self._wanted.state == "absent":
            if record is not None:
                os.unlink(self._record_path)
        elif composed.record is not None:
            save_record(self._record_path, self._adapter.acknowledged(after, composed) or composed.record)
        return after

    def _result(
        self, look: Look, composed: Composed, move: Move, record: t.Optional[Record], changed: bool, before: t.Optional[Look] = None
    ) -> t.Dict[str, t.Any]:
        predicted = changed and before is None
        taken = [text for text in composed.due if text not in move.pending] if move.action in ("reload", "restart") else []
        diff = {
            "before": self._shown(composed.before, before or look, ()),
            "after": self._shown(composed.after, look, move.pending, predicted, taken),
        }
        warnings = list(composed.warnings)
        if move.pending:
            warnings.append("{0} runs without {1} until it is restarted".format(self._wanted.engine, ", ".join(move.pending)))
        return {
            "changed": changed,
            "engine": dict(self._engine(look, composed, move, record), differs=changed),
            "diff": diff,
            "warnings": warnings,
        }

    def _shown(
        self, text: t.Optional[str], look: Look, pending: t.Collection[str], predicted: bool = False, taken: t.Collection[str] = ()
    ) -> str:
        """A side of the diff: the file, and what of the engine is changed."""
        state = self._wanted.state == "present" and predicted
        running = "not installed" if not look.installed and not state else "running" if look.runs or state else "stopped"
        enabled = look.unit is None or look.unit.enabled or state
        lines = [CREDENTIALS.sub(r"\1***@", text or "").rstrip("\n")] if text else []
        lines.append("# {0}: {1}{2}".format(self._wanted.engine, running, "" if enabled else ", not enabled"))
        lines += ["# takes over: " + ", ".join(taken)] if taken else []
        lines += ["# waits for a restart: " + ", ".join(pending)] if pending else []
        return "\n".join(lines) + "\n"

    def _engine(self, look: Look, composed: Composed, move: Move, record: t.Optional[Record]) -> t.Dict[str, t.Any]:
        release = os_release(self._root)
        family = family_of(release, self._host.find)
        return {
            "name": self._wanted.engine,
            "installed": look.installed,
            "missing": look.missing,
            "version": look.version,
            "running": look.runs,
            "config_path": composed.file.path,
            "runtimes": list(composed.runtimes),
            "missing_programs": self._adapter.missing_programs(),
            "default_runtime": composed.default_runtime,
            "site_default_runtime": composed.site_default,
            "recorded": record is not None,
            "action": move.action,
            "due": list(composed.due),
            "pending": list(move.pending),
            "needs_consent": bool(move.asks),
            "consent_reason": move.asks,
            "containers": list(move.containers),
            "os_id": release.id,
            "os_like": list(release.like),
            "os_version": release.version,
            "package_tool": family.tool if family else next((name for name in ("apt-get", "dnf", "yum") if self._host.find(name)), ""),
        }


def _waiting(composed: Composed) -> t.List[str]:
    """What only a restart brings, in words."""
    return [text for key, text in zip(composed.keys, composed.due) if key in composed.waits]


def _adapter(host: Host, wanted: Wanted) -> EngineAdapter:
    """The adapter of the engine. A target compiles what is imported, at each call, so the others are left out."""
    if wanted.engine == "containerd":
        from ansible_collections.npufleet.ascend.plugins.module_utils._container_containerd import ContainerdAdapter

        return ContainerdAdapter(host, wanted)
    if wanted.engine == "podman":
        from ansible_collections.npufleet.ascend.plugins.module_utils._container_podman import PodmanAdapter

        return PodmanAdapter(host, wanted)
    from ansible_collections.npufleet.ascend.plugins.module_utils._container_docker import DockerAdapter

    return DockerAdapter(host, wanted)
