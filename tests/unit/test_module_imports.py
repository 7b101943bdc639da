# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A target compiles what a module imports at each call: what only a change needs is not imported by a call without one."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = (
    "import sys; sys.path.insert(0, {path!r}); import ansible_collections.npufleet.ascend.plugins.modules.{module}; print(*sys.modules)"
)
LEFT_OUT = {
    "ascend_package": [
        "_compatibility_table",
        "_engine_spec",
        "_npu_smi_table",
        "_package_checks",
        "_package_download",
        "_package_fetch",
        "_prerequisites",
        "_service",
    ],
    "container_engine": ["_container_containerd", "_container_podman", "_container_toml"],
    "npu_facts": ["_npu_smi_text"],
}


@pytest.mark.parametrize("module", sorted(LEFT_OUT))
def test_what_only_a_change_needs_is_not_imported_beforehand(module):
    script = SCRIPT.format(path=str(ROOT / "collections"), module=module)
    names = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    ours = {name.rpartition(".")[2] for name in names if name.startswith("ansible_collections.npufleet")}
    assert module in ours and ours & set(LEFT_OUT[module]) == set()
