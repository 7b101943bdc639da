# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What is wanted of one engine: the command, its environment, where it listens. Values only, no I/O.

The same EngineSpec renders a systemd unit, a supervisor program and a container. It is the one place that tells accelerators apart.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import check_owned, normal_name, to_argv
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_spec import Container, build_container
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_ray import Ray, read_ray
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_ray_command import node_command, ray_env
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._http import KEY_PATTERN

NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}\Z")
ENV_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# At the end of a name only: TOKENIZERS_PARALLELISM and VLLM_MAX_TOKENS_PER_EXPERT_FP4_MOE are no secrets.
SECRET_ENV = re.compile(r"(?:^|_)(?:API)?(?:KEYS?|TOKEN)$|SECRET|PASSW(?:OR)?D", re.IGNORECASE)
# Characters that systemd.unit and supervisor's files read as themselves in every setting that holds a path.
HOME_PATTERN = re.compile(r"/[\w./@:+,=-]*\Z")
LINE_BREAKS = re.compile(r"[\n\r\0]")
WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}

# The engine's own folder of temporary files, below its working folder.
TEMPORARY = "tmp"
# The path of a socket has at most 107 bytes (unix(7)); behind the folder come /tmp/ and a UUID of 36.
SOCKET_FOLDER_LENGTH = 107 - len("/tmp/") - 36

# An engine makes no network call of its own (vLLM docs, environment variables).
OFFLINE_ENV = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_DO_NOT_TRACK": "1", "VLLM_NO_USAGE_STATS": "1"}
# What an engine needs besides the arguments. KV cache of the CPU engine in GiB; without a limit vLLM takes a share of the memory of the
# NUMA node. On NPUs everything else is in the image or comes from the recipe.
ACCELERATOR_ENV: t.Dict[str, t.Dict[str, str]] = {
    "ascend": OFFLINE_ENV,
    "cpu": dict(OFFLINE_ENV, VLLM_CPU_KVCACHE_SPACE="1"),
}


# Outside a container: what the images of vllm-ascend set besides the paths (their Dockerfiles); recipes know better.
BARE_ENV = {"OMP_NUM_THREADS": "1", "TASK_QUEUE_ENABLE": "1"}


class SpecError(NpufleetError):
    """A wanted engine that cannot be."""


class EngineSpec(t.NamedTuple):
    """One engine as it shall run. Everything but ``secret_env`` may be shown."""

    name: str
    accelerator: str
    argv: t.Tuple[str, ...]
    env: t.Tuple[t.Tuple[str, str], ...]
    secret_env: t.Tuple[t.Tuple[str, str], ...]
    model: str
    served_model_name: str
    host: str
    port: int
    working_directory: str
    user: t.Optional[str]
    stop_seconds: int
    container: t.Optional[Container] = None
    ray: t.Optional[Ray] = None

    @property
    def base_url(self) -> str:
        """The address that a client on this host uses, without a path."""
        host = WILDCARD_HOSTS.get(self.host, self.host)
        return "http://{0}:{1}".format("[{0}]".format(host) if ":" in host else host, self.port)

    @property
    def headless(self) -> bool:
        """True for a member of a group of several hosts: it has no API, only the head of the group has."""
        return "--headless" in self.argv or self.joins

    @property
    def joins(self) -> bool:
        """True for a host that runs Ray alone: the head starts vLLM's workers on it."""
        return self.ray is not None and not self.ray.head

    @property
    def program(self) -> str:
        """vLLM itself, behind the words that may stand before it, or beside Ray."""
        if self.joins:
            return self.argv[self.argv.index("start") - 1][: -len("ray")] + "vllm"
        return self.argv[self.argv.index("serve") - 1]

    @property
    def options(self) -> t.Tuple[str, ...]:
        """What follows ``vllm serve``."""
        return () if self.joins else self.argv[self.argv.index("serve") + 1 :]

    @property
    def api_key(self) -> t.Optional[str]:
        """The key that requests must carry, or None."""
        return dict(self.secret_env).get("VLLM_API_KEY")

    def public(self) -> t.Dict[str, t.Any]:
        """The spec without its secrets, as shown in diffs and results: plain JSON values."""
        hidden = ("secret_env", "env", "argv", "container", "ray")
        shown: t.Dict[str, t.Any] = {key: value for key, value in self._asdict().items() if key not in hidden}
        shown["argv"] = list(self.argv)
        shown["env"] = dict(self.env)
        shown["secrets"] = sorted(name for name, _value in self.secret_env)
        if self.container is not None:
            shown["container"] = self.container.shown()
        return shown

    def digest(self) -> str:
        """SHA-256 over the whole spec, secrets included: kept only in a file of mode 0600."""
        # What Ray is told are words of argv.
        values = {key: value for key, value in self._asdict().items() if key not in ("container", "ray")}
        if self.container is not None:
            values["container"] = self.container.shown()
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def engine_folder(params: t.Mapping[str, t.Any]) -> str:
    """Return the folder below ``home`` that belongs to the engine, whatever else it is to be.

    :raises SpecError: name or home, another path, the port or the environment is wrong
    """
    _check_names(params)
    return str(params["home"].rstrip("/") + "/engines/" + params["name"])


