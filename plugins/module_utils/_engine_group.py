# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""One engine on several hosts: from what vllm_engine says of each part in check mode to what becomes of all of it. Pure.

vLLM cannot take a single member back (a process that comes back waits for a head that serves already), so one part that changed or died means all.
"""

from __future__ import annotations

import typing as t

Part = t.Mapping[str, t.Any]


def plan_group(names: t.Sequence[str], parts: t.Sequence[Part], restart: bool, replace: t.Optional[bool]) -> t.Dict[str, t.Any]:
    """Return what is to be done with a group whose head is the first part.

    :param names: the hosts, in the order of ``parts``
    :param parts: the result ``engine`` of vllm_engine with state started, in check mode, of each host
    :param restart: a restart was asked for, which is its own consent
    :param replace: consent to end the requests of a group that serves; None where nobody said
    :returns: ``launch`` (all parts, anew), ``asks`` (consent is missing), ``kept`` (it was refused), ``waits`` (nothing is to be launched, and
        the head of what runs has never been ready) and ``reasons``, one sentence each
    """
    reasons = _reasons(names, parts)
    interrupts = bool(parts[0]["pid"]) and parts[0]["ready_seconds"] is not None and not restart
    due = bool(reasons) or restart
    return {
        "launch": due and not (interrupts and replace is False),
        "asks": due and interrupts and replace is None,
        "kept": due and interrupts and replace is False,
        "waits": not due and parts[0]["ready_seconds"] is None,
        "reasons": reasons or (["a restart was asked for"] if restart else []),
    }


def _reasons(names: t.Sequence[str], parts: t.Sequence[Part]) -> t.List[str]:
    restarted = [part["restarted"] for part in parts]
    # Those that came back all together, as after a power cut, found each other again.
    alone = any(restarted) and not all(restarted)
    words = []
    for name, part in zip(names, parts):
        if part["differences"]:
            words += ["{0}: {1}".format(name, difference) for difference in part["differences"]]
        elif part["action"] != "keep":
            words.append("{0}: {1}".format(name, "there is none yet" if part["action"] == "create" else "it does not run"))
        elif alone and part["restarted"]:
            words.append("{0}: it died and was started again, and the others do not know it".format(name))
    return words
