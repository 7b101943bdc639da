# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import REASONS, classify, failure

LOG = "DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\n"
HELP = "Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n\nCommands:\n       -m    Show all device's mapping information\n"
LOADER = "npu-smi: error while loading shared libraries: {0}: cannot open shared object file: No such file or directory\n"


@pytest.mark.parametrize(
    ("stdout", "stderr", "rc", "reason", "details"),
    [
        (LOG + "dcmi module initialize failed. ret is -8005\n", "", 187, "dcmi_init_failed", {"dcmi_code": -8005}),
        ("dcmi module initialize failed. ret is -8002\n", "", 0, "dcmi_init_failed", {"dcmi_code": -8002}),
        ("dcmi model initialized failed, because the device is used. ret is -8020\n", "", 172, "device_in_use", {"dcmi_code": -8020}),
        ("dcmi module initialize failed.\n", "", 187, "dcmi_init_failed", {}),
        ("npu get board type failed. ret is -8255\n", "", 193, "board_unknown", {}),
        ("There is no NPU card on this server.\n", "", 0, "no_npu", {"npu_count": 0}),
        (HELP, "", 0, "help_printed", {"npu_count": 0}),
        ("This device does not support querying sio-info.\n", "", 0, "not_supported", {"query": "sio-info"}),
        ("\tThis device does not support querying hccs.\n", "", 0, "not_supported", {"query": "hccs"}),
        ("This command cannot be executed on a container.\n", "", 0, "not_in_container", {}),
        ("\tMessage                        : This command cannot be executed on a VM.\n", "", 0, "not_in_container", {}),
        ("This command can be executed only by the root user.\n", "", 214, "root_required", {}),
        ("Invalid card id.\nError parameter of -i\n" + HELP, "", 215, "invalid_card_id", {}),
        ("Invalid chip id.\nError parameter of -c\n" + HELP, "", 215, "invalid_card_id", {}),
        ("This command must input card id.\n", "", 215, "invalid_card_id", {}),
        ('Failed to query "spod-info" info.\n', "", 211, "query_failed", {}),
        ("Failed to get card number.\n", "", 197, "query_failed", {}),
        ("Failed to execute npu-smi info. ret is -8006.\n", "", 186, "query_failed", {}),
        ("npu_get_card_device_id failed. err is -9008\nFailed to query card total info.\n", "", 208, "query_failed", {}),
        ("Command or option is not found.\n" + HELP, "", 211, "unknown_command", {}),
        ("Are you sure you want to continue setting?(Y/N)", "", 200, "confirmation_required", {}),
        ("", LOADER.format("libdrvdsmi_host.so"), 127, "missing_library", {"library": "libdrvdsmi_host.so"}),
        ("", LOADER.format("libc_sec.so"), 127, "missing_library", {"library": "libc_sec.so"}),
        ("", "bash: npu-smi: command not found\n", 127, "command_not_found", {}),
        ("", "bash: /usr/local/sbin/npu-smi: Permission denied\n", 126, "permission_denied", {}),
        ("", "", 187, "dcmi_init_failed", {"dcmi_code": -8005, "rc": 187}),
        ("", "", 172, "device_in_use", {"dcmi_code": -8020, "rc": 172}),
        ("", "", 215, "invalid_card_id", {"rc": 215}),
        ("", "", 214, "root_required", {"rc": 214}),
        ("", "", 208, "query_failed", {"rc": 208}),
        ("", "", 200, "confirmation_required", {"rc": 200}),
        ("", "", 124, "timeout", {"rc": 124}),
        ("", "", 126, "permission_denied", {"rc": 126}),
        ("", "", 127, "command_not_found", {"rc": 127}),
        ("", "", 3, "failed", {"rc": 3}),
        ("", "", -11, "crashed", {"signal": 11}),
        ("", "", None, "cannot_execute", {}),
    ],
)
def test_failures(stdout: str, stderr: str, rc: t.Optional[int], reason: str, details: t.Dict[str, t.Any]) -> None:
    found = classify(stdout, stderr, rc)
    assert found is not None
    assert (found.reason, found.details) == (reason, details)
    assert "{" not in str(found)


def test_a_time_limit_beats_what_was_printed() -> None:
    found = classify("| npu-smi 25.5.0   Version: 25.5.0 |\n", "", None, timed_out=True)
    assert found is not None
    assert found.reason == "timeout"


@pytest.mark.parametrize(
    "text",
    [
        LOG,
        "",
        "\tError Information              : Permission denied, Failed to query card\n",
        "| 0       0       | 4711       | Permission denied        | 12      |\n",
        "+--- Permission denied ---+\n",
    ],
)
def test_data_is_no_message(text: str) -> None:
    assert classify(text, "", 0) is None


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_each_reason_has_a_message_and_a_remedy(reason: str) -> None:
    found = failure(reason, library="libx.so", dcmi_code=-8005, query="q", signal=9, rc=1)
    assert found.message
    assert found.remedy[0].isupper()
    assert str(found) == "{0}. {1}.".format(found.message, found.remedy)
