# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The file server of the scenarios serves packages as the vendor's object store does, and breaks in the ways it is told to."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from unittest import mock

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import BASE, artifact

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "molecule", "shared", "file_server")
VENDOR = "https://www.hiascend.com/"
NAME = "Ascend-cann-toolkit_8.5.0_linux-x86_64.run"
PATH = "/CANN/CANN%208.5.0/" + NAME
CONTENT = bytes(range(256)) * 1000
LIMIT = 60


def load(name):
    """Load one of the server's files, which are no package."""
    sys.path.insert(0, FOLDER)
    try:
        spec = importlib.util.spec_from_file_location("standin_file_server_" + name, os.path.join(FOLDER, name + ".py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(FOLDER)
    return module


layout = load("layout")
transfer = load("transfer")
server = load("server")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip", "Ascend HDK/Ascend HDK 25.5.0/"),
        ("Ascend-hdk-910b-npu_25.3.rc1_linux-aarch64.zip", "Ascend HDK/Ascend HDK 25.3.RC1/"),
        ("Ascend-hdk-910b-npu_25.0.rc1.1_linux-aarch64.zip", "Ascend HDK/Ascend HDK 25.0.RC1.1/"),
        ("Ascend-hdk-910b-mcu_25.55.35.zip", "Ascend HDK/Ascend HDK 25.55.35/"),
        (NAME, "CANN/CANN 8.5.0/"),
        ("Ascend-cann-910b-ops_9.2.0-beta.2_linux-aarch64.zip", "CANN/CANN 9.2.0-beta.2/"),
        ("Atlas-A3-cann-kernels_8.3.RC1_linux-aarch64.run", "CANN/CANN 8.3.RC1/"),
        ("Ascend-docker-runtime_26.1.0_linux-x86_64.run", "MindX/MindX 26.1.0/"),
        ("Ascend-mindx-toolbox_26.0.1_linux-x86_64.zip", "MindX/MindX 26.0.0/"),
        ("notes.txt", None),
        ("other_1.0.zip", None),
    ],
)
def test_places(name, path):
    assert layout.store_path(name) == (None if path is None else path + name)


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("driver", "25.3.rc1"),
        ("toolkit", "9.0.0"),
        ("ops", "8.3.RC1"),
        ("nnal", "8.5.0"),
        ("docker_runtime", "7.3.0"),
        ("toolbox", "26.0.1"),
    ],
)
def test_places_are_where_the_collection_looks(kind, version):
    wanted = artifact(kind, version, "910b", "aarch64")
    assert BASE + urllib.parse.quote(layout.store_path(wanted.file)) == wanted.url


@pytest.mark.parametrize(
    ("referer", "is_right"),
    [
        (VENDOR, True),
        ("https://hiascend.com/software", True),
        ("http://support.hiascend.com/x", True),
        ("https://hiascend.com.example.com/", False),
        ("https://nothiascend.com/", False),
        ("ftp://www.hiascend.com/", False),
        ("", False),
        (None, False),
    ],
)
def test_referers(referer, is_right):
    assert layout.is_vendor(referer) is is_right


@pytest.mark.parametrize(
    ("header", "span"),
    [
        (None, None),
        ("bytes=-", None),
        ("items=0-1", None),
        ("bytes=0-9", (0, 10)),
        ("bytes=90-", (90, 100)),
        ("bytes=90-500", (90, 100)),
        ("bytes=-5", (95, 100)),
        ("bytes=-500", (0, 100)),
    ],
)
def test_ranges(header, span):
    assert transfer.requested(header, 100) == span


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=200-300", "bytes=5-4", "bytes=-0"])
def test_ranges_that_the_file_has_not(header):
    with pytest.raises(ValueError, match="no bytes"):
        transfer.requested(header, 100)


