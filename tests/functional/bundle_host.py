# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An inventory whose bundle is filled and used on this machine, and a registry with tiny images that run."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import pathlib
import shutil
import ssl
import struct
import subprocess
import tarfile
import time
import typing as t
import urllib.request

import pytest
import yaml
from functional_host import ROOT, Bench, free_port

PLATFORM = {"os": "debian", "version": "12", "arch": os.uname().machine}
STANZA = """\
Package: {name}
Version: 1
Architecture: all
Maintainer: test <test@example.com>
Description: test
Filename: ./{name}_1_all.deb
Size: 1000
SHA256: {sum:064d}

"""

SECRET = "a-long-secret"
# crypt(3) of it, since the registry takes bcrypt alone.
SECRET_HASH = "$2b$05$abcdefghijklmnopqrstuupqLKjPIM5J5yywckRVXntykcxHxzZDa"


def missing(what: str) -> t.NoReturn:
    """Skip loudly, or fail where nothing may be skipped (see scripts/test.sh)."""
    if os.environ.get("NPUFLEET_NO_SKIP"):
        pytest.fail(what)
    pytest.skip(what)


def need(program: str, package: str) -> None:
    """Have a program of Debian, installed where tests may do that (see .ci/run)."""
    if shutil.which(program):
        return
    if not may_install():
        missing("{0} is missing: apt-get install {1}".format(program, package))
    apt_get("update")
    apt_get("install", "--yes", "--no-install-recommends", package)


def may_install() -> bool:
    return bool(os.environ.get("NPUFLEET_INSTALL_PREREQUISITES")) and os.geteuid() == 0


def apt_get(*words: str) -> None:
    words = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "APT::Sandbox::User=root", *words)
    subprocess.run(words, check=True, timeout=600)


class Site:
    """An inventory, and the folders of its bundle."""

    playbooks = str(ROOT / "playbooks")

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.bundle = folder / "bundle"
        self.bench = Bench(folder)
        self.env: t.Dict[str, str] = {}
        (folder / "repository").mkdir()
        rows = [
            STANZA.format(name=name, sum=number) for number, name in enumerate(("haproxy", "openssl", "g++", "libnuma1", "python3-apt"))
        ]
        (folder / "repository" / "Packages").write_text("".join(rows))
        repository = {"url": "file:{0}/repository".format(folder), "suites": ["./"], "trusted": True}
        common = {
            "npufleet_bundle": str(self.bundle),
            "offline_bundle_work_folder": str(folder / "work"),
            "offline_bundle_systems": {"debian-12": {"repositories": [repository]}},
        }
        engine = {"vllm_engine_accelerator": "cpu", "vllm_engine_runtime": "supervisor", "vllm_engine_install": False}
        self.inventory: t.Dict[str, t.Any] = {
            "all": {"vars": dict(common, npufleet_platform=PLATFORM)},
            "engines": {"hosts": {"engine": {}, "both": {}}, "vars": dict(engine, vllm_engine_install_prerequisites=False)},
            "gateways": {"hosts": {"both": {}, "gateway": {"npufleet_platform": dict(PLATFORM, arch="aarch64")}}},
        }

    def playbook(self, name: str, *options: str) -> "subprocess.CompletedProcess[str]":
        (self.folder / "hosts.yml").write_text(yaml.safe_dump(self.inventory))
        path = name if name.startswith("/") else "{0}/{1}.yml".format(self.playbooks, name)
        return self.bench.run("ansible-playbook", "--inventory", str(self.folder / "hosts.yml"), path, *options, env=self.env)

    def needs(self) -> t.Dict[str, t.Any]:
        """What each host was found to need, by its name."""
        play = [
            {"import_playbook": str(ROOT / "playbooks/needs.yml")},
            {
                "hosts": "all",
                "gather_facts": False,
                "tasks": [
                    {
                        "ansible.builtin.copy": {
                            "content": "{{ npufleet_bundle_host | default({}) | to_json }}",
                            "dest": str(self.folder) + "/{{ inventory_hostname }}.json",
                        },
                        "delegate_to": "localhost",
                    }
                ],
            },
        ]
        (self.folder / "play.json").write_text(json.dumps(play))
        (self.folder / "hosts.yml").write_text(yaml.safe_dump(self.inventory))
        done = self.bench.run("ansible-playbook", "--inventory", str(self.folder / "hosts.yml"), str(self.folder / "play.json"))
        assert done.returncode == 0, self.bench.output
        return {name: json.loads((self.folder / (name + ".json")).read_text()) for name in ("engine", "both", "gateway")}


