# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Whether another user may use a path. Asked of the kernel, as that user, so that groups, ACLs and every folder on the way count."""

from __future__ import annotations

import os
import pwd
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

NAMES = {os.R_OK: "read", os.X_OK: "execute", os.R_OK | os.X_OK: "read"}


class Need(t.NamedTuple):
    """A path, and what must be possible with it: os.R_OK, os.X_OK or both."""

    path: str
    mode: int


class AccessError(NpufleetError):
    """A service would not even start."""


def check_access(user: str, needs: t.Sequence[Need]) -> None:
    """Check everything that exists; what is not there yet is left out. Only root may ask for another user.

    :raises AccessError: names the first path that the user cannot use, or the folder on the way to it
    """
    refused = first_refused(user, [need for need in needs if os.path.exists(need.path)])
    if refused is None:
        return
    raise AccessError(
        "the user {0} may not {1} {2}".format(user, NAMES[refused.mode], refused.path),
        where="vllm_engine_user",
        remedy="Give that user the permission, or put it where others may go; everything above it must be open to them as well (o+x)",
    )


def first_refused(user: str, needs: t.Sequence[Need]) -> t.Optional[Need]:
    """Return the first need that the user cannot have, or None. A child process becomes the user and asks."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - what a child does is not measured
        answer = b"?"
        try:
            _become(user)
            answer = str(_refused(needs)).encode()
        finally:
            # Never back into the module, whatever happened.
            os.write(writer, answer)
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    if text == b"?":
        raise AccessError("cannot become the user {0} to look".format(user), where="vllm_engine_user", remedy="Run the task as root")
    return needs[int(text)] if int(text) >= 0 else None


def _refused(needs: t.Sequence[Need]) -> int:
    """Number of the first need that this process cannot have, or -1."""
    return next((place for place, need in enumerate(needs) if not os.access(need.path, need.mode)), -1)


def _become(user: str) -> None:
    entry = pwd.getpwnam(user)
    os.initgroups(user, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
