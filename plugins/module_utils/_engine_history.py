# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The specs with which an engine has answered, in its folder: what a failed or regretted upgrade goes back to.

Each is kept as the options of vllm_engine, without the key, so that going back is an ordinary call with other options.
"""

from __future__ import annotations

import contextlib
import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import read_text, write_text

HISTORY_NAME = "history.json"
# What _engine keeps of the last launch.
LAUNCH_NAME = "launch.json"
# The present one, and the one before.
LENGTH = 2
# What makes an engine. Its name and home say where it is, its key is a secret, and the rest is about one call.
RECORDED = (
    "accelerator",
    "runtime",
    "venv",
    "container",
    "model",
    "served_model_name",
    "host",
    "port",
    "args",
    "ray",
    "env",
    "set_env",
    "command_prefix",
    "user",
    "plan",
    "ready_url",
    "wait_timeout",
    "stop_timeout",
)

Options = t.Mapping[str, t.Any]
Entry = t.Dict[str, t.Any]


def remember(folder: str, options: Options, digest: str) -> None:
    """Note that the engine answered with these options. Those that were tried after an earlier time with the same are forgotten.

    A part of a group is looked at in slices (``wait`` is False) until all parts are ready, and then once more: what counts is that all were.

    :param digest: that of the spec of this call, for an engine whose launch has left no record
    :raises OSError: the folder cannot be written
    """
    if not options["wait"]:
        return
    launched = read_text(os.path.join(folder, LAUNCH_NAME))
    # A call that only waits does not run CANN's scripts, so the digest of its own spec is another one.
    digest = parse_launch(launched) or digest
    entries = _read(folder)
    if entries and entries[-1]["digest"] == digest:
        return
    known = [entry["digest"] for entry in entries]
    if digest in known:
        entries = entries[: known.index(digest)]
    launch = _parse(launched)
    # Parts of a group that changed together started together; each alone cannot tell which specs belong to which.
    since = launch.get("started_at") if isinstance(launch, dict) else None
    entries.append({"digest": digest, "since": since, "options": {key: options[key] for key in RECORDED}})
    text = json.dumps(entries[-LENGTH:], sort_keys=True, indent=2) + "\n"
    write_text(os.path.join(folder, HISTORY_NAME), text, 0o600)


def restored(options: Options, folder: str) -> t.Dict[str, t.Any]:
    """The options with those on top with which the engine answered last, before the spec that is in place.

    Where it has never answered with others, or where it is on its way back already, they are those of the spec in place.

    :raises NpufleetError: it has never answered
    """
    entries = _read(folder)
    if not entries:
        raise NpufleetError(
            "the engine {0} has never answered, so there is nothing to go back to".format(options["name"]),
            where=os.path.join(folder, HISTORY_NAME),
            remedy="Bring it to state started with options that work",
        )
    launch = _parse(read_text(os.path.join(folder, LAUNCH_NAME)))
    current = launch.get("digest") if isinstance(launch, dict) else None
    starting = isinstance(launch, dict) and launch.get("status") == "starting"
    back = [entry for entry in entries if (entry["digest"] == current) is starting]
    return dict(options, **(back or [entry for entry in entries if entry["digest"] != current] or entries)[-1]["options"])


def parse_entries(text: t.Optional[str]) -> t.List[Entry]:
    """The specs of the text of history.json, the last one at the end; none where there is no such file, or somebody else wrote it."""
    entries = _parse(text)
    if isinstance(entries, list) and all(isinstance(entry, dict) and {"digest", "options"} <= set(entry) for entry in entries):
        return entries
    return []


def parse_launch(text: t.Optional[str]) -> t.Optional[str]:
    """The digest of the spec in place by the text of launch.json; None where a launch was interrupted, or there was none."""
    launch = _parse(text)
    digest = launch.get("digest") if isinstance(launch, dict) else None
    return digest if isinstance(digest, str) else None


def _parse(text: t.Optional[str]) -> t.Any:
    """What cannot be read was written by somebody else, and means nothing."""
    with contextlib.suppress(ValueError):
        return json.loads(text or "null")
    return None


def _read(folder: str) -> t.List[Entry]:
    return parse_entries(read_text(os.path.join(folder, HISTORY_NAME)))
