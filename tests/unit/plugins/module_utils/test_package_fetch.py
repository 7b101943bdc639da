# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import email.message
import fcntl
import hashlib
import http.client
import io
import json
import os
import urllib.error

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _package_fetch
from ansible_collections.npufleet.ascend.plugins.module_utils._files import file_mode
from ansible_collections.npufleet.ascend.plugins.module_utils._host import HostError
from ansible_collections.npufleet.ascend.plugins.module_utils._package_fetch import MOST_FAILURES, Fetch, Fetched, FetchError
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.package_fakes import FakeClock, put

URL = "https://me:secret@mirror.example.com/CANN/x.run"
CONTENT = bytes(range(256)) * 40
SUM = hashlib.sha256(CONTENT).hexdigest()
CHUNK = 1000


class Answer:
    """An HTTP answer that costs a second of the clock for each chunk, and may break off."""

    def __init__(self, server, code, body, headers, breaks=None):
        self.headers = email.message.Message()
        for name, value in headers.items():
            self.headers[name] = str(value)
        self._server, self._code, self._body, self._breaks = server, code, io.BytesIO(body), breaks
        self.closed = False

    def getcode(self):
        return self._code

    def read1(self, _size):
        self._server.clock.time += 1
        chunk = self._body.read(CHUNK)
        if not chunk and self._breaks:
            raise self._breaks
        return chunk

    def close(self):
        self.closed = True


class Server:
    """Plays a list of answers: 'ok', 'no range', an HTTP code, an exception, or ('cut', bytes). The last one is repeated."""

    def __init__(self, *plays, content=CONTENT, tag='"1"'):
        self.plays, self.content, self.tag = list(plays), content, tag
        self.clock = FakeClock()
        self.requests = []
        self.answers = []

    def open(self, request, timeout):
        assert timeout == _package_fetch.READ_SECONDS
        self.requests.append(request)
        play = self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]
        if isinstance(play, Exception):
            raise play
        if isinstance(play, int):
            raise urllib.error.HTTPError(request.full_url, play, "Because", email.message.Message(), io.BytesIO())
        answer = self.answer(request, play)
        self.answers.append(answer)
        return answer

    def answer(self, request, play):
        start = int((request.get_header("Range") or "bytes=0-")[6:-1])
        headers = {"ETag": self.tag} if self.tag else {}
        if start and play != "no range" and request.get_header("If-range", self.tag) == self.tag:
            if start >= len(self.content):
                raise urllib.error.HTTPError(request.full_url, 416, "Range", email.message.Message(), io.BytesIO())
            first = start + 1 if play == "wrong range" else start
            code, body = 206, self.content[start:]
            headers["Content-Range"] = "bytes {0}-{1}/{2}".format(first, len(self.content) - 1, len(self.content))
        else:
            code, body = 200, self.content
        if play != "no length":
            headers["Content-Length"] = len(body)
        if isinstance(play, tuple):
            return Answer(self, code, body[: play[1]], headers, play[2] if len(play) > 2 else None)
        return Answer(self, code, body, headers)


@pytest.fixture()
def path(tmp_path):
    return str(tmp_path / "packages" / "x.run")


def go(server, path, seconds=1000.0, sha256=SUM, url=URL):
    return Fetch(url, path, sha256, server.clock.clock(), server.open).go_on(server.clock.time + seconds)


def finish(server, path, seconds, most=60):
    """Call again and again, as the task does; returns the results."""
    results = [go(server, path, seconds)]
    while not results[-1].done:
        assert len(results) < most, "it never ends"
        results.append(go(server, path, seconds))
    return results


def content(path):
    with open(path, "rb") as stream:
        return stream.read()


def test_a_file_comes_in_one_go(path):
    server = Server("ok")
    assert go(server, path) == Fetched(True, len(CONTENT), len(CONTENT), SUM, seconds=12.0)
    assert content(path) == CONTENT
    assert file_mode(path) == 0o644
    assert os.listdir(os.path.dirname(path)) == ["x.run"]
    (request,) = server.requests
    assert request.full_url == "https://mirror.example.com/CANN/x.run"
    assert request.get_header("Referer") == "https://www.hiascend.com/"
    assert request.get_header("Authorization").startswith("Basic ")
    assert request.get_header("Range") is None
    assert server.answers[0].closed


