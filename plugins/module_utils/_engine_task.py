# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The work of the module vllm_engine: spec, look, plan, checks, consent, act, wait. Nothing is touched before every check passed."""

from __future__ import annotations

import json
import os
import sys
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._engine import Engine, EngineFailedError
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import check_args, parse_catalogue
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_checks import (
    ModelShape,
    check_args_together,
    check_memory,
    check_shared_memory,
    memory_needed,
    model_shape,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_client import Docker
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_image import Fetching, fetch_image
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_probe import ImageOptions
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_render import container_document, container_of, docker_command
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_history import remember, restored
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_plan import Actual, Plan, consent, make_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_plan_file import keep_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_probe import (
    CATALOGUE_NAME,
    ProbeError,
    check_with_parser,
    read_catalogue,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_set_env import cann_of, check_found, check_prefix, with_environment
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec, build_spec, engine_folder
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._host import (
    check_port,
    check_user,
    disk_free,
    memory_available,
    resident_bytes,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._http import Fetch
from ansible_collections.npufleet.ascend.plugins.module_utils._model_folder import inspect as inspect_model
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_choice import choose_runtime
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_docker import DockerRuntime
from ansible_collections.npufleet.ascend.plugins.module_utils._service import Runtime, RuntimeAdapterError, UnreachableError
from ansible_collections.npufleet.ascend.plugins.module_utils._user_access import Need, check_access

SHARED_MEMORY = "/dev/shm"
NPU_MANAGER = "/dev/davinci_manager"  # of the group HwHiAiUser, mode 0660


class EngineTask:
    """One call of vllm_engine."""

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        run: Runner,
        fetch: Fetch,
        clock: Clock,
        runtime: t.Optional[Runtime] = None,
    ) -> None:
        # Only root can run a service as somebody else.
        params = params if os.geteuid() == 0 else dict(params, user=None)
        if params["state"] == "restored":
            # Whatever else the call says: a host that does not plan does not know it.
            params = dict(restored(params, engine_folder(params)), state="started")
        self._params = params
        self._run = run
        self._clock = clock
        cann, self._no_cann = cann_of(params, run)
        self._spec: EngineSpec = build_spec(params, cann=cann)
        # What runs in the environment of the engine sees what the engine sees.
        self._ask = with_environment(run, cann)
        self._runtime = runtime or choose_runtime(params, run)
        self._engine = Engine(self._spec, self._runtime, fetch, clock, params["ready_url"])
        self._warn: t.List[str] = []
        self._catalogue: t.Optional[t.Tuple[str, str]] = None

    def execute(self, check_mode: bool) -> t.Dict[str, t.Any]:
        """Do the work and return the result of the module; ``warn`` holds the warnings.

        :raises NpufleetError: a check failed and nothing was touched, or the service manager did not do as told
        :raises EngineFailedError: the engine does not answer
        """
        state = self._params["state"]
        if state == "fetched":
            return self._fetch(check_mode)
        plan = make_plan(self._spec, self._inspect(check_mode), state)
        if state == "started" and plan.steps == ("start",) and not check_mode:
            self._engine.check_launch()
        if {"define", "start"} & set(plan.steps):
            self._check(plan, check_mode)
        agreed = consent(plan, self._params["replace"], check_mode)
        if not agreed:
            self._warn.append("the engine {0} runs with another spec: {1}".format(self._spec.name, "; ".join(plan.reasons)))
        elif plan.interrupts and plan.action == "replace" and self._params["replace"] is None:
            self._warn.append(
                "vllm_engine_replace is not set: without check mode this stops and asks, as {0} is running".format(self._spec.name)
            )
        acts = agreed and plan.changed and not check_mode
        if acts:
            self._engine.apply(plan)
            self._keep_catalogue()
        if agreed and not check_mode and state != "absent" and self._params["plan"]:
            keep_plan(self._spec.working_directory, self._params["plan"])
        waited: t.Dict[str, t.Any] = {}
        if agreed and not check_mode and (state in ("started", "restarted", "ready") or "start" in plan.steps):
            waited = self._wait(state == "ready", acts)
        return self._result(plan, agreed, waited, check_mode)

    def _wait(self, launched: bool, acts: bool) -> t.Dict[str, t.Any]:
        try:
            waited = self._engine.wait_ready(self._params["wait_slice"], self._params["wait_timeout"], launched)
        except EngineFailedError as exc:
            exc.changed = exc.changed or acts
            raise
        if not waited["pending"]:
            remember(self._spec.working_directory, self._params, self._spec.digest())
        return waited

    def _fetch(self, check_mode: bool) -> t.Dict[str, t.Any]:
        """The image alone, before anything is interrupted."""
        docker = self._docker()
        fetching = Fetching(container_of(self._spec), self._params["home"], sys.executable, docker)
        return fetch_image(fetching, self._clock.now, self._clock.sleep, self._params, check_mode)

    def _inspect(self, check_mode: bool) -> Actual:
        """In check mode a first run may find no container engine: an earlier task would have brought it, and nothing runs in it."""
        try:
            return self._engine.inspect()
        except UnreachableError as exc:
            if not check_mode:
                raise
            self._warn.append(str(exc))
            return Actual()

    def _result(self, plan: Plan, agreed: bool, waited: t.Mapping[str, t.Any], check_mode: bool) -> t.Dict[str, t.Any]:
        after = plan.after if agreed else plan.before
        if not check_mode and plan.changed and agreed:
            self._engine.inspect()
        engine = {
            "name": self._spec.name,
            "action": plan.action if agreed else "keep",
            "runtime": self._runtime.kind,
            "url": None if self._spec.headless else self._spec.base_url + "/v1",
            "model": self._spec.served_model_name,
            "running": after["state"] == "started" if check_mode else self._engine.service.running,
            "pid": self._engine.service.pid,
            "restarted": self._engine.restarted,
            "ready": not waited["pending"] if waited else None,
            "ready_seconds": waited.get("ready_seconds") or self._engine.ready_seconds(),
            "completion": waited.get("completion"),
            "differences": list(plan.reasons),
            "needs_consent": plan.interrupts and plan.action == "replace" and self._params["replace"] is None,
            "pending_changes": [] if agreed else list(plan.reasons),
        }
        if self._spec.container is not None:
            engine.update(command=docker_command(self._spec), container=container_document(self._spec))
        return {
            "changed": plan.changed and agreed,
            "engine": engine,
            "diff": {"before": _pretty(plan.before), "after": _pretty(after)},
            "pending": bool(waited.get("pending")) and self._params["wait"],
            "progress": waited.get("progress", ""),
            "seconds": round(float(waited.get("seconds", 0.0)), 1),
            "warn": self._warn,
        }

    def _check(self, plan: Plan, check_mode: bool) -> None:
        args = self._params["args"]
        weight_bytes, shape = self._look_at_model(check_mode)
        check_args_together(args, shape, self._spec.accelerator)
        there = self._tolerate(lambda: check_found(self._no_cann), check_mode)
        self._tolerate(lambda: check_prefix(self._params["command_prefix"]), check_mode)
        if self._spec.container is not None:
            # First: what asks the image for its options is a container as well.
            if self._tolerate(lambda: self._runtime.check(self._spec), check_mode):
                self._check_image_options(plan)
        elif there and self._look_at_venv(check_mode):
            catalogue = read_catalogue(self._params["venv"], self._ask, write=not check_mode)
            self._check_options(catalogue, self._params["venv"], self._ask, plan)
        if "start" in plan.steps:
            self._check_resources(weight_bytes)
        if self._spec.container is None:
            self._tolerate(lambda: self._runtime.check(self._spec), check_mode)
        self._warn.extend(self._runtime.doubts(self._spec))
        if self._spec.user and self._tolerate(lambda: check_user(str(self._spec.user)), check_mode):
            check_access(self._spec.user, self._needs())

    def _check_options(self, catalogue: str, folder: str, run: Runner, plan: Plan) -> None:
        options = parse_catalogue(catalogue, os.path.join(folder, CATALOGUE_NAME))
        check_args(self._params["args"], options, json.loads(catalogue).get("version", "?"))
        if plan.interrupts:
            # Only now: it takes seconds, and without a running engine the new one is its own parser.
            check_with_parser(folder, self._spec.options, run)

    def _check_image_options(self, plan: Plan) -> None:
        """What is in an image is not ours: where it does not answer, the launch itself tells why."""
        try:
            asked = ImageOptions(self._spec, self._docker(), self._params["home"])
            catalogue = read_catalogue(asked.folder, asked.run, write=False) if asked.folder else ""
        except (ProbeError, RuntimeAdapterError) as exc:
            self._warn.append("the options were not checked: {0}".format(exc))
            return
        if not catalogue:
            self._warn.append("the image is not on this host yet, so the options were not checked")
            return
        self._check_options(catalogue, asked.folder, asked.run, plan)
        self._catalogue = (asked.folder, catalogue)

    def _docker(self) -> Docker:
        if isinstance(self._runtime, DockerRuntime):
            return self._runtime.docker
        raise NpufleetError("only a container has an image", where="state", remedy="Set vllm_engine_runtime to docker")

    def _keep_catalogue(self) -> None:
        """Asking an image takes seconds, so its answer is kept; but nothing is written before every check passed."""
        if self._catalogue is not None:
            folder, text = self._catalogue
            make_folders(folder)
            write_text(os.path.join(folder, CATALOGUE_NAME), text)

    def _check_resources(self, weight_bytes: int) -> None:
        """Port, shared memory, memory. On NPUs weights and KV cache lie in the memory of the chips, which the planner judges."""
        pid = self._engine.service.pid
        if not (self._spec.headless or (self._engine.service.running and self._runtime.holds_port(self._spec))):
            check_port(self._spec.port, pid)
        if self._spec.container is not None:
            check_shared_memory(self._spec.container.shm_bytes, "container.shm_bytes")
        elif not pid and os.path.isdir(SHARED_MEMORY):
            check_shared_memory(disk_free(SHARED_MEMORY))
        if self._spec.accelerator == "cpu":
            check_memory(memory_needed(weight_bytes, dict(self._spec.env)), memory_available(), resident_bytes(pid) if pid else 0)

    def _needs(self) -> t.List[Need]:
        """What the engine's own user opens before vLLM says its first word, and the weights."""
        home, model = self._params["home"], self._spec.model
        weights = [Need(os.path.join(model, name), os.R_OK) for name in sorted(os.listdir(model))] if os.path.isdir(model) else []
        readable = os.R_OK | os.X_OK
        chips = [Need(NPU_MANAGER, os.R_OK)] if self._spec.accelerator == "ascend" else []
        return [Need(home, os.X_OK), Need(self._spec.program, readable), Need(model, readable), *weights, *chips]

    def _tolerate(self, check: t.Callable[[], None], check_mode: bool) -> bool:
        """In check mode, what an earlier task would have made may be missing. Return whether all is there."""
        try:
            check()
        except NpufleetError as exc:
            if not check_mode:
                raise
            if str(exc) not in self._warn and not self._in_missing_venv(exc):
                self._warn.append(str(exc))
            return False
        return True

    def _in_missing_venv(self, exc: NpufleetError) -> bool:
        """Whether it is about a file of an environment that is not there at all, of which one warning is enough."""
        venv = (self._params["venv"] or "").rstrip("/")
        return bool(venv) and not os.path.isdir(venv) and (exc.where or "").startswith(venv + "/")

    def _look_at_model(self, check_mode: bool) -> t.Tuple[int, ModelShape]:
        if check_mode and not os.path.exists(self._spec.model):
            self._warn.append("the model folder {0} does not exist yet, so it was not checked".format(self._spec.model))
            return 0, ModelShape()
        folder = inspect_model(self._spec.model)
        self._warn.extend(folder.warnings)
        with open(os.path.join(self._spec.model, "config.json"), encoding="utf-8") as handle:
            return folder.total_bytes, model_shape(json.load(handle))

    def _look_at_venv(self, check_mode: bool) -> bool:
        command = self._spec.program
        if os.path.isfile(command) and os.access(command, os.X_OK):
            return True
        if check_mode:
            self._warn.append("{0} does not exist yet, so the options were not checked".format(command))
            return False
        raise NpufleetError("there is no vLLM in the virtual environment", where=command, remedy="Build it with npufleet.ascend.vllm_venv")


def _pretty(value: t.Mapping[str, t.Any]) -> str:
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
