# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Ask npu-smi: every call with a time limit, no call after one that hung, and every failure as a reason instead of an exception."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandError, CommandResult, Runner
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import (
    Failure,
    NpuSmiFormatError,
    classify,
    failure,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_matrix import Topology, parse_mapping, parse_topology
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_table import Info, parse_info

Row = t.Dict[str, t.Any]
Answer = t.TypeVar("Answer")

TOOL_DIRS = ["/usr/local/sbin", "/usr/local/bin", "/usr/local/Ascend/driver/tools", "/usr/local/dcmi"]


class NpuSmi:
    """One npu-smi on this host. ``warnings`` collects what went wrong without making the host unavailable."""

    def __init__(self, path: str, run: Runner, timeout: float, driver_root: str) -> None:
        self.path = path
        self.warnings: t.List[str] = []
        self._run = run
        self._timeout = timeout
        self._env = library_path(driver_root)
        self._hung = False

    def table(self) -> t.Tuple[t.Optional[Info], t.Optional[Failure]]:
        """Run ``info``. Both are set when a readable table came with a failure: then the table may lack chips."""
        result, failed = self._call("info")
        if result is None or result.timed_out:
            return None, failed
        try:
            return parse_info(result.stdout), failed
        except NpuSmiFormatError as exc:
            return None, failed or failure("unexpected_output", error=exc.what)

    def mapping(self) -> t.List[Row]:
        """Run ``info -m``; [] and a warning when it fails."""
        return self._ask(parse_mapping, "info", "-m") or []

    def topology(self) -> t.Optional[Topology]:
        """Run ``info -t topo``."""
        return self._ask(parse_topology, "info", "-t", "topo")

    def add_boards(self, chips: t.Sequence[Row]) -> None:
        """Fill ``board`` of each chip (one call an NPU) and ``soc``: A5 tells it per NPU, of the others one chip of each name is asked."""
        # On request only, and a target compiles what is imported at each call.
        from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_text import parse_pairs, soc_version

        boards: t.Dict[t.Any, t.Dict[str, str]] = {}
        socs: t.Dict[t.Any, t.Optional[str]] = {}
        for chip in chips:
            npu = chip["npu_id"]
            if npu is not None and npu not in boards:
                boards[npu] = self._ask(parse_pairs, "info", "-t", "board", "-i", str(npu)) or {}
            board = boards.get(npu, {})
            if chip["generation"] == "A5":
                chip["soc"] = soc_version(board) or chip["soc"]
            elif chip["name"] not in socs and None not in (npu, chip["chip_id"]):
                answer = self._ask(parse_pairs, "info", "-t", "board", "-i", str(npu), "-c", str(chip["chip_id"]))
                socs[chip["name"]] = soc_version(answer or {})
            chip["soc"] = socs.get(chip["name"]) or chip["soc"]
            chip["board"] = {_snake(key): None if value in ("NA", "") else value for key, value in board.items()} or None

    def add_errors(self, chips: t.Sequence[Row]) -> None:
        """Fill ``errors`` of each chip that is not OK: one call each."""
        from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_text import parse_health

        for chip in chips:
            if chip["health"] == "OK" or chip["npu_id"] is None:
                continue
            one_chip = [] if chip["generation"] == "A5" or chip["chip_id"] is None else ["-c", str(chip["chip_id"])]
            answer = self._ask(parse_health, "info", "-t", "health", "-i", str(chip["npu_id"]), *one_chip)
            if answer is not None:
                chip["errors"] = {"codes": answer.codes, "texts": answer.texts}

    def _ask(self, parse: t.Callable[[str], Answer], *arguments: str) -> t.Optional[Answer]:
        result, failed = self._call(*arguments)
        if result is not None and failed is None:
            try:
                return parse(result.stdout)
            except NpuSmiFormatError as exc:
                self.warnings.append("npu-smi {0}: {1}".format(" ".join(arguments), exc.what))
        elif failed is not None:
            self.warnings.append("npu-smi {0}: {1}".format(" ".join(arguments), failed.message))
        return None

    def _call(self, *arguments: str) -> t.Tuple[t.Optional[CommandResult], t.Optional[Failure]]:
        if self._hung:  # its warning is there already
            return None, None
        try:
            result = self._run([self.path, *arguments], timeout=self._timeout, env=self._env)
        except CommandError as exc:
            return None, failure("permission_denied" if "Permission denied" in exc.what else "cannot_execute")
        self._hung = result.timed_out
        return result, classify(result.stdout, result.stderr, result.rc, result.timed_out)


def library_path(driver_root: str) -> t.Dict[str, str]:
    """Return LD_LIBRARY_PATH with the folders of the driver that exist, after those already named.

    A module has no login environment, and the loader cache need not know the driver.
    """
    lib64 = os.path.join(driver_root, "driver", "lib64")
    folders = [folder for folder in (lib64, os.path.join(lib64, "common"), os.path.join(lib64, "driver")) if os.path.isdir(folder)]
    named = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": ":".join(([named] if named else []) + folders)} if folders else {}


def _snake(key: str) -> str:
    return key.lower().replace(" ", "_").replace("-", "_")
