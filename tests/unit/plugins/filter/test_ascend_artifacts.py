# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.filter.ascend_artifacts import FilterModule

ascend_artifacts = FilterModule().filters()["ascend_artifacts"]
TOOLKIT = {"name": "toolkit", "version": "9.0.0", "arch": "aarch64"}


def test_files_of_packages():
    (file,) = ascend_artifacts([TOOLKIT])
    assert file == {
        "names": ["toolkit"],
        "file": "Ascend-cann-toolkit_9.0.0_linux-aarch64.zip",
        "url": "https://ascend-repo.obs.cn-east-2.myhuaweicloud.com/CANN/CANN%209.0.0/Ascend-cann-toolkit_9.0.0_linux-aarch64.zip",
        "sha256": "d7b1fd32d60f46735b8bebed8c6238071493f8f62c385e6d7946d23a65c9780e",
        "headers": {"Referer": "https://www.hiascend.com/"},
    }


def test_a_mirror():
    (file,) = ascend_artifacts([TOOLKIT], mirror="https://mirror.example.com")
    assert file["url"].startswith("https://mirror.example.com/CANN/")


@pytest.mark.parametrize("value", [None, "driver", TOOLKIT, ["driver"], 3])
def test_other_input_is_refused(value):
    with pytest.raises(AnsibleFilterError, match="a list of packages"):
        ascend_artifacts(value)


def test_a_package_that_there_is_not():
    with pytest.raises(AnsibleFilterError, match="ascend_artifacts: there is no public download"):
        ascend_artifacts([{"name": "driver", "version": "25.5.0", "chip": "A3", "arch": "aarch64"}])
