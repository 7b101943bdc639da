# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_options import argument_spec, checked

DEFAULTS = {name: option.get("default") for name, option in argument_spec().items()}


def test_the_defaults_are_good_ones():
    assert checked(DEFAULTS) == DEFAULTS


@pytest.mark.parametrize(
    ("value", "plain"),
    [("/opt/Ascend/", "/opt/Ascend"), ("//opt//Ascend", "/opt/Ascend"), ("/opt/./x/../Ascend-1.0_a", "/opt/Ascend-1.0_a")],
)
def test_paths_are_made_plain(value, plain):
    for name in ("install_path", "folder", "record_folder"):
        assert checked(dict(DEFAULTS, **{name: value}))[name] == plain


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("folder", "packages", "'packages' is no absolute path"),
        ("record_folder", "records", "'records' is no absolute path"),
        ("install_path", "Ascend", "'Ascend' is no absolute path"),
        ("install_path", "/", "the installers refuse '/'"),
        ("install_path", "/opt/a b", "the installers refuse '/opt/a b'"),
        ("install_path", "/opt/$HOME", "the installers refuse '/opt/$HOME'"),
        ("install_path", "/opt/a\n", "the installers refuse"),
    ],
)
def test_paths_that_cannot_be_used(option, value, words):
    with pytest.raises(NpufleetError) as caught:
        checked(dict(DEFAULTS, **{option: value}))
    assert words in caught.value.what and caught.value.where == option and caught.value.remedy
