# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import base64
import email.message
import urllib.error
import urllib.request

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._package_http import _SafeRedirects, make_opener, split_credentials


@pytest.mark.parametrize(
    ("url", "plain", "secret"),
    [
        ("https://example.com/a?b=c", "https://example.com/a?b=c", None),
        ("https://me:secret@example.com:8443/a", "https://example.com:8443/a", "me:secret"),
        ("https://me:p%40ss@example.com/a", "https://example.com/a", "me:p@ss"),
        ("http://token@[2001:db8::1]/a", "http://[2001:db8::1]/a", "token"),
    ],
)
def test_credentials_become_a_header(url, plain, secret):
    expected = {"Authorization": "Basic " + base64.b64encode(secret.encode()).decode()} if secret else {}
    assert split_credentials(url) == (plain, expected)


def redirected(url, target):
    request = urllib.request.Request(url, headers={"Authorization": "Basic x", "Referer": "r", "Range": "bytes=5-"})
    return _SafeRedirects().redirect_request(request, None, 302, "Found", email.message.Message(), target)


@pytest.mark.parametrize(
    ("url", "target", "keeps_password"),
    [
        ("https://a.example.com/x", "https://a.example.com/y", True),
        ("https://a.example.com/x", "https://b.example.com/y", False),
        ("https://a.example.com/x", "https://a.example.com:8443/y", False),
        ("http://a.example.com/x", "https://a.example.com/y", True),
        ("http://a.example.com/x", "http://b.example.com/y", False),
    ],
)
def test_a_redirect_keeps_what_the_server_needs(url, target, keeps_password):
    new = redirected(url, target)
    assert new.full_url == target
    assert (new.get_header("Referer"), new.get_header("Range")) == ("r", "bytes=5-")
    assert (new.get_header("Authorization") is not None) is keeps_password


@pytest.mark.parametrize("target", ["http://a.example.com/y", "ftp://a.example.com/y", "http://me:secret@a.example.com/"])
def test_nothing_leads_out_of_https(target):
    with pytest.raises(urllib.error.HTTPError) as caught:
        redirected("https://a.example.com/x", target)
    assert "a redirect from https" in str(caught.value) and "secret" not in str(caught.value)


def test_proxies_of_the_environment_are_used(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://proxy.example.com:3128")
    handlers = make_opener().__self__.handlers
    proxies = [handler.proxies for handler in handlers if isinstance(handler, urllib.request.ProxyHandler)]
    assert proxies[0]["https"] == "http://proxy.example.com:3128"
    assert any(isinstance(handler, _SafeRedirects) for handler in handlers)
