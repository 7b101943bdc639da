# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: bundle_summary
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Return what an offline bundle holds as lines
description:
  - Lists parts, their files and sizes, and the total.
options:
  _input:
    description: Result of M(npufleet.ascend.bundle_content).
    type: dict
    required: true
  packages:
    description: Huawei packages of the plan.
    type: list
    elements: dict
    required: true
  answers:
    description: Results of M(ansible.builtin.uri) in a loop over the files of P(npufleet.ascend.ascend_artifacts#filter), for their sizes.
    type: list
    elements: dict
    required: true
  names:
    description: Whether to name each file.
    type: bool
    required: true
"""

EXAMPLES = r"""
- name: Show what was fetched
  ansible.builtin.debug:
    msg: "{{ result | npufleet.ascend.bundle_summary([], [], true) }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_summary import summary


def bundle_summary(
    content: t.Mapping[str, t.Any], packages: t.Sequence[t.Mapping[str, t.Any]], answers: t.Sequence[t.Mapping[str, t.Any]], names: bool
) -> t.List[str]:
    """Return the lines."""
    return summary(content, packages, answers, names)


class FilterModule:
    """The filter bundle_summary."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"bundle_summary": bundle_summary}