def build_spec(
    params: t.Mapping[str, t.Any], exists: t.Callable[[str], bool] = os.path.exists, cann: t.Optional[t.Mapping[str, str]] = None
) -> EngineSpec:
    """Build the spec from the options of vllm_engine.

    :param exists: tells whether a path of this host exists; asked for the driver's files alone
    :param cann: what CANN's scripts set on this host, for an engine on NPUs outside a container
    :raises SpecError, ArgumentError, ContainerError, RayError: names the option that is wrong
    """
    folder = engine_folder(params)
    check_owned(params["args"])
    container = build_container(params, folder, exists) if params["runtime"] == "docker" else None
    venv = (params["venv"] or "").rstrip("/")
    env = dict(ACCELERATOR_ENV[params["accelerator"]], **(_folders_env(venv, folder) if container is None else _container_env(folder)))
    if container is None and params["accelerator"] == "ascend":
        env.update(BARE_ENV, **(cann or {}))
    ray = read_ray(params)
    if ray is not None:
        env.update(ray_env(ray, container is not None, folder if container is None else folder + "/work"))
    env.update({str(key): str(value) for key, value in params["env"].items()})
    served = params["served_model_name"] or params["model"].rstrip("/").rpartition("/")[2]
    command = _command(params, served, container, ray)
    _check_lines(dict(params, args=" ".join(command)))
    secrets = {"VLLM_API_KEY": params["api_key"]} if params["api_key"] else {}
    return EngineSpec(
        name=params["name"],
        accelerator=params["accelerator"],
        argv=tuple(command),
        env=tuple(sorted(env.items())),
        secret_env=tuple(sorted(secrets.items())),
        model=params["model"],
        served_model_name=served,
        host=params["host"],
        port=params["port"],
        working_directory=folder,
        user=params["user"],
        stop_seconds=params["stop_timeout"],
        container=container,
        ray=ray,
    )


def _command(params: t.Mapping[str, t.Any], served: str, container: t.Optional[Container], ray: t.Optional[Ray]) -> t.List[str]:
    # Behind a published port the engine listens on every address of its own network.
    host = "0.0.0.0" if container is not None and container.published else params["host"]
    folder = "" if container is not None else (params["venv"] or "").rstrip("/") + "/bin/"
    args = params["args"] if ray is None else dict(params["args"], **{_name_of("distributed-executor-backend", params["args"]): "ray"})
    command = [folder + "vllm", "serve", params["model"], "--host", host, "--port", str(params["port"])]
    command += ["--served-model-name", served, *to_argv(args)]
    if ray is not None:
        shm_bytes = container.shm_bytes if container is not None else None
        command = node_command(ray, command, folder + "ray", folder + "python", shm_bytes, bool(params["api_key"]))
    return [*params["command_prefix"], *command]


def _name_of(option: str, args: t.Mapping[str, t.Any]) -> str:
    """The spelling of an option that somebody has used, so that it is not given twice."""
    return next((key for key in args if normal_name(key) == option), option)


