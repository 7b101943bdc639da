# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _hccn_text as text_of
from ansible_collections.npufleet.ascend.plugins.module_utils._hccn_text import BusyError, HccnToolError

TLS = (
    "dev_id:0, tls switch[{0}](0:disable, 1:enable), tls alarm time threshold[60]days\ndev_id:0, [pub cert] info:\n\tissuer[/C=CN/CN=ca]\n"
)
PING = """device 0 PING 192.0.2.10
recv seq=0,time=0.067000ms
recv seq=1,time-0.049000ms
recv seq=2,time=0.047000ms
3 packets transmitted, 3 received, 0.00% packet loss
"""
LOSSY = "recv time out seq=0\nrecv seq=1,time=0.097000ms\n3 packets transmitted, 2 received, 33.33% packet loss\n"
HCCS = "device 0 PING 192.0.2.10\n\nThis pkt ping success!\nrecv seq 0, time = 6.067us, L1 plane check result = 0x0\n\n"
HCCS += "1 packets transmitted, 1 received, 0.00% packets loss\nmax time 6.067us\n"
UNSUPPORTED = "The command is not supported on this product.\n"


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (text_of.parse_link, "link status: UP\n", "UP"),
        (text_of.parse_link, "log line before\nlink status : DOWN", "DOWN"),
        (text_of.parse_health, "net health status: Success\n", "Success"),
        (text_of.parse_health, "net health status: Detect ip set \n", "Detect ip set"),
        (text_of.parse_ip, "ipaddr:192.0.2.1\nnetmask:255.255.0.0\n", "192.0.2.1"),
        (text_of.parse_vnic, "vnic link status: UP\nvnic ipaddr: 192.0.2.199\nvnic netmask: 255.255.255.0\n", "192.0.2.199"),
        (text_of.parse_gateway, "default gateway:192.0.2.254\n", "192.0.2.254"),
        (text_of.parse_gateway, "default gateway:192.0.2.254, Iface:eth6\n", "192.0.2.254"),
        (text_of.parse_tls, TLS.format(0), False),
        (text_of.parse_tls, TLS.format(1), True),
        (text_of.parse_ping, PING, (3, 3)),
        (text_of.parse_ping, LOSSY, (3, 2)),
        (text_of.parse_ping, HCCS, (1, 1)),
        (text_of.parse_ping, "device 0 PING 192.0.2.10\nDestination Host Unreachable\n", (1, 0)),
        (text_of.parse_ping, "recv time out seq=0\nrecv time out seq=1\n", (2, 0)),
    ],
)
def test_known_answers(parse, text, expected):
    assert parse("-i 0", text, 0) == expected


@pytest.mark.parametrize(
    "parse",
    [
        text_of.parse_link,
        text_of.parse_health,
        text_of.parse_ip,
        text_of.parse_vnic,
        text_of.parse_gateway,
        text_of.parse_tls,
        text_of.parse_ping,
    ],
)
def test_what_is_no_value(parse):
    assert parse("-i 0", UNSUPPORTED, 1) is None
    assert parse("-i 0", "Get ip failed, because no ip was preset there!\n", 13) is None
    with pytest.raises(BusyError):
        parse("-i 0", "hccn_tool is busy, please try again.\n", 1)
    with pytest.raises(HccnToolError, match=r"refuses this user.*Run as root"):
        parse("-i 0", "permission denied: pls check this cmd run permission.\n", 1)
    with pytest.raises(HccnToolError, match=r"unknown answer: 'net flux: 7', exit code 1. Where: hccn_tool -i 0. What to do: Report"):
        parse("-i 0", "\n net flux: 7 \n", 1)
    with pytest.raises(HccnToolError, match=r"unknown answer: ''. Where"):
        parse("-i 0", "", 0)


def test_an_answer_with_another_exit_code_is_none():
    with pytest.raises(HccnToolError, match="exit code 3"):
        text_of.parse_link("-i 0 -link -g", "link status: UP", 3)


def test_hccn_conf():
    text = "# set by the site\n\nsend_arp_status=1\naddress_0=192.0.2.9\nnetmask_0=255.255.255.0\naddress_0 = 192.0.2.1\naddress_12=192.0.2.2\n"
    assert text_of.parse_conf(text, "/etc/hccn.conf") == {0: "192.0.2.1", 12: "192.0.2.2"}
    with pytest.raises(HccnToolError, match=r"line 2 is no setting: '- ip'. Where: /etc/hccn.conf. What to do: "):
        text_of.parse_conf("address_0=192.0.2.1\n- ip\n", "/etc/hccn.conf")