def test_a_big_file_comes_in_slices(path):
    server = Server("ok")
    results = finish(server, path, seconds=2.5)
    assert [result.have for result in results] == [3000, 6000, 9000, len(CONTENT)]
    assert content(path) == CONTENT
    assert [request.get_header("Range") for request in server.requests] == [None, "bytes=3000-", "bytes=6000-", "bytes=9000-"]
    assert [request.get_header("If-range") for request in server.requests] == [None, '"1"', '"1"', '"1"']
    assert [result.seconds for result in results[:-1]] == [3, 6, 9]
    assert results[1].progress() == "0 of 0 MB"
    assert Fetched(False, 340 * 10**6, 1200 * 10**6).progress() == "340 of 1200 MB"
    assert Fetched(False, 340 * 10**6, 0).progress() == "340 MB"


def test_who_is_killed_in_the_first_slice_has_lost_nothing(path):
    server = Server(("cut", 3000, KeyboardInterrupt()), "ok")
    with pytest.raises(KeyboardInterrupt):
        go(server, path)
    assert go(server, path).done
    assert [request.get_header("Range") for request in server.requests] == [None, "bytes=3000-"]
    assert content(path) == CONTENT


def test_a_server_that_cannot_resume_is_read_in_one_go(path):
    server = Server("no range")
    results = finish(server, path, seconds=2.5)
    assert [result.have for result in results] == [3000, len(CONTENT)]
    assert content(path) == CONTENT


def test_a_file_that_changed_at_the_server_is_fetched_anew(path):
    server = Server("ok", tag='"1"')
    assert go(server, path, 2.5).have == 3000
    server.content, server.tag = CONTENT[::-1], '"2"'
    assert not go(server, path, 2.5).done
    assert go(server, path, sha256=hashlib.sha256(CONTENT[::-1]).hexdigest()).done
    assert content(path) == CONTENT[::-1]


def test_another_source_starts_anew(path):
    server = Server("ok")
    go(server, path, 2.5)
    assert go(server, path, url="https://other.example.com/x.run").done
    assert server.requests[-1].get_header("Range") is None


@pytest.mark.parametrize(
    "play",
    [
        ("cut", 2500),
        ("cut", 2500, ConnectionResetError("reset")),
        ("cut", 2500, http.client.IncompleteRead(b"")),
        urllib.error.URLError("timed out"),
        TimeoutError("timed out"),
        http.client.RemoteDisconnected("gone"),
        503,
        429,
        "wrong range",
    ],
)
def test_what_passes_is_tried_again(path, play):
    server = Server(("cut", 1500), play, play, "ok")
    assert go(server, path).done
    assert content(path) == CONTENT
    assert len(server.requests) >= 3
    assert server.clock.naps and all(nap >= 1 for nap in server.clock.naps)


def test_pauses_grow_and_outlast_a_slice(path):
    server = Server(503)
    notes = []
    with pytest.raises(FetchError) as caught:
        while len(notes) < 100:
            notes.append(go(server, path, seconds=3).progress())
    assert len(server.requests) == MOST_FAILURES
    assert server.clock.time - 1000 == pytest.approx(1 + 2 + 4 + 8 + 16)
    assert "it is tried again soon: the server answered 503" in notes
    assert str(caught.value).startswith("x.run: cannot fetch it after 6 tries: the server answered 503. Where: ***@mirror.example.com/")
    assert "secret" not in str(caught.value)
    # The next run counts anew, and takes what is there.
    server.plays = ["ok"]
    assert go(server, path).done


def test_a_slow_server_is_not_a_broken_one(path):
    server = Server(("cut", 1000))
    assert len(finish(server, path, seconds=1000)) == 1
    assert content(path) == CONTENT
    assert len(server.requests) > MOST_FAILURES


@pytest.mark.parametrize(("code", "hint"), [(404, "version, chip"), (403, "version, chip"), (401, "user and password"), (407, "proxy")])
def test_what_does_not_pass_is_told_at_once(path, code, hint):
    server = Server(code)
    with pytest.raises(FetchError, match="the server answered {0} Because".format(code)) as caught:
        go(server, path)
    assert hint in caught.value.remedy
    assert len(server.requests) == 1


def test_a_wrong_sum_deletes_what_came(path):
    server = Server("ok")
    with pytest.raises(FetchError, match="what came has the sum {0} instead of {1}".format(SUM, "0" * 64)):
        go(server, path, sha256="0" * 64)
    assert os.listdir(os.path.dirname(path)) == []


def test_a_file_that_is_too_long_is_deleted(path):
    server = Server("ok")
    put(os.path.dirname(path), "/x.run.part", "x" * (len(CONTENT) + 5))
    put(os.path.dirname(path), "/x.run.part.json", json.dumps({"url": "https://***@mirror.example.com/CANN/x.run", "total": len(CONTENT)}))
    assert go(server, path).done
    assert content(path) == CONTENT


