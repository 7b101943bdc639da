# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.npufleet.ascend.plugins.modules import group_info
from ansible_collections.npufleet.ascend.tests.unit.plugins.modules.module_runner import run_module

TOOL = """#!/bin/sh
case "$*" in
  "-i 0 -link -g") echo "link status: UP" ;;
  "-i 0 -ping -g address 192.0.2.9") echo "3 packets transmitted, 3 received, 0.00% packet loss" ;;
  *) echo "The command is not supported on this product."; exit 1 ;;
esac
"""


@pytest.mark.parametrize("check", [False, True])
def test_a_host(tmp_path: Path, check: bool) -> None:
    tool = tmp_path / "hccn_tool"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    options: t.Dict[str, t.Any] = {"hccn_tool": str(tool), "hccn_conf": str(tmp_path / "none"), "chips": [0], "interfaces": ["lo"]}
    options["pings"] = [{"chip": 0, "address": "192.0.2.9"}]
    result = run_module(group_info.main, options, check=check)
    assert (result["failed"], result["changed"]) == (False, False)
    group = result["group"]
    assert group["npus"]["0"]["link"] == "UP" and group["npus"]["0"]["tls"] is None and group["errors"] == []
    assert group["pings"][0]["received"] == 3 and group["mtu"]["lo"] > 0
    clock = group["clock"]
    assert clock["age"] >= 0 and clock["time"] > 1700000000 and clock["synchronised"] in (True, False, None)