def program(text: str, arch: str) -> bytes:
    """An executable that writes a text and ends, with neither interpreter nor libraries (ELF, elf(5)).

    :param arch: amd64 or arm64, as Docker calls them
    """
    data = text.encode()
    if arch == "amd64":
        # write(1, text, length), exit(0)
        code = b"\xb8\x01\0\0\0\xbf\x01\0\0\0\x48\x8d\x35\x10\0\0\0\xba" + struct.pack("<I", len(data))
        code += b"\x0f\x05\xb8\x3c\0\0\0\x31\xff\x0f\x05"
    else:
        words = (0xD2800808, 0xD2800020, 0x100000C1, 0xD2800002 | len(data) << 5, 0xD4000001, 0xD2800BA8, 0xD2800000, 0xD4000001)
        code = struct.pack("<8I", *words)
    base, machine = 0x400000, {"amd64": 62, "arm64": 183}[arch]
    size = 120 + len(code) + len(data)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, base + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x1000) + code + data


def tiny_image(path: pathlib.Path, text: str, arch: str) -> None:
    """An archive of `docker save` with one program that says the text."""

    def packed(files: t.Mapping[str, t.Tuple[bytes, int]]) -> bytes:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for name, (data, mode) in files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), mode
                archive.addfile(entry, io.BytesIO(data))
        return stream.getvalue()

    layer = packed({"say": (program(text, arch), 0o755)})
    config = {
        "architecture": arch,
        "os": "linux",
        "config": {"Cmd": ["/say"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": "2026-12-01T00:00:00Z", "created_by": "test"}],
    }
    manifest = [{"Config": "config.json", "RepoTags": ["tiny:v1"], "Layers": ["layer.tar"]}]
    texts = {name: (json.dumps(value).encode(), 0o644) for name, value in {"config.json": config, "manifest.json": manifest}.items()}
    path.write_bytes(packed({"layer.tar": (layer, 0o644), **texts}))


class Registry:
    """Debian's docker-registry on this machine, with TLS of an authority of its own and a password; `home` is that of a person who may use it."""

    MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
    INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.port = free_port()
        self.repository = "127.0.0.1:{0}/npufleet-functional/tiny".format(self.port)
        self._certificate()
        program = shutil.which("docker-registry") or self._unpacked()
        (folder / "config.json").write_text(json.dumps(self._config()))
        self.process = subprocess.Popen(
            [program, "serve", str(folder / "config.json")], stdout=subprocess.DEVNULL, stderr=(folder / "log").open("wb")
        )
        try:
            self._wait()
            self.digest = self._push()
        except BaseException:  # also that of a test that is interrupted
            self.stop()
            raise

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=10)

    def _unpacked(self) -> str:
        """The program out of Debian's package: installing that would start a service."""
        if may_install():
            apt_get("update")
        done = subprocess.run(["apt-get", "download", "docker-registry"], cwd=self.folder, capture_output=True, text=True, check=False)
        packages = list(self.folder.glob("docker-registry_*.deb"))
        if not packages:
            missing("docker-registry cannot be downloaded: {0}".format(done.stderr))
        subprocess.run(["dpkg-deb", "--extract", str(packages[0]), str(self.folder / "package")], check=True)
        return str(self.folder / "package/usr/bin/docker-registry")

    def _config(self) -> dict:
        (self.folder / "users").write_text("reader:" + SECRET_HASH + "\n")
        return {
            "version": "0.1",
            "log": {"level": "error"},
            "storage": {"filesystem": {"rootdirectory": str(self.folder / "data")}},
            "auth": {"htpasswd": {"realm": "test", "path": str(self.folder / "users")}},
            "http": {
                "addr": "127.0.0.1:{0}".format(self.port),
                "tls": {"certificate": str(self.folder / "cert.pem"), "key": str(self.folder / "key.pem")},
            },
        }

    def _certificate(self) -> None:
        """An authority, a certificate of it, and where skopeo of the person finds both authority and password."""

        def openssl(*words: str) -> None:
            subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

        # Python 3.13 wants the second line, and the usage of the authority's key (RFC 5280).
        (self.folder / "names").write_text("subjectAltName=IP:127.0.0.1\nauthorityKeyIdentifier=keyid\n")
        openssl(
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            "ca.key",
            "-out",
            "ca.crt",
            "-subj",
            "/CN=test",
            "-days",
            "2",
            "-addext",
            "keyUsage=critical,keyCertSign",
        )
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request", "-subj", "/CN=registry")
        openssl(
            *("x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-extfile", "names", "-days", "2", "-out", "cert.pem"),
        )
        trusted = self.home / ".config/containers/certs.d/127.0.0.1:{0}".format(self.port)
        trusted.mkdir(parents=True)
        shutil.copy(str(self.folder / "ca.crt"), str(trusted))
        auth = base64.b64encode("reader:{0}".format(SECRET).encode()).decode()
        (self.home / ".docker").mkdir()
        (self.home / ".docker/config.json").write_text(json.dumps({"auths": {"127.0.0.1:{0}".format(self.port): {"auth": auth}}}))
        self.headers = {"Authorization": "Basic " + auth}

    def ask(self, path: str, data: t.Optional[bytes] = None, kind: str = "") -> "t.Mapping[str, str]":
        """Ask the registry, or put something there; the headers of its answer."""
        request = urllib.request.Request(
            "https://127.0.0.1:{0}/v2/{1}".format(self.port, path),
            data=data,
            method="PUT" if data else "GET",
            headers=dict(self.headers, **({"Content-Type": kind} if kind else {"Accept": self.MANIFEST})),
        )
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            return dict(answer.headers, size=str(len(answer.read())))

    def _wait(self) -> None:
        deadline = time.monotonic() + 20
        while True:
            try:
                self.ask("")
                return
            except OSError as exc:
                assert self.process.poll() is None and time.monotonic() < deadline, "{0}: {1}".format(
                    exc, (self.folder / "log").read_text()
                )
                time.sleep(0.1)

    def _push(self) -> str:
        """Push an image for two architectures, and return the digest of both together."""
        rows, path = [], self.repository.partition("/")[2] + "/manifests/"
        for arch in ("amd64", "arm64"):
            archive = self.folder / (arch + ".tar")
            tiny_image(archive, "hello from {0}\n".format(arch), arch)
            words = ["copy", "--quiet", "docker-archive:{0}".format(archive), "docker://{0}:{1}".format(self.repository, arch)]
            subprocess.run(["skopeo", *words], check=True, capture_output=True, env=dict(os.environ, HOME=str(self.home)))
            said = self.ask(path + arch)
            about = {"digest": said["Docker-Content-Digest"], "size": int(said["size"])}
            rows.append({"mediaType": self.MANIFEST, **about, "platform": {"architecture": arch, "os": "linux"}})
        index = json.dumps({"schemaVersion": 2, "mediaType": self.INDEX, "manifests": rows}).encode()
        return self.ask(path + "v1", index, self.INDEX)["Docker-Content-Digest"]