def _container_env(folder: str) -> t.Dict[str, str]:
    """Logs of CANN and of the plugin go below HOME, and compiled kernels outlive the container. PATH is the image's."""
    work = folder + "/work"
    return {
        "HOME": work,
        "TORCHINDUCTOR_CACHE_DIR": work + "/cache/torchinductor",
        "VLLM_CACHE_ROOT": work + "/cache/vllm",
        "XDG_CACHE_HOME": work + "/cache",
    }


def _folders_env(venv: str, folder: str) -> t.Dict[str, str]:
    """Keep every file that vLLM and torch write inside the engine's folder, so that removing the folder removes them."""
    # vLLM never deletes its sockets there, not even in an orderly end (tried with vLLM 0.32).
    temporary = {"TMPDIR": folder + "/" + TEMPORARY} if len(folder) <= SOCKET_FOLDER_LENGTH else {}
    return {
        **temporary,
        "HOME": folder,
        "PATH": venv + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TORCHINDUCTOR_CACHE_DIR": folder + "/cache/torchinductor",
        "VLLM_CACHE_ROOT": folder + "/cache/vllm",
        "XDG_CACHE_HOME": folder + "/cache",
    }


def _check_names(params: t.Mapping[str, t.Any]) -> None:
    if not NAME_PATTERN.match(params["name"]):
        raise SpecError(
            "the engine name {0!r} is not usable as the name of a service".format(params["name"]),
            where="name",
            remedy="Use lower-case letters, digits, - and _, at most 63, beginning with a letter or digit",
        )
    if not 1 <= params["port"] <= 65535:
        raise SpecError("the port {0} does not exist".format(params["port"]), where="port", remedy="Give a port from 1 to 65535")
    in_container = params["runtime"] == "docker"
    _check_bare(params, in_container)
    for option in ("model", "home") if in_container else ("venv", "model", "home"):
        if not str(params[option] or "").startswith("/"):
            raise SpecError(
                "{0} is no absolute path: {1}".format(option, params[option]), where=option, remedy="Give the whole path on the host"
            )
    if not HOME_PATTERN.match(params["home"]):
        raise SpecError(
            "home holds a character that systemd or supervisor would not read as itself: {0!r}".format(params["home"]),
            where="home",
            remedy="Use letters, digits and . _ / @ : + , = - only",
        )
    if params["api_key"] and not KEY_PATTERN.match(params["api_key"]):
        raise SpecError(
            "the API key holds a blank, a line break or another character that no HTTP header may hold",
            where="api_key",
            remedy="Use visible ASCII characters; a key that was read from a file often ends with a line break",
        )
    _check_env(params["env"])


def _check_bare(params: t.Mapping[str, t.Any], in_container: bool) -> None:
    """Options that are for engines outside containers alone."""
    for option in ("command_prefix", "set_env"):
        if params[option] and (in_container or (option == "set_env" and params["accelerator"] != "ascend")):
            raise SpecError(
                "{0} is for an engine {1}outside a container".format(option, "on NPUs " if option == "set_env" else ""),
                where=option,
                remedy="Leave it out, or set vllm_engine_runtime to systemd or supervisor",
            )
    if "serve" in params["command_prefix"]:
        raise SpecError("a command before the engine has the word serve", where="command_prefix", remedy="Name a tool such as numactl")


def _check_lines(params: t.Mapping[str, t.Any]) -> None:
    """Files of services are read line by line, and carriage returns end a line too (systemd.syntax)."""
    for option in ("home", "user", "host", "served_model_name", "model", "venv", "args"):
        if LINE_BREAKS.search(params[option] or ""):
            raise SpecError(
                "a value in {0} holds a line break".format(option),
                where=option,
                remedy="Remove it, or name a file where the option takes one",
            )


def _check_env(env: t.Mapping[str, t.Any]) -> None:
    for key, value in env.items():
        if not ENV_PATTERN.match(str(key)) or LINE_BREAKS.search(str(value)):
            raise SpecError(
                "{0} is no valid environment variable".format(key), where="env", remedy="Use letters, digits and _, and one line of text"
            )
        if SECRET_ENV.search(str(key)):
            raise SpecError(
                "env.{0} looks like a secret, and env is shown in diffs and unit files".format(key),
                where="env",
                remedy="Use api_key for the engine's key",
            )
