# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The commands of a node of Ray: ``ray start`` on the members, and on the head beside ``vllm serve`` in one service. Pure.

All ports are given, as Ray would choose most of them at random (``ray start --help``, Ray 2.48). No word holds a line break, as units of
systemd are read line by line. What stands here of Ray was read in the source of Ray 2.48.0 and tried with it.
"""

from __future__ import annotations

import json
import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_ray import GIB, OWN_PORTS, Ray

# Name of the shell that runs the lines below, as ps and messages show it.
SHELL = ("/bin/sh", "-c")
LABEL = "npufleet-ray"
# Ray would take 30 % of the host's memory, and at least 10 GB where /dev/shm is smaller (resource_spec.py, resolve), which then lies on the
# disk. vLLM's workers pass short messages through it (own estimate).
OBJECT_STORE = 4 * GIB
# Seconds that what is left of a node gets to end by itself when the other part has died.
LAST_SECONDS = 30

MISSING = (
    "command -v {ray} >/dev/null || {{ echo 'there is no Ray here: {ray}. What to do: use an image that has it, or install the version "
    "that vllm-ascend wants' >&2; exit 1; }}"
)
# The client server of Ray runs where grpc is installed and cannot be switched off (scripts.py, start), and its own port is 10001 for all.
CLIENT = "client=$({python} -c 'import grpc' 2>/dev/null && echo --ray-client-server-port={port})"
# The GCS answers; the version is checked by `ray start`, with a message.
ANSWERS = "{ray} health-check --address={gcs} --skip-version-check >/dev/null 2>&1"
# Ray and the workers have no use for the key of the clients, and vLLM sends its environment to the workers of all hosts (ray_env.py of
# 0.26 to 0.32).
KEEP_KEY = 'mkdir -p "$VLLM_CONFIG_ROOT" && echo \'["VLLM_API_KEY"]\' > "$VLLM_CONFIG_ROOT/ray_non_carry_over_env_vars.json" || exit 1'
ALIVE = "kill -0 {0} 2>/dev/null"
# A shell knows of dead children when the next foreground command has ended, so it looks every second.
HEAD = (
    'end() {{ trap "" TERM INT; for part in $engine $ray; do kill $part 2>/dev/null; wait $part; done; exit 0; }}',
    "engine=; ray=; trap end TERM INT",
    "(unset VLLM_API_KEY; exec {start} $client) & ray=$!",
    "until {answers}; do {ray_alive} || exit 1; sleep 1; done",
    '"$@" & engine=$!',
    "while {ray_alive} && {engine_alive}; do sleep 1; done",
    "{ray_alive} || echo 'Ray has ended, so the engine ends'",
    "kill $engine $ray 2>/dev/null",
    "left={seconds}; while [ $left -gt 0 ] && {{ {ray_alive} || {engine_alive}; }}; do sleep 1; left=$((left-1)); done",
    "kill -KILL $engine $ray 2>/dev/null; exit 1",
)
# A shell that is the first process of a container ends at no signal that it does not name.
MEMBER = (
    "unset VLLM_API_KEY; trap 'exit 0' TERM INT",
    "echo 'waits for Ray of the head at {gcs}'",
    "until {answers}; do sleep 2; done",
    'exec "$@"',
)


def ray_env(ray: Ray, container: bool, folder: str) -> t.Dict[str, str]:
    """Return the environment of a node of Ray; what a person sets counts more.

    Outside a container Ray keeps its sockets below /tmp, as the path of one has at most 107 bytes and 70 are Ray's own, and all hosts use
    the path of the head (scripts.py, start: --temp-dir).

    :param folder: where the engine may write
    """
    env = {
        # Ray would hide chips from the workers; vLLM's workers choose theirs themselves (npu.py of Ray, platform.py of vllm-ascend).
        "RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        # vLLM wants a chip of the node of this address (ray_utils.py, initialize_ray_cluster).
        "VLLM_HOST_IP": ray.node_address,
    }
    if ray.head:
        # Without it vLLM may take another cluster of this host, or start one of its own.
        env.update(RAY_ADDRESS=ray.gcs, VLLM_CONFIG_ROOT=folder + "/config/vllm")
    if not container:
        env["RAY_TMPDIR"] = "/tmp/npufleet-ray-{0}".format(ray.port)
    return env


def start_words(ray: Ray, program: str, shm_bytes: t.Optional[int]) -> t.List[str]:
    """Return ``ray start`` for this host, which runs until one of Ray's processes ends, and ends all of them with itself (``--block``).

    The number of NPUs is given, as Ray counts all of the host outside a container. ``--num-cpus`` is how many workers Ray starts ahead; vLLM
    asks for no CPU.

    :param program: path of ``ray``
    :param shm_bytes: limit of /dev/shm, None for that of the host
    """
    first, last = ray.ports
    store = OBJECT_STORE if shm_bytes is None else min(OBJECT_STORE, shm_bytes // 2)
    own = ("node-manager", "object-manager", "runtime-env-agent", "dashboard-agent-listen", "dashboard-agent-grpc", "metrics-export")
    who = ["--head", "--port={0}".format(ray.port), "--include-dashboard=false"] if ray.head else ["--address=" + ray.gcs]
    return [
        program,
        "start",
        *who,
        "--node-ip-address=" + ray.node_address,
        *("--{0}-port={1}".format(name, first + place) for place, name in enumerate(own)),
        "--min-worker-port={0}".format(first + OWN_PORTS),
        "--max-worker-port={0}".format(last),
        "--num-cpus={0}".format(ray.npus),
        "--num-gpus=0",
        "--resources=" + json.dumps({"NPU": ray.npus}, separators=(",", ":")),
        "--object-store-memory={0}".format(store),
        "--block",
    ]


def node_command(ray: Ray, engine: t.Sequence[str], program: str, python: str, shm_bytes: t.Optional[int], has_key: bool) -> t.List[str]:
    """Return the words of the service of one host.

    Of the head: Ray, and when it answers vLLM; when one of them ends, so does the other, and the service manager starts both again. Of a
    member: Ray, as soon as that of the head answers. A new head is a new cluster: Ray of the members ends then, and joins it when it is
    started again.

    :param engine: words of ``vllm serve``
    :param python: interpreter that ``ray`` runs in
    :param has_key: whether clients need a key
    """
    start = start_words(ray, program, shm_bytes)
    answers = ANSWERS.format(ray=shlex.quote(program), gcs=ray.gcs)
    lines = [MISSING.format(ray=shlex.quote(program)), 'test -z "$RAY_TMPDIR" || rm -rf "$RAY_TMPDIR"']
    if not ray.head:
        return [*SHELL, "; ".join([*lines, *(line.format(answers=answers, gcs=ray.gcs) for line in MEMBER)]), LABEL, *start]
    lines += [KEEP_KEY] if has_key else []
    lines.append(CLIENT.format(python=shlex.quote(python), port=ray.ports[0] + 6))
    values = {
        "start": " ".join(shlex.quote(word) for word in start),
        "answers": answers,
        "ray_alive": ALIVE.format("$ray"),
        "engine_alive": ALIVE.format("$engine"),
        "seconds": LAST_SECONDS,
    }
    return [*SHELL, "; ".join([*lines, *(line.format(**values) for line in HEAD)]), LABEL, *engine]
