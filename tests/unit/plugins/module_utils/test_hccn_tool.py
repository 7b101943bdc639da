# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandResult
from ansible_collections.npufleet.ascend.plugins.module_utils._hccn_tool import BUSY_TRIES, HccnTool, no_tool

ANSWERS = {
    "-link": "link status: UP",
    "-net_health": "net health status: Success",
    "-ip": "ipaddr:192.0.2.1\nnetmask:255.255.255.0",
    "-gateway": "default gateway:192.0.2.254",
    "-tls": "dev_id:0, tls switch[0](0:disable, 1:enable), tls alarm time threshold[60]days",
    "-vnic": "vnic link status: UP\nvnic ipaddr: 198.51.100.1",
}
GOOD = {
    "link": "UP",
    "health": "Success",
    "address": "192.0.2.1",
    "gateway": "192.0.2.254",
    "tls": False,
    "vnic_address": None,
    "errors": [],
}
BUSY = "hccn_tool is busy, please try again."
PING = "3 packets transmitted, {0} received, 0% packet loss"


class Fake:
    """Answers by option; a list gives one answer after the other, None never answers."""

    def __init__(self, **answers):
        self.answers = dict(ANSWERS, **{"-" + key: value for key, value in answers.items()})
        self.calls = []
        self.slept = []

    def run(self, argv, timeout):
        self.calls.append(argv[3:])
        assert (argv[:3], timeout) == (["/t/hccn_tool", "-i", "0"], 5.0)
        answer = self.answers[argv[3]]
        answer = answer.pop(0) if isinstance(answer, list) else answer
        return CommandResult(argv, None if answer is None else 0, answer or "", "", timed_out=answer is None)

    def tool(self):
        return HccnTool("/t/hccn_tool", self.run, Clock(lambda: 0.0, self.slept.append), 5.0)


def test_a_device():
    fake = Fake()
    assert fake.tool().device(0) == GOOD
    assert [call for call in fake.calls if call[1:] != ["-g"]] == []
    assert "-vnic" not in [call[0] for call in fake.calls]
    assert fake.tool().device(0, vnic=True) == dict(GOOD, vnic_address="198.51.100.1")


def test_one_unknown_answer_leaves_the_others():
    said = Fake(link="link flux: 7").tool().device(0)
    assert {key: said[key] for key in GOOD if key != "errors"} == dict({key: GOOD[key] for key in GOOD if key != "errors"}, link=None)
    (error,) = said["errors"]
    assert "'link flux: 7'" in error and "hccn_tool -i 0 -link -g" in error


def test_a_device_that_hangs_is_asked_nothing_more():
    fake = Fake(ip=None)
    said = fake.tool().device(0, vnic=True)
    assert (said["health"], said["address"], said["tls"]) == ("Success", None, None)
    assert [call[0] for call in fake.calls] == ["-link", "-net_health", "-ip"]
    assert said["errors"] == [
        "hccn_tool did not answer within 5 s. Where: hccn_tool -i 0 -ip -g. What to do: Look for a hung NPU with npu-smi info and dmesg."
    ]


def test_a_busy_tool_is_asked_again():
    fake = Fake(link=[BUSY, BUSY, "link status: UP"])
    assert fake.tool().device(0) == GOOD
    assert fake.slept == [0.5, 0.5]
    fake = Fake(link=[BUSY] * BUSY_TRIES)
    assert "hccn_tool is busy" in fake.tool().device(0)["errors"][0]
    assert len(fake.slept) == BUSY_TRIES - 1


@pytest.mark.parametrize(
    ("answer", "expected", "calls"),
    [
        (PING.format(3), (3, 3, None), 1),
        (PING.format(0), (3, 0, None), 1),
        ([PING.format(2), PING.format(3)], (3, 3, None), 2),
        ([PING.format(2), PING.format(1)], (3, 1, None), 2),
        (None, (1, 0, None), 1),
        ("This device does not support this function.", (None, None, None), 1),
    ],
)
def test_pings(answer, expected, calls):
    fake = Fake(ping=answer)
    row = fake.tool().ping(0, "192.0.2.9", "ping")
    assert (row["chip"], row["address"]) == (0, "192.0.2.9")
    assert (row["sent"], row["received"], row["error"]) == expected
    assert fake.calls == [["-ping", "-g", "address", "192.0.2.9"]] * calls


def test_a_ping_with_an_unknown_answer():
    row = Fake(hccs_ping="what").tool().ping(0, "192.0.2.9", "hccs_ping")
    assert row["sent"] is None and "'what'" in row["error"]


def test_no_tool():
    assert str(no_tool()).startswith("hccn_tool is not installed. Where: PATH, /usr/local/Ascend/driver/tools, ")