def test_what_was_complete_but_not_renamed_is_taken(path):
    server = Server("ok")
    put(os.path.dirname(path), "/x.run.part")
    with open(path + ".part", "wb") as stream:
        stream.write(CONTENT)
    put(os.path.dirname(path), "/x.run.part.json", json.dumps({"url": "https://***@mirror.example.com/CANN/x.run", "total": len(CONTENT)}))
    assert go(server, path).done
    assert content(path) == CONTENT


def test_more_than_was_announced(path):
    server = Server("ok")
    real = server.answer

    def longer(request, play):
        answer = real(request, play)
        answer.headers.replace_header("Content-Length", str(len(CONTENT) - 1))
        return answer

    server.answer = longer
    with pytest.raises(FetchError, match="{0} bytes instead of {1}".format(len(CONTENT), len(CONTENT) - 1)):
        go(server, path)


@pytest.mark.parametrize("length", ["no length", "ok"])
def test_without_a_sum_the_sum_is_returned(path, length):
    assert go(Server(length, tag=""), path, sha256="").sha256 == SUM


def test_a_weak_tag_is_not_used_to_resume(path):
    server = Server("ok", tag='W/"1"')
    finish(server, path, seconds=2.5)
    assert {request.get_header("If-range") for request in server.requests} == {None}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100000, '{"url": 1, "failures": "x", "total": -1, "started": "y", "whole": "z"}', '{"failures": 1e99}']
)
def test_a_damaged_note_is_no_obstacle(path, text):
    put(os.path.dirname(path), "/x.run.part", "old")
    put(os.path.dirname(path), "/x.run.part.json", text)
    assert go(Server("ok"), path).done
    assert content(path) == CONTENT


def test_an_old_note_is_of_another_run(path):
    server = Server("ok")
    go(server, path, 2.5)
    server.clock.time += 10000
    assert go(server, path, 2.5).seconds == 3


def test_two_runs_do_not_disturb_each_other(path):
    server = Server("ok")
    os.makedirs(os.path.dirname(path))
    with open(path + ".part", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        result = go(server, path)
    assert (result.done, result.progress(), server.requests) == (False, "another run fetches it", [])


def test_what_another_run_has_just_finished_is_taken(path, monkeypatch):
    server = Server("ok")
    real = fcntl.flock

    def finished(stream, how):
        real(stream, how)
        if not os.path.exists(path):
            os.rename(path + ".part", path)

    monkeypatch.setattr(_package_fetch.fcntl, "flock", finished)
    result = go(server, path)
    assert (result.done, result.sha256, server.requests) == (True, hashlib.sha256(b"").hexdigest(), [])


def test_a_leftover_beside_a_finished_file_goes(path):
    put(os.path.dirname(path), "/x.run", "done")
    assert go(Server("ok"), path).done
    assert os.listdir(os.path.dirname(path)) == ["x.run"]


def test_what_another_run_has_just_thrown_away_is_left(path, monkeypatch):
    server = Server("ok")
    real = fcntl.flock

    def thrown_away(stream, how):
        real(stream, how)
        os.unlink(path + ".part")

    with monkeypatch.context() as patch:
        patch.setattr(_package_fetch.fcntl, "flock", thrown_away)
        result = go(server, path)
    assert (result.done, result.progress(), server.requests) == (False, "another run fetches it", [])
    assert go(server, path).done


def test_a_disk_that_is_too_small_is_told_before_it_is_full(path, monkeypatch):
    def full(_path, needed, _what):
        raise HostError("needs {0}".format(needed))

    monkeypatch.setattr(_package_fetch, "check_disk", full)
    with pytest.raises(HostError, match="needs {0}".format(len(CONTENT))):
        go(Server("ok"), path)


def test_a_shorter_file_than_before_starts_anew(path):
    server = Server("ok", tag="")
    go(server, path, 8.5)
    server.content = CONTENT[:5000]
    assert go(server, path, sha256=hashlib.sha256(CONTENT[:5000]).hexdigest()).done
    assert content(path) == CONTENT[:5000]


@pytest.mark.parametrize("value", ["bytes 3000-5/6", "bytes x-5/6", "", None, "bytes */6", "bytes 99999999999999999999-"])
def test_ranges_in_headers(value):
    assert _package_fetch._range_start(value) == (3000 if value and "3000" in value else -1)


@pytest.mark.parametrize(("value", "number"), [("12", 12), ("-1", 0), ("x", 0), (None, 0), ("9" * 20, 0), ("²", 0)])
def test_lengths_in_headers(value, number):
    assert _package_fetch._number(value) == number
