# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What hosts keep of their parts of an engine on several hosts, as the module writes it."""

from __future__ import annotations

import json

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_history import HISTORY_NAME, LAUNCH_NAME, remember
from ansible_collections.npufleet.ascend.plugins.module_utils._group_back import plan_back
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import params

HOSTS = ["a", "b"]
DAY = 86400.0


class Part:
    """What a host keeps of its part, as the module writes it; time passes only by launches."""

    def __init__(self, folder):
        self.folder = folder
        self.spec = None
        folder.mkdir(parents=True)

    def define(self, spec, status="stopped"):
        self.spec = spec
        known = self.record()
        self.write(dict(known, digest=spec, status=status))

    def start(self, when):
        self.write(dict(self.record(), status="starting", started_at=when))

    def answer(self):
        self.write(dict(self.record(), status="ready"))
        remember(str(self.folder), params(env={"SPEC": self.spec}), self.spec)

    def record(self):
        path = self.folder / LAUNCH_NAME
        return json.loads(path.read_text()) if path.exists() else {}

    def write(self, record):
        (self.folder / LAUNCH_NAME).write_text(json.dumps(record))

    def kept(self):
        return tuple(path.read_text() if path.exists() else None for path in (self.folder / HISTORY_NAME, self.folder / LAUNCH_NAME))


class Group:
    """Two parts on hosts whose clocks differ by some seconds."""

    def __init__(self, folder):
        self.parts = [Part(folder / name) for name in HOSTS]
        self.now = 1000.0

    def launch(self, *specs, until=None, skew=4.0):
        """Stop and define all parts, start all, note all; ``until`` is the number of such steps before somebody interrupts it."""
        steps = [lambda part=part, spec=spec: part.define(spec) for part, spec in zip(self.parts, specs)]
        steps += [lambda place=place, part=part: part.start(self.now + place * skew) for place, part in enumerate(self.parts)]
        steps += [part.answer for part in self.parts]
        for step in steps[:until]:
            step()
        self.now += DAY

    def plan(self):
        return plan_back("q", HOSTS, [part.kept() for part in self.parts])

    def target(self):
        plan = self.plan()
        assert plan["problem"] == ""
        return tuple(options["env"]["SPEC"] for options in plan["target"]), plan["earlier"]

    def answered(self):
        return tuple(options["env"]["SPEC"] for options in self.plan()["answered"])
