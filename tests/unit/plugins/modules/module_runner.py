# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a module's main() in this process, on every supported ansible-core."""

from __future__ import annotations

import contextlib
import json
import typing as t
from unittest import mock

from ansible.module_utils import basic

try:
    from ansible.module_utils.testing import patch_module_args
except ImportError:  # ansible-core 2.17 and 2.18 have no such helper

    @contextlib.contextmanager
    def patch_module_args(args: t.Dict[str, t.Any]) -> t.Iterator[None]:
        payload = json.dumps({"ANSIBLE_MODULE_ARGS": args}).encode()
        with mock.patch.object(basic, "_ANSIBLE_ARGS", payload):
            yield


class _Exit(BaseException):
    """BaseException, so that a module's own ``except Exception`` cannot swallow it."""


def run_module(main: t.Callable[[], None], args: t.Dict[str, t.Any], check: bool = False, diff: bool = False) -> t.Dict[str, t.Any]:
    """Return what the module would have printed; ``failed`` is True after fail_json."""
    result: t.Dict[str, t.Any] = {}

    def leave(failed: bool) -> t.Callable[..., None]:
        def _leave(_module: t.Any, msg: t.Optional[str] = None, **kwargs: t.Any) -> None:
            result.update(kwargs, failed=failed)
            if msg is not None:
                result["msg"] = msg
            raise _Exit

        return _leave

    full = dict(args, _ansible_check_mode=check, _ansible_diff=diff)
    with patch_module_args(full), mock.patch.object(basic.AnsibleModule, "exit_json", leave(False)), mock.patch.object(
        basic.AnsibleModule, "fail_json", leave(True)
    ):
        try:
            main()
        except _Exit:
            pass
        else:
            raise AssertionError("main() returned without exit_json or fail_json")
    return result
