# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A store that breaks off, sends something else, or is not ready. It has one list of faults, so all tests that need some are for one server."""

from __future__ import annotations

import pytest

PACKAGES = "/var/lib/npufleet/packages"
FILES = "*nnal*"


@pytest.fixture
def without(openeuler):
    """A server without NNAL and without its file."""
    openeuler.sh("rm -f {0}/*nnal* /usr/local/Ascend/nnal/atb/set_env.sh".format(PACKAGES))
    return openeuler


def asked(store, seen):
    return [(line["status"], line["range"]) for line in store.requests()[len(seen) :]]


def test_a_download_goes_on_where_the_connection_broke(without, store, prepare):
    seen = store.requests()
    store.fault(**{FILES: {"cut_after": 10000, "first": 2}})
    done = prepare(without, "cann")
    assert done.returncode == 0, done.stdout
    assert asked(store, seen) == [(200, None), (206, "bytes=10000-"), (206, "bytes=20000-")]


def test_a_store_that_is_not_ready_is_asked_again(without, store, prepare):
    seen = store.requests()
    store.fault(**{FILES: {"status": 500, "first": 2}})
    done = prepare(without, "cann")
    assert done.returncode == 0, done.stdout
    assert [status for status, _range in asked(store, seen)] == [500, 500, 200]


def test_other_bytes_are_refused_before_anything_is_executed(without, store, prepare):
    executed = without.executions()
    store.fault(**{FILES: {"wrong_bytes": True}})
    failed = prepare(without, "cann")
    assert failed.returncode != 0
    assert "what came has the sum " in failed.stdout
    assert without.executions() == executed
    assert without.sh("ls {0} | grep nnal || true".format(PACKAGES)) == ""

    store.fault()
    done = prepare(without, "cann")
    assert done.returncode == 0, done.stdout


def test_the_store_gives_nothing_without_a_referer(openeuler, store):
    """So the requests of the collection have one."""
    name = next(line["path"] for line in store.requests() if "toolkit_9.0.0" in line["path"]).replace(" ", "%20")
    asks = "import urllib.request as u; print(u.urlopen(u.Request('http://files{0}', headers={1})).status)"
    assert "HTTP Error 403" in openeuler.fails('python3 -c "{0}"'.format(asks.format(name, "{}")))
    assert openeuler.sh('python3 -c "{0}"'.format(asks.format(name, "{'Referer': 'https://www.hiascend.com/'}"))) == "200"
