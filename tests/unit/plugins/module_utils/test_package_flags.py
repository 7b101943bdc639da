# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._package_flags import (
    CAUSES,
    EXISTING,
    FLAGS,
    FRESH,
    REBOOT_WORDS,
    REMOVE,
    Options,
    can_check,
    explain,
    install_options,
    plain,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._package_table import KINDS

OTHER = Options("/opt/Ascend", "npu", "npus")


@pytest.mark.parametrize(
    ("kind", "how", "options", "words"),
    [
        ("driver", FRESH, Options(), "--full --quiet --install-for-all"),
        ("driver", EXISTING, Options(), "--upgrade --quiet"),
        ("driver", REMOVE, Options(), "--uninstall"),
        (
            "driver",
            FRESH,
            OTHER,
            "--full --quiet --install-for-all --install-username=npu --install-usergroup=npus --install-path=/opt/Ascend",
        ),
        ("driver", EXISTING, OTHER, "--upgrade --quiet"),
        ("firmware", FRESH, Options(), "--full --quiet"),
        ("firmware", EXISTING, Options(), "--upgrade --quiet"),
        ("firmware", FRESH, OTHER, "--full --quiet --install-path=/opt/Ascend"),
        ("toolkit", FRESH, Options(), "--install --quiet --install-for-all"),
        ("ops", EXISTING, Options(), "--upgrade --quiet"),
        ("nnal", FRESH, OTHER, "--install --quiet --install-for-all --install-path=/opt/Ascend"),
        ("docker_runtime", FRESH, Options(), "--install --install-scene=docker"),
        (
            "docker_runtime",
            FRESH,
            Options(runtime_config="/var/own.json"),
            "--install --install-scene=docker --config-file-path=/var/own.json",
        ),
        ("docker_runtime", EXISTING, Options(runtime_config="/var/own.json"), "--upgrade"),
        ("docker_runtime", REMOVE, OTHER, "--uninstall"),
        ("toolbox", FRESH, Options(), "--install --quiet"),
    ],
)
def test_the_command_line(kind, how, options, words):
    assert " ".join(install_options(kind, how, options)) == words


def test_every_kind_has_its_row():
    assert sorted(FLAGS) == sorted(KINDS)
    for kind, flags in FLAGS.items():
        # The driver's questions go on for ever after a capital Y; the licence of the Docker runtime was tried with one.
        assert flags.answer == ("Y" if kind == "docker_runtime" else "y")
        assert flags.scripts and flags.role
    assert not any("--quiet" in word for how in FLAGS["docker_runtime"][:3] for word in how)


@pytest.mark.parametrize(
    ("kind", "version", "known"),
    [
        ("docker_runtime", "26.0.0", True),
        ("docker_runtime", "7.3.0", True),
        ("docker_runtime", "26.1.0", False),
        ("docker_runtime", "26.2.0", False),
        ("driver", "26.1.0", True),
        ("toolkit", "9.0.0", True),
    ],
)
def test_who_knows_check(kind, version, known):
    assert can_check(kind, version) is known


@pytest.mark.parametrize(
    ("line", "meaning", "remedy"),
    [
        (
            "[Driver] [2026] [ERROR]ERR_NO:0x0091;ERR_DES:HwHiAiUser not exists!",
            "the user or group is missing (0x0091)",
            "Make user and group",
        ),
        ("[ERROR]ERR_NO:0x0094;ERR_DES:There is already a process", "another installer runs (0x0094)", "Wait"),
        ("ERR_NO:0x0004;ERR_DES:x", "a combination of options that this version refuses (0x0004)", "Report"),
        ("ERR_NO:0x0777;ERR_DES: something new", "something new (0x0777)", "/var/log/ascend_seclog"),
        ("\x1b[31mThe davinci nodes are occupied by some processes\x1b[0m", "something still uses the NPUs", "Stop the processes"),
        ("[ERROR]The list of missing tools: lspci,ifconfig,", "the host lacks tools: lspci,ifconfig", "Install them"),
        ("[ERROR]free space only 20M, cannot install", "the disk is too full", "Free space"),
        ("[ERROR]Drv_dkms_env_check failed, details in : x", "no kernel modules fit the running kernel", "headers"),
        ("[WARNING]Download and install the 23.0.RC1 driver package. Then", "the firmware is too old for this step", "23.0.RC1"),
        ("[ERROR] [2026] some other text", "[2026] some other text", "/var/log/ascend_seclog"),
        ("[INFO] all is well", "", ""),
    ],
)
def test_what_a_log_says(line, meaning, remedy):
    said, what_to_do = explain(["before", line, "after"])
    assert said == meaning
    assert remedy in what_to_do if remedy else what_to_do == ""


def test_what_says_more_wins():
    lines = ["[ERROR] details in the log", "ERR_NO:0x0091;ERR_DES:x", "The davinci nodes are occupied by some processes"]
    assert explain(lines)[0] == "something still uses the NPUs"
    assert explain(lines[:2])[0] == "the user or group is missing (0x0091)"
    assert explain([]) == ("", "")


def test_every_error_number_of_the_installer_is_explained():
    numbers = {number for cause in CAUSES for number in re.findall(r"0x00[0-9]+", cause.pattern)}
    known = {"0x0003", "0x0004", "0x0080", "0x0089", "0x0090", "0x0091", "0x0093", "0x0094", "0x0095", "0x0096"}
    assert numbers == known
    assert all(cause.remedy for cause in CAUSES)


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("Driver package installed successfully! Reboot needed for installation/upgrade to take effect!", True),
        ("Firmware package installed successfully! Reboot now or after driver installation for the upgrade to take effect", True),
        ("Driver package installed successfully! The new version takes effect immediately.", False),
        ("Do not power off or restart the system during the installation", False),
    ],
)
def test_words_about_a_reboot(line, needed):
    assert bool(REBOOT_WORDS.search(line)) is needed


def test_a_line_without_colours_and_control_characters():
    assert plain("\x1b[33m warn\x07ing\r\n") == "warning"
