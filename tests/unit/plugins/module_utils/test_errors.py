# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("it broke",), "it broke."),
        (("it broke.",), "it broke."),
        (("it broke", "/a.txt"), "it broke. Where: /a.txt."),
        (("it broke", None, "Mend it"), "it broke. What to do: Mend it."),
        (("it broke", "/a", "Mend it."), "it broke. Where: /a. What to do: Mend it."),
        (("no option --a", "args.a", "Did you mean --b?"), "no option --a. Where: args.a. What to do: Did you mean --b?"),
        (("it broke", "", ""), "it broke."),
    ],
)
def test_the_text_says_what_where_and_what_to_do(parts, text):
    error = NpufleetError(*parts)
    assert str(error) == text
    assert (error.what, error.args) == (parts[0], (parts[0],))


@pytest.mark.parametrize(
    ("error", "what", "where"),
    [
        (PermissionError(13, "Permission denied", "/srv/x"), "the host refused: Permission denied", "/srv/x"),
        (OSError(28, "No space left on device"), "the host refused: No space left on device", None),
        (OSError("Cannot call rmtree on a symbolic link"), "the host refused: Cannot call rmtree on a symbolic link", None),
    ],
)
def test_what_the_kernel_refuses_becomes_a_message_with_a_remedy(error, what, where):
    refused = refused_by_host(error)
    assert (refused.what, refused.where) == (what, where)
    assert "become" in refused.remedy
