# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._gateway_stats import (
    Server,
    Worker,
    parse_processes,
    parse_servers,
    parse_states,
    seconds_of,
)

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "haproxy"
BITS = [
    ("0", "ready"), ("1", "maintenance"), ("2", "maintenance"), ("5", "maintenance"), ("32", "maintenance"), ("64", "maintenance"),
    ("8", "drain"), ("16", "drain"), ("9", "maintenance"),
]  # fmt: skip


def recorded(name):
    return (FIXTURES / (name + "_2.6.12.txt")).read_text(encoding="utf-8")


def test_processes():
    assert parse_processes(recorded("proc")) == [Worker("@!539 ", 539, 2, False), Worker("@!440 ", 440, 93643, True)]


@pytest.mark.parametrize("text", ["", "nonsense", "#<PID>\n1 master 0 0d00h00m01s 2.6\n# workers\n# old workers\n2 worker 1 0d00h00m01s 2.6\n",
                                  "# workers\nx worker 0 0d00h00m01s 2.6\n", "# workers\n1 worker 0 later 2.6\n", "# workers\n1 0d00h00m01s\n"])  # fmt: skip
def test_no_processes(text):
    with pytest.raises(NpufleetError, match="HAProxy answered 'show proc' with something else"):
        parse_processes(text)


@pytest.mark.parametrize(("text", "seconds"), [("0d00h01m26s", 86), ("26s", 26), ("", None), ("0", None), ("2.6.12", None)])
def test_seconds(text, seconds):
    assert seconds_of(text) == seconds


def test_servers():
    servers = parse_servers(recorded("stat"), "engines")
    assert servers["one"] == Server("one", 0, "UP", "L7OK", "UP L7OK", "127.0.0.1:8001")
    assert [(server.name, server.operational) for server in servers.values()] == [("one", "up"), ("two", "up")]


HEAD = "# pxname,svname,qcur,scur,status,check_status,last_chk,addr\n"


@pytest.mark.parametrize(
    ("status", "check", "operational"),
    [
        ("UP", "L7OK", "up"), ("UP 1/2", "* L7OK", "up"), ("no check", "", "up"), ("DRAIN", "L7OK", "up"),
        ("DOWN", "L4CON", "down"), ("DOWN 1/2", "L7OK", "down"), ("NOLB", "L7STS", "down"), ("MAINT", "", "unknown"),
        ("MAINT (via x/y)", "", "unknown"),
    ],
)  # fmt: skip
def test_operational(status, check, operational):
    text = HEAD + 'other,a,0,9,UP,L7OK,,x:1\nengines,a,2,3,{0},{1},"Refused, so",x:1\n'.format(status, check)
    server = next(iter(parse_servers(text, "engines").values()))
    assert (server.operational, server.sessions, server.check) == (operational, 5, check.lstrip("* "))
    assert server.reason.endswith("Refused, so")


@pytest.mark.parametrize(("text", "what"), [
    ("", "something else"), ("Unknown command\n", "something else"), ("# pxname,svname\n", "something else"),
    (HEAD + "engines,a,0,many,UP,L7OK,,x:1\n", "something else"), (HEAD + "engines,a\n", "something else"),
    ("No such proxy.\n", "no backend 'engines'"), (HEAD, "no backend 'engines'"),
])  # fmt: skip
def test_no_servers(text, what):
    with pytest.raises(NpufleetError, match=what):
        parse_servers(text, "engines")


def test_states():
    assert parse_states(recorded("states"), "engines") == {"one": "ready", "two": "ready"}
    assert parse_states(recorded("states"), "other") == {}


@pytest.mark.parametrize(("bits", "state"), BITS)
def test_bits_of_a_state(bits, state):
    assert parse_states("1\n# be_name srv_name srv_admin_state\nengines a {0}\n".format(bits), "engines") == {"a": state}


@pytest.mark.parametrize(("text", "what"), [
    ("", "something else"), ("2\n# be_name srv_name srv_admin_state\n", "something else"), ("1\n# be_name\n", "something else"),
    ("1\n# be_name srv_name srv_admin_state\nengines a x\n", "something else"), ("1\n# be_name srv_name srv_admin_state\nengines a\n", "something else"),
    ("Can't find backend.\n", "no backend"),
])  # fmt: skip
def test_no_states(text, what):
    with pytest.raises(NpufleetError, match=what):
        parse_states(text, "engines")
