# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import zipfile

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_licence import LONGEST, wheel_licence


def wheel(tmp_path, metadata, name="a-1.dist-info/METADATA"):
    path = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(str(path), "w") as archive:
        archive.writestr("a/vendored-2.dist-info/METADATA", "License-Expression: WRONG\n")
        archive.writestr(name, metadata)
    return str(path)


@pytest.mark.parametrize(
    "metadata, licence",
    [
        ("License-Expression: Apache-2.0\nLicense: x\nClassifier: License :: OSI Approved :: MIT License\n", "Apache-2.0"),
        (
            "Classifier: License :: OSI Approved :: MIT License\nClassifier: Topic :: X\nClassifier: License :: Other\nLicense: x\n",
            "MIT License; Other",
        ),
        ("License: BSD\n  3 clause\n", "BSD 3 clause"),
        ("License: " + "x" * 500 + "\n", "x" * LONGEST),
        ("Name: a\n\nLicense: in the description\n", None),
    ],
)
def test_what_a_wheel_states(tmp_path, metadata, licence):
    assert wheel_licence(wheel(tmp_path, metadata)) == licence


def test_what_is_no_wheel_states_nothing(tmp_path):
    assert wheel_licence(wheel(tmp_path, "License: x\n", "other/METADATA")) is None
    (tmp_path / "b.whl").write_text("no archive")
    assert wheel_licence(str(tmp_path / "b.whl")) is None
    assert wheel_licence(str(tmp_path / "none.whl")) is None
