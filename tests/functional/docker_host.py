# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real Docker Engine with an image that holds the stand-in engine, device nodes of our own and the tree of a driver."""

from __future__ import annotations

import hashlib
import http.server
import importlib.util
import io
import json
import os
import pathlib
import stat
import subprocess
import sys
import tarfile
import threading
import typing as t

import pytest
from functional_host import ROOT, Bench

NAME = "npufleet-functional-docker-demo"
IMAGE = "npufleet-functional-docker/engine"
STANDIN = "/opt/standin"

DOCKERFILE = """\
FROM {base}
COPY standin {standin}
ENV PATH={standin}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64
COPY entrypoint /entrypoint
ENTRYPOINT ["/bin/bash", "/entrypoint"]
CMD ["/bin/bash"]
"""
# As the images of vllm-ascend have it: load an environment, then become the command.
ENTRYPOINT = 'export CANN_ENVIRONMENT=loaded\nexec "$@"\n'


def docker(*words: str, check: bool = True) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=120, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def need_docker() -> None:
    """What is missing is said loudly, and is a failure where nothing may be skipped (see scripts/test.sh)."""
    done = subprocess.run([str(ROOT / "scripts/docker_engine.sh"), "ensure"], capture_output=True, text=True, timeout=300, check=False)
    reason = done.stderr if done.returncode else ""
    if os.geteuid() != 0:
        reason = "making device nodes needs root"
    if importlib.util.find_spec("docker") is None:
        reason = "the Docker SDK for Python is not installed (requirements-dev.txt)"
    if reason and (os.environ.get("NPUFLEET_NO_SKIP") or done.returncode not in (0, 3)):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


def build_image(folder: pathlib.Path) -> None:
    """The image of the Molecule hosts (it has Python), with the stand-in engine in it. Tags :one and :two are the same engine in two images."""
    base = subprocess.run([str(ROOT / "molecule/shared/images/build.sh"), "debian-systemd"], capture_output=True, text=True, check=True)
    folder.mkdir()
    (folder / "entrypoint").write_text(ENTRYPOINT)
    make = [sys.executable, str(ROOT / "molecule/shared/standin_engine/make_standin.py"), str(folder / "standin"), "/usr/bin/python3"]
    subprocess.run(make, check=True)
    for tool in ("vllm", "python"):
        path = folder / "standin/bin" / tool
        path.write_text(path.read_text().replace(str(folder / "standin"), STANDIN))
    (folder / "standin/bin/supervisord").unlink(missing_ok=True)
    text = DOCKERFILE.format(base=base.stdout.strip(), standin=STANDIN)
    for tag in ("one", "two"):
        (folder / "Dockerfile").write_text(text + 'LABEL npufleet.molecule=image build="{0}"\n'.format(tag))
        docker("build", "--quiet", "--tag", IMAGE + ":" + tag, str(folder))


def make_driver(root: pathlib.Path) -> None:
    """The files of a driver that containers are given."""
    for name in ("usr/local/Ascend/driver/lib64/libascend_hal.so", "usr/local/dcmi/libdcmi.so", "usr/local/bin/npu-smi"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "usr/local/Ascend/driver/version.info").write_text("Version=26.0.rc1\n")
    (root / "etc").mkdir()
    (root / "etc/ascend_install.info").write_text("Driver_Install_Path_Param=/usr/local/Ascend\n")
    (root / "etc/hccn.conf").write_text("address_0=192.0.2.10\n")


def make_nodes(folder: pathlib.Path) -> t.List[str]:
    """Device nodes that the container gets under the names of chips. They are /dev/zero by number; only their passing through is tested."""
    folder.mkdir()
    names = ("davinci4", "davinci5", "davinci_manager", "devmm_svm", "hisi_hdc")
    for name in names:
        os.mknod(folder / name, 0o660 | stat.S_IFCHR, os.makedev(1, 5))
        os.chown(folder / name, 1000, 1000)
    return ["{0}/{1}:/dev/{1}".format(folder, name) for name in names]


class DockerBench(Bench):
    """The bench with containers instead of services."""

    image = IMAGE + ":one"

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder)
        self.nodes: t.List[str] = []

    def options(self, **changes: t.Any) -> dict:
        container = {"image": self.image, "name": NAME, "shm_bytes": 256 << 20, **changes.pop("container", {})}
        options = super().options(runtime="docker", container=container, **changes)
        del options["venv"]
        return options

    def npu(self, **changes: t.Any) -> dict:
        """The changes of options() that give it two chips."""
        container = {
            "devices": self.nodes[:2],
            "control_devices": self.nodes[2:],
            "driver_root": str(self.folder / "root"),
            **changes.pop("container", {}),
        }
        return {"accelerator": "ascend", "container": container, **changes}

    def inspect(self) -> dict:
        return json.loads(docker("inspect", NAME))[0]

    def log(self) -> str:
        return docker("logs", NAME)

    def fault(self, **fault: t.Any) -> None:
        """The stand-in reads it from its own folder; a mount of the engine's options puts it there."""
        (self.folder / "fault.json").write_text(json.dumps(fault))

    def inside(self, *words: str) -> str:
        return docker("exec", NAME, *words)


UNKNOWN = b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'


class Registry:
    """A registry of one image that nothing was pushed to: two blobs and a manifest (distribution specification, pull)."""

    MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"

    def __init__(self, text: str) -> None:
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as archive:
            entry = tarfile.TarInfo("hello")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
        config = {
            "architecture": "amd64" if os.uname().machine == "x86_64" else "arm64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer.getvalue())]},
            "history": [{"created": "2026-12-01T00:00:00Z", "created_by": "test"}],
        }
        parts = [("container.image.v1+json", json.dumps(config).encode()), ("image.rootfs.diff.tar.gzip", layer.getvalue())]
        rows = [{"mediaType": "application/vnd.docker." + kind, "size": len(blob), "digest": _digest(blob)} for kind, blob in parts]
        manifest = json.dumps({"schemaVersion": 2, "mediaType": self.MANIFEST, "config": rows[0], "layers": rows[1:]}).encode()
        self.digest = _digest(manifest)
        answers = {"blobs/" + row["digest"]: blob for row, (_kind, blob) in zip(rows, parts)}
        answers.update({"manifests/v1": manifest, "manifests/" + self.digest: manifest})
        kind = self.MANIFEST

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = "/".join(self.path.split("/")[-2:])
                body = b"{}" if self.path == "/v2/" else answers.get(name, UNKNOWN)
                self.send_response(404 if body is UNKNOWN else 200)
                self.send_header("Content-Type", kind if name.startswith("manifests/") else "application/octet-stream")
                if body in answers.values():
                    self.send_header("Docker-Content-Digest", _digest(body))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def do_HEAD(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Docker Engine takes plain HTTP from addresses of this machine.
        self.name = "127.0.0.1:{0}/npufleet-functional-docker/pulled".format(self.server.server_port)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
