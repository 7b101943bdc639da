# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Run one external command: argv list, C locale, stdin closed or fed, and always a time limit.

AnsibleModule.run_command has no time limit, and npu-smi is known to hang.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

# A command that ignores SIGTERM gets this long before SIGKILL, in seconds.
GRACE_SECONDS = 2.0


class CommandResult(t.NamedTuple):
    """What one command did. ``rc`` is None when it hit the time limit or could not be started."""

    argv: t.List[str]
    rc: t.Optional[int]
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def text(self) -> str:
        """stdout and stderr, for tools that print their errors on either."""
        return self.stdout + self.stderr


class CommandError(NpufleetError):
    """A command could not be started at all."""


Runner = t.Callable[..., CommandResult]


def find_tool(name: str, extra_dirs: t.Sequence[str] = ()) -> t.Optional[str]:
    """Return the absolute path of a regular, executable file, or None.

    ``extra_dirs`` come after PATH. A directory of that name, as bad bind mounts leave behind, is not a tool; relative parts of PATH
    are left out.
    """
    for folder in os.environ.get("PATH", "").split(os.pathsep) + list(extra_dirs):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def run(
    argv: t.Sequence[str],
    timeout: float,
    env: t.Optional[t.Mapping[str, str]] = None,
    stdin: t.Optional[str] = None,
    cwd: t.Optional[str] = None,
) -> CommandResult:
    """Run ``argv`` for at most ``timeout`` seconds in a process group of its own.

    :param env: added to the environment of this process; LC_ALL is always C
    :param stdin: text to feed; without it stdin is closed
    :raises CommandError: when the file cannot be executed
    """
    full_env = dict(os.environ, LC_ALL="C", LANGUAGE="C")
    full_env.update(env or {})
    try:
        # run_command has no time limit, and this code is not given a module.
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            list(argv),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=full_env,
            cwd=cwd,
            start_new_session=True,
        )
    except OSError as exc:
        raise CommandError(
            "cannot execute {0}: {1}".format(argv[0], os.strerror(exc.errno) if exc.errno else exc),
            where=" ".join(argv),
            remedy="Check that the file is there, executable, and made for this machine",
        ) from exc
    try:
        out, err = process.communicate(None if stdin is None else stdin.encode(), timeout=timeout)
    except subprocess.TimeoutExpired:
        out, err = _kill(process)
        return CommandResult(list(argv), None, _text(out), _text(err), timed_out=True)
    return CommandResult(list(argv), process.returncode, _text(out), _text(err))


def _kill(process: subprocess.Popen[bytes]) -> t.Tuple[bytes, bytes]:
    """Stop the whole process group and return what it printed so far."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signum)
        try:
            return process.communicate(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    return b"", b""  # a process in uninterruptible sleep cannot be waited for


def _text(raw: t.Optional[bytes]) -> str:
    return (raw or b"").decode("utf-8", "replace")
