# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.filter import bundle_plan

ROOT = pathlib.Path(__file__).resolve().parents[4]
KNOWN = yaml.safe_load((ROOT / "roles/offline_bundle/vars/main.yml").read_text(encoding="utf-8"))["__offline_bundle_systems"]
SYSTEMS = {"debian-12": {"family": "debian", "repositories": [{"url": "http://d", "suites": ["s"], "key": "/k"}]}}


def test_a_plan():
    plan = bundle_plan.FilterModule().filters()["bundle_plan"]
    host = {"name": "a", "platform": {"os": "debian", "version": "12", "arch": "aarch64"}, "needs": [{"os_packages": ["g++"]}]}
    (part,) = plan([host], SYSTEMS)["parts"]
    assert (part["folder"], part["packages"]) == ("os/debian-12-aarch64", ["g++", "python3-apt"])


def test_what_is_wrong_is_an_error_of_the_filter():
    with pytest.raises(AnsibleFilterError, match="bundle_plan: the platform of a is not declared"):
        bundle_plan.bundle_plan([{"name": "a"}], SYSTEMS)


@pytest.mark.parametrize("key", sorted(KNOWN))
def test_row_of_the_table_of_systems(key):
    row = KNOWN[key]
    os_id, _sign, version = key.partition("-")
    assert set(row) == {"family", "glibc", "repositories"} and row["family"] in ("debian", "rpm") and row["glibc"].startswith("2.")
    for arch in ("aarch64", "x86_64"):
        platform = {"os": os_id, "version": version, "arch": arch}
        (part,) = bundle_plan.bundle_plan([{"name": "a", "platform": platform, "needs": [{"os_packages": ["gcc"]}]}], KNOWN)["parts"]
        assert part["kind"] == {"debian": "apt", "rpm": "dnf"}[row["family"]]
        for repository in part["repositories"]:
            assert repository["url"].startswith(("http://", "https://")) and "$" not in repository["url"] + repository["key"]
            assert ("suites" in repository) == (row["family"] == "debian")
            assert repository["key"].startswith("/" if row["family"] == "debian" else ("https://", "file://"))
