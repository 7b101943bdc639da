# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The environment that CANN's scripts make, as plain variables, for an engine on NPUs outside a container.

The scripts are sourced once, by a bash that knows nothing of this session, and what they changed goes into the service. So the diff of an
engine shows what an upgrade of CANN changes, and the service does not depend on a shell. Never run on an NPU.
"""

from __future__ import annotations

import os
import re
import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult, Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

ROOT = "/usr/local/Ascend"
# The first that exists of each row: CANN 8.5 and newer lies in "cann", with a link at the old place (CANN 9.0.1 images); NNAL has ATB, which
# torch-npu loads.
SCRIPTS = (
    ("CANN", (ROOT + "/cann/set_env.sh", ROOT + "/ascend-toolkit/set_env.sh")),
    ("NNAL", (ROOT + "/nnal/atb/set_env.sh",)),
)
DRIVER_FOLDERS = tuple(ROOT + "/driver/" + name for name in ("lib64", "lib64/common", "lib64/driver"))
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The script of NNAL imports torch to learn which C++ ABI it has, which takes seconds and from a cold disk a minute.
SECONDS = 180.0
MARK = "npufleet-environment"
# What bash sets for itself.
SHELL_NAMES = {"_", "SHLVL", "PWD", "OLDPWD"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

Exists = t.Callable[[str], bool]


class SetEnvError(NpufleetError):
    """The environment of CANN cannot be had."""


def find_set_env(given: t.Optional[t.Sequence[str]], exists: Exists = os.path.isfile) -> t.Tuple[t.List[str], t.List[str]]:
    """Return the scripts to source, and in words what is missing.

    :param given: paths that somebody named, all of which must exist; None takes those of SCRIPTS
    """
    if given is not None:
        return [path for path in given if exists(path)], [path for path in given if not exists(path)]
    found, missing = [], []
    for name, paths in SCRIPTS:
        there = [path for path in paths if exists(path)]
        found += there[:1]
        if not there:
            missing.append("{0} ({1})".format(name, " or ".join(paths)))
    return found, missing


def check_found(missing: t.Sequence[str]) -> None:
    """:raises SetEnvError: one message with all that is missing"""
    if missing:
        raise SetEnvError(
            "an engine on NPUs outside a container needs CANN and NNAL on the host, and there is no {0}".format(", no ".join(missing)),
            where="set_env",
            remedy="Install them (role cann), name their set_env.sh in vllm_engine_set_env, or run the engine in a container",
        )


def source_script(scripts: t.Sequence[str]) -> str:
    """Return what bash runs: the environment before, a mark, the scripts, the environment after; each entry ends with a NUL.

    The scripts get no arguments (that of NNAL reads them), and what they print goes to stderr, apart from the answer.
    """
    lines = ["env -0", "printf '%s\\0' {0}".format(MARK)]
    lines += [
        ". {0} >&2 || {{ echo {1} $? >&2; exit 1; }}".format(shlex.quote(path), shlex.quote(path + " ended with")) for path in scripts
    ]
    return "\n".join([*lines, "env -0"]) + "\n"


def parse_environment(stdout: str) -> t.Dict[str, str]:
    """Return the variables that differ after the mark from those before it.

    :raises SetEnvError: there is no mark, or a value that no service file can hold
    """
    before, mark, after = stdout.partition(MARK + "\0")
    if not mark or not after:
        raise SetEnvError("bash gave no environment", where="set_env", remedy="Source the scripts by hand in `env -i bash`, and see")
    old, new = _variables(before), _variables(after)
    changed = {name: value for name, value in new.items() if old.get(name) != value and name not in SHELL_NAMES and NAME.match(name)}
    broken = sorted(name for name, value in changed.items() if re.search(r"[\n\r]", value))
    if broken:
        raise SetEnvError(
            "the scripts set {0} to a text with line breaks".format(broken[0]),
            where="set_env",
            remedy="Name a script without that variable",
        )
    return changed


def _variables(text: str) -> t.Dict[str, str]:
    pairs = (entry.partition("=") for entry in text.split("\0") if "=" in entry)
    return {name: value for name, _sign, value in pairs}


def arrange(env: t.Mapping[str, str], venv: str, exists: Exists = os.path.isdir) -> t.Dict[str, str]:
    """Return the variables with the driver's libraries before those of CANN, whose "devlib" has stubs of them, and with the engine's own
    programs first. Nothing is named twice."""
    arranged = dict(env)
    driver = [folder for folder in DRIVER_FOLDERS if exists(folder)]
    libraries = _joined([*driver, *env.get("LD_LIBRARY_PATH", "").split(":")])
    if libraries:
        arranged["LD_LIBRARY_PATH"] = libraries
    arranged["PATH"] = _joined([venv + "/bin", *env.get("PATH", SYSTEM_PATH).split(":")])
    return arranged


def _joined(parts: t.Iterable[str]) -> str:
    """An empty part would mean the working folder."""
    return ":".join(dict.fromkeys(part for part in parts if part))


def capture(scripts: t.Sequence[str], venv: str, home: str, run: Runner, exists: Exists = os.path.isdir) -> t.Dict[str, str]:
    """Source the scripts in a clean bash, and return what they set, arranged for an engine.

    :param venv: whose Python the script of NNAL shall find
    :param home: HOME of the shell; no file of a user is read
    :raises SetEnvError: a script fails or prints, or takes too long
    """
    bash = find_tool("bash", ["/bin", "/usr/bin"])
    if bash is None:
        raise SetEnvError("the host has no bash, and CANN's scripts are for bash", where="set_env", remedy="Install bash")
    clean = ["/usr/bin/env", "-i", "LC_ALL=C", "HOME=" + home, "PATH={0}/bin:{1}".format(venv, SYSTEM_PATH)]
    result = run([*clean, bash, "--noprofile", "--norc", "-c", source_script(scripts)], timeout=SECONDS)
    _check_quiet(result, scripts)
    return arrange(parse_environment(result.stdout), venv, exists)


def _check_quiet(result: CommandResult, scripts: t.Sequence[str]) -> None:
    said = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    if result.rc == 0 and not said:
        return
    how = "took more than {0:.0f} s".format(SECONDS) if result.timed_out else "failed" if result.rc != 0 else "printed something"
    raise SetEnvError(
        "the environment scripts of CANN {0}: {1}".format(how, said[-1][:300] if said else "no message"),
        where=", ".join(scripts),
        remedy="Source them by hand in `env -i bash --norc`; repair the installation of CANN, or name others in vllm_engine_set_env",
    )


def check_prefix(prefix: t.Sequence[str], find: t.Callable[[str], t.Optional[str]] = find_tool) -> None:
    """:raises NpufleetError: the tool that stands before the engine, such as numactl, is not on the host"""
    if prefix and not (os.access(prefix[0], os.X_OK) if prefix[0].startswith("/") else find(prefix[0])):
        raise NpufleetError(
            "the engine is to be started by {0}, which the host does not have".format(prefix[0]),
            where="command_prefix",
            remedy="Install it (the role kunpeng_host does, or set vllm_engine_install_prerequisites to true), or plan with binding none",
        )


def cann_of(params: t.Mapping[str, t.Any], run: Runner) -> t.Tuple[t.Dict[str, str], t.List[str]]:
    """Return what CANN's scripts set for the engine of these options of vllm_engine, and in words why there is nothing.

    :raises SetEnvError: a script fails or prints, or takes too long
    """
    if params["accelerator"] != "ascend" or params["runtime"] == "docker" or params["state"] in ("absent", "ready", "fetched"):
        return {}, []
    scripts, missing = find_set_env(params["set_env"])
    if missing:
        return {}, missing
    return capture(scripts, (params["venv"] or "").rstrip("/"), "/", run), []


def with_environment(run: Runner, env: t.Mapping[str, str]) -> Runner:
    """Return a runner whose commands get these variables; what a call names itself counts more."""

    def runner(argv: t.Sequence[str], timeout: float, **options: t.Any) -> CommandResult:
        return run(argv, timeout=timeout, **dict(options, env=dict(env, **(options.get("env") or {}))))

    return runner
