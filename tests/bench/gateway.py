# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the gateway costs: `gateway.py [--rounds N]`, after `molecule converge -s gateway`. See README.md."""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import typing as t

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTAINER = "npufleet-molecule-gateway"
INVENTORY = ROOT / "molecule" / "gateway" / "inventory" / "hosts.yml"
GOAL_RATIO, GOAL_SECONDS = 0.97, 0.001

# Runs on the host of the gateway, so that no bridge lies between. Connections are kept. Prints seconds, tokens and seconds of each request.
CLIENT = r"""
import asyncio, json, ssl, sys, time
options = json.loads(sys.argv[1])
times, tokens = [], 0

async def answer(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    assert " 200 " in head.split("\r\n")[0], head
    if "content-length: " in head:
        return await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
    body = b""
    while True:
        size = int(await reader.readline(), 16)
        body += await reader.readexactly(size)
        await reader.readexactly(2)
        if not size:
            return body

async def client(number):
    global tokens
    port, key = options["ports"][number % len(options["ports"])], options["key"]
    context = ssl._create_unverified_context() if options["tls"] else None
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    body = json.dumps(options["body"]) if options["body"] else ""
    text = "{0} {1} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {2}\r\nContent-Length: {3}\r\n\r\n{4}"
    request = text.format("POST" if body else "GET", options["path"], key, len(body), body).encode()
    for _number in range(options["requests"]):
        began = time.perf_counter()
        writer.write(request)
        came = await answer(reader)
        times.append(time.perf_counter() - began)
        tokens += came.count(b"data: {")
    writer.close()

async def main():
    began = time.perf_counter()
    await asyncio.gather(*map(client, range(options["clients"])))
    print(json.dumps([time.perf_counter() - began, tokens, times]))

asyncio.run(main())
"""
STREAMS = {
    "path": "/v1/completions",
    "body": {"model": "tiny", "prompt": "NPU", "max_tokens": 40, "stream": True},
    "clients": 10,
    "requests": 3,
}
SINGLE = {"path": "/v1/models", "body": None, "clients": 1, "requests": 300}


def measure(load: t.Mapping[str, t.Any], way: t.Mapping[str, t.Any]) -> t.Tuple[float, int, t.List[float]]:
    done = subprocess.run(
        ["docker", "exec", "-i", CONTAINER, "python3", "-", json.dumps(dict(load, **way))],
        input=CLIENT, stdout=subprocess.PIPE, text=True, check=True, timeout=300,
    )  # fmt: skip
    return t.cast(t.Tuple[float, int, t.List[float]], tuple(json.loads(done.stdout)))


def worker_seconds() -> float:
    """CPU seconds of all processes of HAProxy so far; unlike wall times they mean something on a machine that has other work."""
    text = "cat $(pgrep -x haproxy | sed 's|.*|/proc/&/stat|')"
    done = subprocess.run(["docker", "exec", CONTAINER, "sh", "-c", text], stdout=subprocess.PIPE, text=True, check=True)
    return sum(int(ticks) for line in done.stdout.splitlines() for ticks in line.rpartition(")")[2].split()[11:13]) / 100


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what the gateway costs.")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    inventory = yaml.safe_load(INVENTORY.read_text(encoding="utf-8"))
    direct = {"tls": False, "ports": [8001, 8002], "key": inventory["engines"]["vars"]["vllm_engine_api_key"]}
    through = {"tls": True, "ports": [8443], "key": inventory["gateways"]["vars"]["vllm_gateway_api_keys"]["alice"]}
    ratios, added, tokens, began = [], [], 0, worker_seconds()
    print("round  tokens/s direct  through  ratio   median ms direct  through  added")
    for number in range(rounds):
        ways = [direct, through] if number % 2 == 0 else [through, direct]
        streams = {id(way): measure(STREAMS, way) for way in ways}
        single = {id(way): statistics.median(measure(SINGLE, way)[2]) for way in ways}
        rates = [streams[id(way)][1] / streams[id(way)][0] for way in (direct, through)]
        tokens += streams[id(through)][1]
        ratios.append(rates[1] / rates[0])
        added.append(single[id(through)] - single[id(direct)])
        print(
            f"{number + 1:<6} {rates[0]:<16.1f} {rates[1]:<8.1f} {ratios[-1]:<7.3f} "
            f"{1000 * single[id(direct)]:<17.2f} {1000 * single[id(through)]:<8.2f} {1000 * added[-1]:.2f}"
        )
    ratio, seconds = statistics.median(ratios), statistics.median(added)
    print(f"median ratio {ratio:.3f} (goal at least {GOAL_RATIO}), added median latency {1000 * seconds:.2f} ms (goal at most 1)")
    print(f"CPU of HAProxy {1000 * (worker_seconds() - began) / tokens:.3f} ms a token, checks and short answers included")
    return int(ratio < GOAL_RATIO or seconds > GOAL_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
