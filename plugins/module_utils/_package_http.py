# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""How package files are asked for over HTTP: proxies of the environment, safe redirects, credentials as a header."""

from __future__ import annotations

import base64
import typing as t
import urllib.error
import urllib.parse
import urllib.request

from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import without_password

Opener = t.Callable[..., t.Any]


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect, but never from https to anything else, and takes no password to another host."""

    def redirect_request(self, req: t.Any, fp: t.Any, code: int, msg: str, headers: t.Any, newurl: str) -> t.Any:
        if req.type == "https" and urllib.parse.urlsplit(newurl).scheme != "https":
            raise urllib.error.HTTPError(req.full_url, code, "a redirect from https to {0}".format(without_password(newurl)), headers, fp)
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new is not None and urllib.parse.urlsplit(newurl).netloc != req.host:
            new.headers.pop("Authorization", None)
        return new


def make_opener() -> Opener:
    """An opener with the proxies of the environment."""
    return urllib.request.build_opener(_SafeRedirects).open


def split_credentials(url: str) -> t.Tuple[str, t.Dict[str, str]]:
    """A URL without its credentials, and the header that takes their place: urllib would look up a host of that name."""
    parts = urllib.parse.urlsplit(url)
    credentials, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    secret = base64.b64encode(urllib.parse.unquote(credentials).encode()).decode()
    return urllib.parse.urlunsplit(parts._replace(netloc=host)), {"Authorization": "Basic " + secret}
