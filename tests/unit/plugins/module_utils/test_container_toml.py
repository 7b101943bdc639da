# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry
from ansible_collections.npufleet.ascend.plugins.module_utils._container_toml import (
    Dump,
    DumpedRuntime,
    defines,
    file_version,
    read_dump,
    tables,
    takes_drop_ins,
    with_block,
    without_block,
)

# The regular output of `containerd config dump` of 1.6.20, shortened.
DUMP_16 = """\
disabled_plugins = []
imports = ["/etc/containerd/config.toml"]
version = 2

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "runc"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend]
          runtime_type = "io.containerd.runc.v2"
          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend.options]
            BinaryName = "/usr/bin/crun"
            SystemdCgroup = true
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
          runtime_type = "io.containerd.runc.v2"
          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
            BinaryName = ""
            SystemdCgroup = false
    [plugins."io.containerd.grpc.v1.cri".registry]
      config_path = ""
"""
DUMP_2 = """\
version = 3
disabled_plugins = ['io.containerd.grpc.v1.cri']
[plugins.'io.containerd.cri.v1.runtime'.containerd]
  default_runtime_name = 'kata'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.kata]
  runtime_type = 'io.containerd.kata.v2'
"""
ADR = RuntimeEntry("ascend", "/adr")


def test_a_dump_of_containerd_1():
    dump = read_dump(DUMP_16)
    assert dump.runtimes == {
        "ascend": DumpedRuntime("io.containerd.runc.v2", "/usr/bin/crun", True),
        "runc": DumpedRuntime("io.containerd.runc.v2", "", False),
    }
    assert (dump.default, dump.cri_disabled) == ("runc", False)


def test_a_dump_of_containerd_2():
    assert read_dump(DUMP_2) == Dump({"kata": DumpedRuntime("io.containerd.kata.v2")}, "kata", True)
    assert read_dump("") == Dump({}, None, False)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("", 1),
        ("version = 2\n", 2),
        ("# version = 3\n  version=2 # x\n", 2),
        ("[plugins.x]\n  version = 2\n", 1),
        ("imports = []\nversion = 3\n[plugins]\n", 3),
    ],
)
def test_the_version_of_a_file(text, version):
    assert file_version(text) == version


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ('[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend]', True),
        ("  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.ascend.options] # ours", True),
        ('[plugins.cri.containerd.runtimes."ascend"]', True),
        ('[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend2]', False),
        ("# [plugins.cri.containerd.runtimes.ascend]", False),
        ('[plugins."io.containerd.grpc.v1.cri".containerd.runtimes]', False),
        ("", False),
    ],
)
def test_whether_a_text_defines_a_runtime(line, there):
    assert defines("version = 2\n" + line + "\n", "ascend") is there


def test_our_runtime_brings_the_built_in_one_along():
    dump = Dump({"runc": DumpedRuntime("io.containerd.runc.v2", "/opt/runc", True)}, "runc", False)
    assert (
        tables(2, [ADR], "version = 2\n", dump)
        == """\
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    BinaryName = "/opt/runc"
    SystemdCgroup = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend.options]
    BinaryName = "/adr"
    SystemdCgroup = true
"""
    )
    assert "runtimes.runc" not in tables(2, [ADR], "[plugins.cri.containerd.runtimes.runc]\n", dump)
    assert "runtimes.runc" not in tables(2, [ADR], "", Dump({}, None, False))


@pytest.mark.parametrize(
    ("version", "head"),
    [
        (1, "[plugins.cri.containerd.runtimes.ascend]"),
        (2, '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.ascend]'),
        (3, "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.ascend]"),
        (4, "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.ascend]"),
    ],
)
def test_where_runtimes_go(version, head):
    text = tables(version, [ADR], "", Dump({}, None, False))
    assert text.startswith(head + "\n") and read_dump(text).runtimes == {"ascend": DumpedRuntime(program="/adr")}


def test_a_name_that_has_to_be_quoted():
    text = tables(2, [RuntimeEntry("a.b", "/adr")], "", Dump({}, None, False))
    assert '.runtimes."a.b"]' in text and '.runtimes."a.b".options]' in text


@pytest.mark.parametrize("text", ["", "version = 2\n", "version = 2", "version = 2\n\n[plugins]\n\n"])
def test_a_block_comes_and_goes(text):
    once = with_block(text, "x = 1\n")
    assert once.startswith(text) and "x = 1\n# END" in once
    assert with_block(once, "x = 1\n") == once
    assert with_block(once, "y = 2\n").count("BEGIN") == 1
    assert without_block(once).rstrip("\n") == text.rstrip("\n")
    assert with_block(once, "") == without_block(once)


@pytest.mark.parametrize(
    ("text", "version", "takes"),
    [
        ('imports = ["/etc/containerd/conf.d/*.toml"]\n', (1, 7), False),  # there a drop-in replaces the whole plugin
        ('imports = ["/etc/containerd/conf.d/*.toml"]\n', (2, 0), True),
        ("version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n", (2, 1, 4), True),
        ('imports = ["/other/*.toml"]\n', (2, 2), False),
        ("version = 3\n", (2, 2), False),
        (None, (2, 1), False),
        (None, (2, 2), True),
        (None, (), False),
    ],
)
def test_when_drop_ins_are_read(text, version, takes):
    assert takes_drop_ins(text, version) is takes
