# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vllm_recipe
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Choose the recipe of a model for a chip and a version of vllm-ascend
description:
  - Returns image, weights, NPUs, layout, options and environment variables for a model on a generation of NPUs with a version of
    vllm-ascend, and what is wrong with them once own options are laid on them.
  - Every row, its source and what is in doubt about it is in C(docs/recipes.md). When there is no row, the message says which there are.
positional: name
options:
  _input:
    description:
      - Where recipes were read (a file, a variable) and what was read there, a mapping of names to recipes. Those of the role
        C(vllm_engine) are the variables in C(vars/npu_recipes).
      - A user's own recipes are a file of the same schema. Names must not occur twice.
    type: dict
    required: true
  name:
    description: Name of the recipe, such as C(deepseek-r1-w8a8).
    type: str
    required: true
  soc:
    description:
      - The generation of the NPUs, V(a2), V(a3), V(310p) or V(a5). The field C(generation) of the fact C(npufleet_npu), which
        M(npufleet.ascend.npu_facts) sets, can be given as it is.
    type: str
    required: true
  vllm_ascend:
    description:
      - Version of vllm-ascend. A minor version such as V(0.23), in quotes, stands for the release that its rows were read in.
      - Without it the newest final release that has a row for the chip and the number of hosts, else the newest release candidate.
    type: str
  profile:
    description: V(balanced) is the recipe as it was documented; the others move documented knobs, see C(docs/recipes.md).
    type: str
    choices: [latency, balanced, throughput]
    default: balanced
  hosts:
    description: Number of hosts that serve one engine together.
    type: int
    default: 1
  args:
    description: Options of C(vllm serve) that are laid on those of the recipe. Mappings are merged, null takes an option away.
    type: dict
    default: {}
  env:
    description: Environment variables that are laid on those of the recipe. Null takes one away.
    type: dict
    default: {}
  files:
    description: Names of the files in the weights folder, to see whether they fit. Null when they are not known.
    type: list
    elements: str
  raises:
    description: Whether a recipe that does not exist ends the task. V(false) returns the message in C(problems), and nothing else.
    type: bool
    default: true
seealso:
  - module: npufleet.ascend.npu_facts
"""

EXAMPLES = r"""
- name: Read the recipes of the collection
  ansible.builtin.include_vars:
    dir: "{{ role_path }}/vars/npu_recipes"
    name: recipes

- name: Choose, with a longer context than the recipe has, and stop when it does not fit
  ansible.builtin.assert:
    that: chosen.problems | length == 0
    fail_msg: "{{ chosen.problems | join('\n') }}"
  vars:
    chosen: >-
      {{ recipes | npufleet.ascend.vllm_recipe('deepseek-r1-w8a8', soc=ansible_facts.npufleet_npu.generation, vllm_ascend='0.23.0.post1',
      args={'max_model_len': 35000}) }}

- name: Use a recipe of your own beside them
  ansible.builtin.debug:
    msg: "{{ recipes | combine({file: own}) | npufleet.ascend.vllm_recipe('mine', soc='a2', vllm_ascend='0.23') }}"
  vars:
    file: /etc/npufleet/recipes.yml
    own: "{{ lookup('ansible.builtin.file', file) | from_yaml }}"
"""

RETURN = r"""
_value:
  description:
    - The keys are C(name), C(model), C(family), C(soc), C(vllm_ascend), C(vllm), C(profile), C(status) (validated by the project,
      experimental, or our own estimate), C(source), C(doubts), C(image) (repository, tag), C(weights) (names, quantization, bytes,
      files_needed), C(npus)
      (minimum, per_host, hosts), C(layout), C(args) and C(env) with the own ones laid on them, and C(problems).
    - C(problems) has one sentence for each thing that is known not to work, with what to do; it is empty when nothing is known against it.
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_check import combined, problems
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_choice import choose
from ansible_collections.npufleet.ascend.plugins.module_utils._recipe_schema import read_recipes

Options = t.Optional[t.Mapping[str, t.Any]]


def vllm_recipe(
    documents: t.Any,
    name: str,
    soc: str,
    vllm_ascend: t.Optional[str] = None,
    profile: str = "balanced",
    hosts: int = 1,
    args: Options = None,
    env: Options = None,
    files: t.Optional[t.Sequence[str]] = None,
    raises: bool = True,
) -> t.Dict[str, t.Any]:
    """Return the chosen recipe with what is laid on it."""
    try:
        chosen = choose(read_recipes(documents), name, soc, vllm_ascend, profile, hosts)
        found = problems(chosen, args, env, files)
        wanted, variables = combined(chosen, args or {}, env or {})
    except NpufleetError as exc:
        if not raises:
            return {"problems": [str(exc)]}
        raise AnsibleFilterError("vllm_recipe: {0}".format(exc)) from exc
    return dict(chosen, args=wanted, env=variables, problems=found)


class FilterModule:
    """The filter vllm_recipe."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"vllm_recipe": vllm_recipe}
