# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""config.toml of containerd: where runtimes go, and a block of text that holds ours. Pure, no I/O.

Targets have no TOML library (Python has one from 3.11 on, and it only reads), and rewriting the file would lose its comments, as the
installer of the Ascend Docker Runtime does. A table may stand anywhere in a TOML file, so a block at its end does, and
`containerd config dump` parses the result before it is used.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry

BEGIN = "# BEGIN npufleet.ascend: this block is replaced by the next run.\n"
END = "# END npufleet.ascend\n"
DROP_IN_FOLDER = "/etc/containerd/conf.d"
# From here on imported files are merged key by key. Before, an imported file replaces the whole table of a plugin
# (containerd pull request 9982, issues 5837 and 7982).
MERGES_IMPORTS = (2, 0)
# The built-in configuration imports conf.d (containerd pull request 12323).
IMPORTS_BY_ITSELF = (2, 2)

# Plugin that holds the runtimes, for each version of the file.
_PLUGINS = {1: "plugins.cri", 2: 'plugins."io.containerd.grpc.v1.cri"'}
_PLUGIN_LATER = "plugins.'io.containerd.cri.v1.runtime'"
_TABLE = re.compile(
    r"plugins\.(?:cri|io\.containerd\.grpc\.v1\.cri|io\.containerd\.cri\.v1\.runtime)\.containerd\.runtimes\.([^.]+)(\.options)?"
)


class DumpedRuntime(t.NamedTuple):
    """A runtime as `containerd config dump` shows it."""

    kind: str = "io.containerd.runc.v2"
    program: str = ""
    systemd_cgroup: bool = False


class Dump(t.NamedTuple):
    """What matters of `containerd config dump`."""

    runtimes: t.Dict[str, DumpedRuntime]
    default: t.Optional[str]
    cri_disabled: bool


def file_version(text: str) -> int:
    """Return the version of a configuration file; 1 where it names none."""
    head = re.split(r"^[ \t]*\[", text, maxsplit=1, flags=re.MULTILINE)[0]
    found = re.search(r"^[ \t]*version[ \t]*=[ \t]*(\d+)", head, re.MULTILINE)
    return int(found.group(1)) if found else 1


def read_dump(text: str) -> Dump:
    """Read the regular output of `containerd config dump`."""
    runtimes: t.Dict[str, DumpedRuntime] = {}
    name = ""
    for line in text.splitlines():
        key, sign, value = (part.strip() for part in line.partition("="))
        if line.strip().startswith("["):
            found = _TABLE.fullmatch(_plain_header(line))
            name = found.group(1) if found else ""
            if name:
                runtimes.setdefault(name, DumpedRuntime())
        elif name and sign:
            runtimes[name] = _with(runtimes[name], key, value.strip("\"'"))
    default = re.search(r"^\s*default_runtime_name\s*=\s*[\"']([^\"']+)", text, re.MULTILINE)
    disabled = re.search(r"^disabled_plugins\s*=\s*\[([^\]]*)\]", text, re.MULTILINE)
    return Dump(runtimes, default.group(1) if default else None, bool(disabled and re.search(r"\bcri\b", disabled.group(1))))


def _with(runtime: DumpedRuntime, key: str, value: str) -> DumpedRuntime:
    if key == "runtime_type":
        return runtime._replace(kind=value)
    if key == "BinaryName":
        return runtime._replace(program=value)
    if key == "SystemdCgroup":
        return runtime._replace(systemd_cgroup=value == "true")
    return runtime


def _plain_header(line: str) -> str:
    return re.sub(r"[\[\]\"'\s]", "", line.partition("#")[0])


def defines(text: str, name: str) -> bool:
    """Does the text itself have a table for the runtime?"""
    found = (_TABLE.fullmatch(_plain_header(line)) for line in text.splitlines() if line.strip().startswith("["))
    return any(match.group(1) == name for match in found if match)


def without_block(text: str) -> str:
    """Return the text without our block."""
    return re.sub(r"\n?" + re.escape(BEGIN) + r".*?" + re.escape(END), "", text, flags=re.DOTALL)


def tables(version: int, entries: t.Sequence[RuntimeEntry], base: str, dump: Dump) -> str:
    """Return the tables of the runtimes.

    As soon as a file defines one runtime, containerd 1.x forgets its built-in runc (tried with 1.6.20), so that is written down as well
    where ``base`` does not do so. cgroups are handled as for runc: a node has one way.
    """
    runc = dump.runtimes.get("runc", DumpedRuntime())
    texts = []
    if "runc" in dump.runtimes and not defines(base, "runc"):
        texts.append(_table(version, "runc", runc.program, runc))
    texts += [_table(version, entry.name, entry.path, runc) for entry in entries]
    return "".join(texts)


def _table(version: int, name: str, program: str, like: DumpedRuntime) -> str:
    head = "{0}.containerd.runtimes.{1}".format(_PLUGINS.get(version, _PLUGIN_LATER), _key(name))
    lines = ["[{0}]".format(head), '  runtime_type = "{0}"'.format(like.kind), "  [{0}.options]".format(head)]
    lines += ['    BinaryName = "{0}"'.format(program)] if program else []
    lines.append("    SystemdCgroup = {0}".format(str(like.systemd_cgroup).lower()))
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else '"{0}"'.format(name)


def with_block(text: str, content: str) -> str:
    """Return the text with our block at its end; without one where there is no content."""
    base = without_block(text)
    if not content:
        return base
    gap = "" if not base else "\n" if base.endswith("\n") else "\n\n"
    return base + gap + BEGIN + content + END


def takes_drop_ins(text: t.Optional[str], version: t.Tuple[int, ...]) -> bool:
    """Are files of conf.d merged into this configuration?"""
    if version < MERGES_IMPORTS:
        return False
    if text is None:
        return version >= IMPORTS_BY_ITSELF
    imports = re.search(r"^imports\s*=\s*\[([^\]]*)\]", text, re.MULTILINE)
    return bool(imports and DROP_IN_FOLDER + "/*.toml" in imports.group(1))
