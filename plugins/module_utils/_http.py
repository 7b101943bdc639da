# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""One HTTP request to an engine on this host: never through a proxy or after a redirect, always with a time limit."""

from __future__ import annotations

import json
import re
import typing as t
import urllib.error
import urllib.request

# An answer of an engine that is longer than this is not one that these checks ask for.
MAX_BYTES = 4 * 1024 * 1024
# http.client names a header that it refuses in its message, the key in it.
KEY_PATTERN = re.compile(r"[\x21-\x7e]+\Z")


class HttpAnswer(t.NamedTuple):
    """``status`` is None when no HTTP answer came; ``error`` then says why."""

    status: t.Optional[int]
    body: str
    error: str = ""

    def json(self) -> t.Any:
        """Return the decoded body, or None where it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


Fetch = t.Callable[..., HttpAnswer]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """urllib would send the key on to wherever the answer points."""

    def redirect_request(self, *_args: t.Any) -> None:
        return None


def fetch(url: str, payload: t.Any = None, api_key: t.Optional[str] = None, timeout: float = 10.0) -> HttpAnswer:
    """GET ``url``, or POST ``payload`` to it as JSON, and return whatever came back."""
    headers = {"Accept": "application/json"}
    data = None
    if payload is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(payload).encode()
    if api_key:
        if not KEY_PATTERN.match(api_key):
            return HttpAnswer(None, "", "the API key holds a blank, a line break or another character that no header may hold")
        headers["Authorization"] = "Bearer " + api_key
    try:
        with _open(urllib.request.Request(url, data=data, headers=headers), timeout) as answer:
            return HttpAnswer(answer.getcode(), answer.read(MAX_BYTES).decode("utf-8", "replace"))
    except (OSError, ValueError) as exc:
        return HttpAnswer(None, "", str(getattr(exc, "reason", exc)))
    except Exception as exc:  # http.client raises its own family when a server dies in mid-answer
        return HttpAnswer(None, "", "{0}: {1}".format(type(exc).__name__, exc))


def _open(request: urllib.request.Request, timeout: float) -> t.Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
    try:
        return opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as exc:
        return exc  # an answer like any other
