# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Time to the first good completion of an engine in a container: vllm_engine against the `docker run` that export prints. See README.md.

Needs Docker, NPUFLEET_REAL_VENV for the image (molecule/shared/images/engine_cpu.sh) and the model of `make demo`.
"""

from __future__ import annotations

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from run import ARGS, BIN, MODEL, POLL_SECONDS, ROOT, ROUNDS, ansible_env, completion_came, free_port, table

NAME = "npufleet-bench-launch"
LIMIT_SECONDS = 600


def command(home: str, image: str, port: int, *words: str, **options: object) -> list[str]:
    wanted = {
        "name": "bench",
        "runtime": "docker",
        "container": {"name": NAME, "image": image, "shm_bytes": 1 << 30},
        "home": home,
        "model": str(MODEL),
        "served_model_name": "tiny",
        "port": port,
        "args": ARGS,
        "env": {"VLLM_CPU_KVCACHE_SPACE": "1"},
        **options,
    }
    interpreter = f"ansible_python_interpreter={sys.executable}"
    play = [str(BIN / "ansible"), "localhost", "-c", "local", "-e", interpreter, "-m", "npufleet.ascend.vllm_engine"]
    return [*play, "-a", json.dumps(wanted), *words]


def ansible(*words: str) -> str:
    done = subprocess.run(words, env=ansible_env(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def remove() -> None:
    subprocess.run(["docker", "rm", "--force", "--volumes", NAME], check=False, capture_output=True)


def script_of(home: str, image: str, port: int) -> str:
    """The docker run of what the module would make, as a person would type it."""
    sys.path.insert(0, str(ROOT / "collections"))
    from ansible_collections.npufleet.ascend.plugins.filter.vllm_export import FilterModule

    said = ansible(*command(home, image, port, "--check"))
    container = json.loads(said[said.index("{") :])["engine"]["container"]
    return str(FilterModule().filters()["vllm_export"](container, "docker-run"))


def by_hand(home: str, image: str) -> float:
    port = free_port()
    script = script_of(home, image, port)
    began = time.monotonic()
    subprocess.run(["sh", "-c", script], check=True, capture_output=True)
    try:
        while not completion_came(port):
            if time.monotonic() - began > LIMIT_SECONDS:
                raise SystemExit(subprocess.run(["docker", "logs", NAME], capture_output=True, text=True, check=False).stderr[-3000:])
            time.sleep(POLL_SECONDS)
        return time.monotonic() - began
    finally:
        remove()


def by_module(home: str, image: str) -> tuple[float, float]:
    """Seconds of the whole ansible command, and from launch to completion as the module reports them."""
    port = free_port()
    began = time.monotonic()
    said = ansible(*command(home, image, port))
    wall = time.monotonic() - began
    ready = re.search(r'"ready_seconds": ([\d.]+)', said)
    ansible(*command(home, image, port, state="absent"))
    if not ready:
        raise SystemExit(said)
    return wall, float(ready.group(1))


def main() -> None:
    build = subprocess.run([str(ROOT / "molecule/shared/images/engine_cpu.sh")], check=True, stdout=subprocess.PIPE, text=True)
    image = build.stdout.strip()
    remove()
    with tempfile.TemporaryDirectory(prefix="npuf-bench-") as home:
        pathlib.Path(home).chmod(0o755)
        by_hand(home, image)  # warms the disk for both
        rows: list[list[object]] = [["round", "docker run by hand s", "module, launch to completion s", "module, whole command s"]]
        hand, module, wall = [], [], []
        for number in range(ROUNDS):
            if number % 2:
                whole, ready = by_module(home, image)
                hand.append(by_hand(home, image))
            else:
                hand.append(by_hand(home, image))
                whole, ready = by_module(home, image)
            wall.append(whole)
            module.append(ready)
            rows.append([number + 1, f"{hand[-1]:.1f}", f"{module[-1]:.1f}", f"{wall[-1]:.1f}"])
            print(*rows[-1], flush=True)
    # Paired, because the load of the machine drifts from round to round.
    ratios = [statistics.median(side / base for side, base in zip(sides, hand)) for sides in (module, wall)]
    rows.append(["ratio", "1", *(f"{ratio:.3f}" for ratio in ratios)])
    table("time to the first good completion, in a container", rows)


if __name__ == "__main__":
    main()
