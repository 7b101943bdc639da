# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_ascend_script import CHECK_SOURCE
from ansible_collections.npufleet.ascend.plugins.module_utils._venv_plan import build_script
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.venv_fakes import ascend, spec

# Plays an interpreter with venv and pip, and notes words and variables of each call. PyPI has no +cpu.
PYTHON = r"""#!{python} -IS
import json, os, shutil, sys

with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], dict(os.environ)]) + "\n")
if sys.argv[1:3] == ["-m", "venv"]:
    os.makedirs(sys.argv[3] + "/bin", exist_ok=True)
    shutil.copy(sys.argv[0], sys.argv[3] + "/bin/python")
if "torch==2.10.0+cpu" in sys.argv and "torch.example" not in os.environ.get("PIP_INDEX_URL", ""):
    sys.exit(1)
"""
SECRET_INDEX = "https://user:pa$s'word@mirror.example/simple"


class Call:
    def __init__(self, line):
        self.words, self.env = json.loads(line)

    @property
    def pip(self):
        """The words after the options that every call of pip has."""
        return [word for word in self.words[3:] if word not in ("--no-input", "--disable-pip-version-check", "--progress-bar=off")]

    def has(self, *names):
        return {name: self.env[name] for name in names if name in self.env}


class Builder:
    """Runs a build with an interpreter that only takes notes, and scripts of CANN that really set something."""

    def __init__(self, folder):
        self.log = folder / "log"
        self.python = folder / "python3.11"
        self.python.write_text(PYTHON.format(python=sys.executable, log=str(self.log)))
        self.python.chmod(0o755)
        self.path = folder / "a venv"
        self.scripts = (str(folder / "cann set_env.sh"), str(folder / "nnal_set_env.sh"))
        # The last line of the first is false, as in scripts that test for an optional part.
        (folder / "cann set_env.sh").write_text("export CANN=/opt/cann LD_LIBRARY_PATH=/opt/cann/lib\n[[ -d /no/such ]]\n")
        (folder / "nnal_set_env.sh").write_text('export ARGUMENTS=$# FOUND="$(command -v python)"\n')

    def build(self, chip=None, **changes):
        wanted = spec(path=str(self.path), python=str(self.python), ascend=ascend(set_env=self.scripts, **(chip or {})), **changes)
        script = build_script(wanted)
        done = subprocess.run(["/bin/sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
        self.output = done.stdout.decode().splitlines()
        return done.returncode

    def calls(self):
        return [Call(line) for line in self.log.read_text().splitlines()]


@pytest.fixture()
def builder(tmp_path):
    return Builder(tmp_path)


def test_a_build_goes_through_its_stages(builder):
    assert builder.build() == 0, builder.output
    assert builder.output == [
        "npufleet: stage 1/8 Create the virtual environment",
        "npufleet: stage 2/8 Install torch 2.10.0 (CPU build)",
        "npufleet: stage 3/8 Install torch-npu and what vLLM requires",
        "npufleet: stage 4/8 Build vLLM 0.23.0 for no device",
        "npufleet: stage 5/8 Build vllm-ascend 0.23.0.post1 for A3",
        "npufleet: stage 6/8 Put triton-ascend in the place of triton",
        "npufleet: stage 7/8 Check that vllm-ascend is made for A3",
        "npufleet: stage 8/8 Ask vLLM which options it accepts",
    ]
    folder = str(builder.path) + "/.npufleet"
    pinned = ["-c", folder + "/constraints.txt"]
    built = ["--no-deps", "--no-build-isolation", "--no-cache-dir"]
    assert [call.pip for call in builder.calls() if call.words[:2] == ["-m", "pip"]] == [
        ["--no-deps", "torch==2.10.0", "torchvision==0.25.0", "torchaudio==2.10.0"],
        [*pinned, "-r", folder + "/requirements.txt"],
        [*built, "--no-binary=vllm", "vllm==0.23.0"],
        [*built, "--no-binary=vllm-ascend", "vllm-ascend==0.23.0.post1"],
        ["--yes", "triton", "triton-ascend"],
        [*pinned, "triton-ascend==3.2.2"],
    ]


def test_what_the_builds_are_told(builder):
    assert builder.build() == 0, builder.output
    pips = [call for call in builder.calls() if call.words[:2] == ["-m", "pip"]]
    of_vllm = {"VLLM_TARGET_DEVICE": "empty", "VLLM_VERSION_OVERRIDE": "0.23.0"}
    of_plugin = {"SOC_VERSION": "ascend910_9391", "GIT_CONFIG_GLOBAL": str(builder.path) + "/.npufleet/gitconfig"}
    names = (*of_vllm, *of_plugin, "PIP_EXTRA_INDEX_URL")
    index = {"PIP_EXTRA_INDEX_URL": "https://ascend.example/pypi"}
    assert [call.has(*names) for call in pips] == [{}, {}, of_vllm, of_plugin, {}, index]


def test_the_plugin_and_the_question_to_vllm_see_cann(builder):
    assert builder.build() == 0, builder.output
    calls = [call for call in builder.calls() if "CANN" in call.env]
    assert [call.words[-1] for call in calls] == ["vllm-ascend==0.23.0.post1", str(builder.path) + "/npufleet-arguments.json"]
    for call in calls:
        # The script of NNAL got no arguments, and found the Python of the environment.
        assert call.has("CANN", "ARGUMENTS") == {"CANN": "/opt/cann", "ARGUMENTS": "0"}
        assert call.env["FOUND"] == str(builder.path) + "/bin/python"
        assert call.env["PATH"].startswith(str(builder.path) + "/bin:")
        libraries = call.env["LD_LIBRARY_PATH"].split(":")
        assert libraries.index("/usr/local/Ascend/driver/lib64") < libraries.index("/opt/cann/lib")


def test_torch_on_x86_comes_from_its_own_index(builder):
    assert builder.build(machine="x86_64") == 1
    assert builder.output[-1].startswith("npufleet: stage 2/8")
    assert builder.build(machine="x86_64", torch_index_url="https://torch.example/cpu") == 0
    torch = [call.has("PIP_INDEX_URL") for call in builder.calls() if "torch==2.10.0+cpu" in call.words]
    assert torch == [{}, {}, {"PIP_INDEX_URL": "https://torch.example/cpu"}]


def test_the_index_reaches_pip_and_no_command_line(builder):
    assert builder.build(index_url=SECRET_INDEX) == 0, builder.output
    installs = [call for call in builder.calls() if call.words[:3] == ["-m", "pip", "install"]]
    assert [call.env["PIP_INDEX_URL"] for call in installs] == [SECRET_INDEX] * 5
    assert not [call for call in builder.calls() if "mirror.example" in " ".join(call.words)]


def test_a_wheel_is_not_built(builder):
    assert builder.build({"wheel": True, "soc": "a2", "plugin": "0.26.0rc1"}) == 0, builder.output
    assert "npufleet: stage 5/8 Install vllm-ascend 0.26.0rc1 for A2" in builder.output
    (call,) = [call for call in builder.calls() if call.words[-1] == "vllm-ascend==0.26.0rc1"]
    assert call.pip == ["--no-deps", "--only-binary=vllm-ascend", "vllm-ascend==0.26.0rc1"]
    assert call.has("SOC_VERSION", "CANN") == {}


def test_a_chip_without_triton(builder):
    assert builder.build({"soc": "310p", "triton": ""}) == 0, builder.output
    assert "npufleet: stage 6/8 Take triton away" in builder.output
    assert [call.words[2] for call in builder.calls() if "triton-ascend" in call.words[-1]] == ["uninstall"]


def test_without_an_index_of_its_own_triton_comes_from_the_first(builder):
    assert builder.build({"index_url": None}) == 0, builder.output
    assert [call.has("PIP_EXTRA_INDEX_URL") for call in builder.calls() if "triton-ascend==3.2.2" in call.words] == [{}]


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        ("__device_type__ = 'A2'\n", "a2", None),
        ('__device_type__ = "_310P"\n', "310p", None),
        ("__device_type__ = 'A2'\n", "a3", "ERROR: vllm-ascend is made for A2 and not for A3"),
        ("nothing = 1\n", "a3", "ERROR: vllm-ascend is made for None and not for A3"),
    ],
)
def test_a_plugin_for_another_chip_is_found_out_without_loading_it(tmp_path, text, wanted, message):
    package = tmp_path / "vllm_ascend"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('libascendcl.so')\n")
    (package / "_build_info.py").write_text(text)
    done = subprocess.run([sys.executable, "-c", CHECK_SOURCE, wanted], cwd=str(tmp_path), stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode != 0, done.stderr.decode().strip() or None) == (message is not None, message)