class Place:
    """A running server and its files."""

    def __init__(self, folder):
        self.root = folder / "root"
        self.faults_path, self.log = folder / "faults.json", folder / "requests.jsonl"
        packages = folder / "packages"
        packages.mkdir()
        (packages / NAME).write_bytes(CONTENT)
        (packages / "README").write_text("no package")
        self.places = layout.lay_out(str(packages), str(self.root))
        self.server = server.Server(("127.0.0.1", 0), str(self.root), str(self.faults_path), str(self.log))
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join(LIMIT)
        self.server.server_close()

    def faults(self, **fault):
        self.faults_path.write_text(json.dumps({"*.run": fault}))

    def get(self, path=PATH, referer=VENDOR, method="GET", **headers):
        """Return status, headers and body of one request."""
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if referer:
            fields["Referer"] = referer
        request = urllib.request.Request(self.server.url + path, headers=fields, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def requests(self):
        """The log, once the answers before are in it."""
        self.close()
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def place(tmp_path):
    place = Place(tmp_path)
    yield place
    place.close()


def test_layout(place):
    assert place.places == {NAME: PATH}
    assert layout.lay_out(str(place.root.parent / "packages"), str(place.root)) == {NAME: PATH}


def test_layout_on_another_file_system(tmp_path, monkeypatch):
    monkeypatch.setattr(layout.os, "link", mock.Mock(side_effect=OSError(18, "cross-device link")))
    (tmp_path / NAME).write_bytes(b"x")
    layout.lay_out(str(tmp_path), str(tmp_path / "root"))
    assert (tmp_path / "root" / "CANN" / "CANN 8.5.0" / NAME).read_bytes() == b"x"


def test_file_needs_a_referer(place):
    status, headers, body = place.get()
    assert (status, body) == (200, CONTENT)
    assert headers["Content-Length"] == str(len(CONTENT)) and headers["Accept-Ranges"] == "bytes"
    for referer in (None, "https://example.com/"):
        status, _headers, body = place.get(referer=referer)
        assert status == 403
        assert b"AccessDenied" in body
    assert place.get(method="HEAD")[0::2] == (200, b"")
    assert place.get(method="HEAD", referer=None)[0::2] == (403, b"")


def test_missing_files_and_ways_out(place):
    (place.root.parent / "secret").write_text("x")
    assert place.get("/CANN/none.run")[0] == 404
    assert place.get("/CANN/")[0] == 404
    connection = http.client.HTTPConnection("127.0.0.1", place.server.server_address[1], timeout=LIMIT)
    connection.request("GET", "/../secret")
    assert connection.getresponse().status == 404
    connection.close()


def test_resume(place):
    status, headers, body = place.get(Range="bytes=1000-")
    assert (status, body) == (206, CONTENT[1000:])
    assert headers["Content-Range"] == "bytes 1000-{0}/{1}".format(len(CONTENT) - 1, len(CONTENT))
    assert place.get(Range="bytes=9-", If_Range=headers["ETag"])[0] == 206
    assert place.get(Range="bytes=9-", If_Range='"other"')[0::2] == (200, CONTENT)
    status, headers, _body = place.get(Range="bytes={0}-".format(len(CONTENT)))
    assert (status, headers["Content-Range"]) == (416, "bytes */{0}".format(len(CONTENT)))


def test_plain_folders_need_no_referer(place):
    wheels = place.root / "simple" / "some-package"
    wheels.mkdir(parents=True)
    (wheels / "some_package-1.0+x-py3-none-any.whl").write_text("wheel")
    status, headers, body = place.get("/simple/some-package/", referer=None)
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    assert b'<a href="some_package-1.0%2Bx-py3-none-any.whl">' in body
    assert b'<a href="some-package/">' in place.get("/simple", referer=None)[2]
    assert place.get("/simple/some-package/some_package-1.0%2Bx-py3-none-any.whl", referer=None)[2] == b"wheel"
    (wheels / "index.html").write_text("mine")
    assert place.get("/simple/some-package/", referer=None)[2] == b"mine"


def test_cut_connection(place):
    place.faults(cut_after=1000, first=2)
    for begin in (0, 500):
        with pytest.raises(http.client.IncompleteRead) as caught:
            place.get(Range="bytes={0}-".format(begin))
        assert caught.value.partial == CONTENT[begin : begin + 1000]
    assert place.get(method="HEAD")[0] == 200
    assert place.get()[2] == CONTENT


def test_a_changed_fault_counts_anew(place):
    place.faults(status=500, first=1)
    assert [place.get()[0] for _number in range(2)] == [500, 200]
    place.faults(status=503, first=1)
    assert [place.get()[0] for _number in range(2)] == [503, 200]


def test_wrong_bytes(place):
    place.faults(wrong_bytes=True)
    body = place.get()[2]
    assert len(body) == len(CONTENT) and body != CONTENT and body[1:100] == CONTENT[1:100]


def test_no_range(place):
    place.faults(no_range=True)
    status, headers, body = place.get(Range="bytes=1000-")
    assert (status, body, headers["Accept-Ranges"]) == (200, CONTENT, None)


def test_wrong_length(place):
    place.faults(wrong_length=100)
    with pytest.raises(http.client.IncompleteRead):
        place.get()
    place.faults(wrong_length=-100)
    assert place.get()[2] == CONTENT[:-100]


def test_slow(place, monkeypatch):
    waits = []
    monkeypatch.setattr(server.time, "sleep", waits.append)
    place.faults(slow=len(CONTENT))
    assert place.get()[2] == CONTENT
    place.close()
    assert sum(waits) == pytest.approx(1)


def test_faults_of_other_files(place):
    place.faults_path.write_text(json.dumps({"*.zip": {"status": 500}, "CANN/*": {"status": 502}}))
    assert place.get()[0] == 502


def test_log(place):
    place.faults(cut_after=10, first=1)
    with pytest.raises(http.client.IncompleteRead):
        place.get(Range="bytes=5-")
    place.get(referer=None)
    cut, denied = place.requests()
    assert (cut["status"], cut["sent"], cut["range"], cut["fault"]) == (206, 10, "bytes=5-", {"cut_after": 10, "first": 1})
    assert cut["path"] == "/CANN/CANN 8.5.0/" + NAME and cut["referer"] == VENDOR and cut["method"] == "GET"
    assert (denied["status"], denied["referer"], denied["fault"]) == (403, None, None)


def test_command_line(tmp_path):
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / NAME).write_bytes(CONTENT)
    ready = tmp_path / "ready.json"
    words = ["--root", str(tmp_path / "root"), "--packages", str(packages), "--ready", str(ready)]
    process = subprocess.Popen([sys.executable, os.path.join(FOLDER, "server.py"), *words], stdout=subprocess.PIPE, text=True)
    try:
        start = json.loads(process.stdout.readline())
        assert start == json.loads(ready.read_text())
        assert start["packages"] == {NAME: PATH}
        assert start["pid"] == process.pid
        request = urllib.request.Request(start["url"] + PATH, headers={"Referer": VENDOR})
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            assert answer.read() == CONTENT
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=LIMIT)
        process.stdout.close()
    assert code == 0
