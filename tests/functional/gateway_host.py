# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host with a real HAProxy in front of engines of this machine: a container with its network, and sockets where the role vllm_gateway has them."""

from __future__ import annotations

import json
import pathlib
import subprocess
import typing as t

from docker_host import docker
from functional_host import ROOT, free_port

NAME = "npufleet-functional-gateway"
SOCKET = "/run/npufleet-gateway/master.sock"
# What counts here of roles/vllm_gateway/templates/haproxy.cfg.j2.
CONFIGURATION = """\
global
    log stdout format raw local0
defaults
    mode http
    log global
    option http-server-close
    option redispatch 1
    retries 3
    retry-on conn-failure
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout check 2s
frontend door
    bind 127.0.0.1:{port}
    log-format "%ST %s %ts"
    default_backend engines
backend engines
    balance leastconn
    option httpchk GET /v1/models
    default-server check inter 500ms fall 1 rise 2 observe layer4 error-limit 1 on-error mark-down
{servers}
"""
ASK = """\
import socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect(sys.argv[1])
    there.sendall(sys.argv[2].encode() + b"\\n")
    there.shutdown(socket.SHUT_WR)
    print(b"".join(iter(lambda: there.recv(65536), b"")).decode())
"""


class GatewayHost:
    """The container, until ``stop``; ``port`` is the door for clients."""

    def __init__(self, folder: pathlib.Path, engines: t.Mapping[str, int]) -> None:
        self.port = free_port()
        servers = "\n".join("    server {0} 127.0.0.1:{1}".format(name, port) for name, port in engines.items())
        (folder / "haproxy.cfg").write_text(CONFIGURATION.format(port=self.port, servers=servers))
        build = [str(ROOT / "molecule/shared/images/build.sh"), "debian-haproxy"]
        image = subprocess.run(build, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        mount = "{0}:/haproxy.cfg:ro".format(folder / "haproxy.cfg")
        options = ["--detach", "--name", NAME, "--network=host", "--tmpfs=" + str(pathlib.PurePath(SOCKET).parent), "--volume=" + mount]
        docker("run", *options, image, "haproxy", "-W", "-db", "-S", SOCKET, "-f", "/haproxy.cfg")

    def stop(self) -> None:
        docker("rm", "--force", NAME)

    def variables(self) -> t.Dict[str, t.Any]:
        """How Ansible reaches it."""
        return {"ansible_connection": "community.docker.docker", "ansible_host": NAME, "ansible_user": "root"}

    def tell(self, command: str) -> str:
        """Ask HAProxy's worker."""
        return docker("exec", NAME, "python3", "-c", ASK, SOCKET, "@1 {0}".format(command))

    def serving(self) -> t.Set[str]:
        """Names of the engines that get requests."""
        servers = json.loads(self.tell("show stat engines 4 -1 json"))
        rows = [{cell["field"]["name"]: cell["value"]["value"] for cell in server} for server in servers]
        return {row["svname"] for row in rows if row["status"] == "UP"}
