#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_info
short_description: Ask a running vLLM engine whether it really answers
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Asks C(/health), the list of models, the version, and for one short completion.
  - C(/health) alone proves little; it says 200 on an engine whose first request fails.
extends_documentation_fragment:
  - npufleet.ascend.attributes
  - npufleet.ascend.attributes.info_module
options:
  url:
    description: Base address of the engine, with or without V(/v1).
    type: str
    required: true
  model:
    description: Name of the model to ask. By default the first that the engine lists.
    type: str
  api_key:
    description: Key that the engine wants.
    type: str
seealso:
  - module: npufleet.ascend.vllm_engine
"""

EXAMPLES = r"""
- name: Ask the engine on this host
  npufleet.ascend.vllm_info:
    url: http://127.0.0.1:8000/v1
  register: answer

- name: Check that it answered
  ansible.builtin.assert:
    that: answer.engine.ready
"""

RETURN = r"""
engine:
  description: What the engine answered.
  returned: always
  type: dict
  contains:
    ready:
      description: Whether a completion came back.
      type: bool
    phase:
      description: How far it came, one of starting, unhealthy, models, completion, ready.
      type: str
    detail:
      description: Why it is not ready.
      type: str
    models:
      description: Names of the models that it lists.
      type: list
      elements: str
    version:
      description: Version of vLLM, null where it does not say.
      type: str
    completion:
      description: The completion; path, prompt, text and completion_tokens. Null when it is not ready.
      type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._http import fetch
from ansible_collections.npufleet.ascend.plugins.module_utils._readiness import HEALTH_SECONDS, Target, listed_models, probe


def base_of(url: str) -> str:
    """``http://host:8000/v1/`` -> ``http://host:8000``."""
    url = url.rstrip("/")
    return url[: -len("/v1")] if url.endswith("/v1") else url


def look(url: str, model: str | None, api_key: str | None) -> dict:
    base = base_of(url)
    models = listed_models(fetch(base + "/v1/models", api_key=api_key, timeout=HEALTH_SECONDS))
    version = fetch(base + "/version", timeout=HEALTH_SECONDS).json()
    outcome = probe(Target(base, model or (models[0] if models else ""), api_key), fetch)
    return {
        "ready": outcome.status == "ready",
        "phase": outcome.phase,
        "detail": outcome.detail,
        "models": models,
        "version": version.get("version") if isinstance(version, dict) else None,
        "completion": outcome.completion,
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={"url": {"type": "str", "required": True}, "model": {"type": "str"}, "api_key": {"type": "str", "no_log": True}},
        supports_check_mode=True,
    )
    module.exit_json(changed=False, engine=look(module.params["url"], module.params["model"], module.params["api_key"]))


if __name__ == "__main__":
    main()
