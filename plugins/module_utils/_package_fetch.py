# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Fetch one big file over HTTP in slices: a call goes on for a while, and the next one where it stopped. Only a .part file has to survive."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import re
import typing as t
import urllib.error
import urllib.parse
import urllib.request

from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._files import make_folders, read_text, write_text
from ansible_collections.npufleet.ascend.plugins.module_utils._host import check_disk
from ansible_collections.npufleet.ascend.plugins.module_utils._package_http import Opener, make_opener, split_credentials
from ansible_collections.npufleet.ascend.plugins.module_utils._package_names import REFERER
from ansible_collections.npufleet.ascend.plugins.module_utils._package_wanted import shown_address, without_password
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import CHUNK_BYTES, file_sha256

MEGABYTE = 1000 * 1000
# A server that sends nothing for so long is asked again, in seconds.
READ_SECONDS = 30.0
# Tries without a single new byte, over all calls, and the pauses between them.
MOST_FAILURES = 6
PAUSE_BETWEEN_RUNS = 120.0
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)
# These get better by themselves; other answers do not.
PASSING = (408, 425, 429, 500, 502, 503, 504)

_DIGITS = re.compile(r"[0-9]{1,15}\Z")


class FetchError(NpufleetError):
    """A file that cannot be fetched. ``where`` is its URL without credentials."""


class Fetched(t.NamedTuple):
    """How far a file is. ``done`` once it lies under its name, with the right sum where one is known."""

    done: bool
    have: int
    total: int
    sha256: str = ""
    note: str = ""
    seconds: float = 0.0

    def progress(self) -> str:
        """In words, for one line."""
        if self.note:
            return self.note
        if not self.total:
            return "{0} MB".format(self.have // MEGABYTE)
        return "{0} of {1} MB".format(self.have // MEGABYTE, self.total // MEGABYTE)


class _BrokenError(Exception):
    """The connection broke, or the server is not ready: worth another try."""


class _State:
    """What is remembered beside the .part file: how often it failed, the version of the file, whether the server can go on in the middle."""

    def __init__(self, path: str, now: float) -> None:
        self._path = path
        values: t.Any = {}
        with contextlib.suppress(ValueError, RecursionError):
            values = json.loads(read_text(path) or "{}")
        values = values if isinstance(values, dict) else {}
        self.url = str(values.get("url", ""))
        self.tag = str(values.get("tag", ""))
        self.whole = values.get("whole") is True
        self.failures = int(_amount(values.get("failures")))
        self.total = int(_amount(values.get("total")))
        # What nobody went on with for a while belongs to an earlier run.
        goes_on = 0 <= now - _amount(values.get("kept")) < PAUSE_BETWEEN_RUNS
        self.started = _amount(values.get("started")) if goes_on else now
        self.retry_at = _amount(values.get("retry_at")) if goes_on else 0.0
        self.why = str(values.get("why", ""))

    def keep(self, now: float) -> None:
        values = {key: getattr(self, key) for key in ("url", "tag", "whole", "failures", "total", "started", "retry_at", "why")}
        values["kept"] = now
        write_text(self._path, json.dumps(values), 0o600)

    def forget(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)


class Fetch:
    """One file, from a URL to a path. Two calls at once do not disturb each other: the second one only watches."""

    def __init__(self, url: str, path: str, sha256: str, clock: Clock, opener: t.Optional[Opener] = None) -> None:
        self._url, self._headers = split_credentials(url)
        self._shown = without_password(url)
        self._where = shown_address(url)
        self._path, self._part = path, path + ".part"
        self._sha256 = sha256
        self._clock = clock
        self._open = opener or make_opener()

    def go_on(self, deadline: float) -> Fetched:
        """Fetch until the file is there or the deadline (of the clock) has passed.

        :raises FetchError: the server refuses, the sum is wrong, or nothing came in many tries
        :raises OSError: the folder cannot be written to
        """
        make_folders(os.path.dirname(self._path))
        with open(self._part, "ab") as part:
            try:
                fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return Fetched(False, os.path.getsize(self._part), 0, note="another run fetches it")
            if os.path.exists(self._path):  # that run has just finished
                if _same(part, self._part):
                    os.unlink(self._part)
                return Fetched(True, 0, 0, file_sha256(self._path))
            return self._locked(part, deadline)

    def _locked(self, part: t.IO[bytes], deadline: float) -> Fetched:
        state = _State(self._part + ".json", self._clock.now())
        if not _same(part, self._part):  # it was finished or thrown away in between
            return Fetched(False, 0, 0, note="another run fetches it")
        if state.url != self._shown:  # another source may hold another file
            state.forget()
            state = _State(self._part + ".json", self._clock.now())
            state.url = self._shown
            part.truncate(0)
        while True:
            if not self._pause(state, deadline):
                return self._so_far(part, state, "it is tried again soon: {0}".format(state.why))
            before = os.fstat(part.fileno()).st_size
            try:
                done = self._request(part, state, deadline)
            except _BrokenError as exc:
                self._count(state, os.fstat(part.fileno()).st_size > before, str(exc))
                continue
            state.keep(self._clock.now())
            if done:
                return self._finish(part, state, os.fstat(part.fileno()).st_size)
            return self._so_far(part, state)

    def _pause(self, state: _State, deadline: float) -> bool:
        """Wait until it may be tried again; False when the deadline comes first."""
        now = self._clock.now()
        if state.retry_at > now:
            self._clock.sleep(max(min(state.retry_at, deadline) - now, 0.0))
        return self._clock.now() >= state.retry_at

    def _so_far(self, part: t.IO[bytes], state: _State, note: str = "") -> Fetched:
        have = os.fstat(part.fileno()).st_size
        return Fetched(False, have, state.total, note=note, seconds=self._clock.now() - state.started)

    def _count(self, state: _State, grew: bool, why: str) -> None:
        state.failures = 1 if grew else state.failures + 1
        state.why = why
        state.retry_at = self._clock.now() + PAUSES[min(state.failures, len(PAUSES)) - 1]
        if state.failures >= MOST_FAILURES:
            state.failures, state.retry_at = 0, 0.0  # the next run starts counting anew
            state.keep(self._clock.now())
            raise self._error(
                "cannot fetch it after {0} tries: {1}".format(MOST_FAILURES, why),
                "Check the network, the proxy and the mirror; what came is kept",
            )
        state.keep(self._clock.now())

    def _request(self, part: t.IO[bytes], state: _State, deadline: float) -> bool:
        """One request. True when the file is complete, False when the deadline came first."""
        have = os.fstat(part.fileno()).st_size
        headers = dict(self._headers, Referer=REFERER, **{"User-Agent": "npufleet.ascend", "Accept-Encoding": "identity"})
        if have:
            headers["Range"] = "bytes={0}-".format(have)
            if state.tag:
                headers["If-Range"] = state.tag
        try:
            answer = self._open(urllib.request.Request(self._url, headers=headers), timeout=READ_SECONDS)
        except urllib.error.HTTPError as exc:
            exc.close()
            return self._refused(exc, part, state, have)
        except (OSError, http.client.HTTPException) as exc:
            raise _BrokenError(str(getattr(exc, "reason", exc)) or type(exc).__name__) from exc
        with contextlib.closing(answer):
            self._begin(answer, part, state, have)
            return self._receive(answer, part, state, deadline)

    def _refused(self, exc: urllib.error.HTTPError, part: t.IO[bytes], state: _State, have: int) -> bool:
        if exc.code == 416 and have:
            if have == state.total:
                return True
            part.truncate(0)
            raise _BrokenError("the server has a shorter file than before")
        if exc.code in PASSING:
            raise _BrokenError("the server answered {0}".format(exc.code))
        hints = {401: "Give user and password in the mirror", 407: "The proxy wants a password"}
        hint = hints.get(exc.code, "Check version, chip and architecture, or the mirror; or put the file into the folder by hand")
        raise self._error("the server answered {0} {1}".format(exc.code, exc.reason), hint)

    def _begin(self, answer: t.Any, part: t.IO[bytes], state: _State, have: int) -> None:
        """Take what the headers say, and start from the beginning where the server does."""
        length = _number(answer.headers.get("Content-Length"))
        resumed = answer.getcode() == 206
        if resumed and _range_start(answer.headers.get("Content-Range")) != have:
            part.truncate(0)
            raise _BrokenError("the server sent another part of the file than the one that was asked for")
        if not resumed:
            # Whoever starts from the beginning once will do it again: then the file has to come in one go.
            state.whole = have > 0 and answer.headers.get("ETag", "") in ("", state.tag)
            part.truncate(0)
        state.tag = "" if answer.headers.get("ETag", "").startswith("W/") else answer.headers.get("ETag", "")
        state.total = (have if resumed else 0) + length if length else 0
        left = state.total - (have if resumed else 0)
        if left > 0:
            check_disk(os.path.dirname(self._path), left, os.path.basename(self._path))
        # Whoever is killed from here on has this file, and can go on with it.
        state.keep(self._clock.now())

    def _receive(self, answer: t.Any, part: t.IO[bytes], state: _State, deadline: float) -> bool:
        while True:
            try:
                chunk = answer.read1(CHUNK_BYTES)
            except (OSError, http.client.HTTPException) as exc:
                part.flush()
                raise _BrokenError(str(exc) or type(exc).__name__) from exc
            if not chunk:
                break
            part.write(chunk)
            part.flush()
            state.failures = 0
            if self._clock.now() >= deadline and not state.whole and os.fstat(part.fileno()).st_size != state.total:
                return False
        have = os.fstat(part.fileno()).st_size
        if state.total and have < state.total:
            raise _BrokenError("the connection ended early")
        return True

    def _finish(self, part: t.IO[bytes], state: _State, have: int) -> Fetched:
        os.fsync(part.fileno())
        actual = file_sha256(self._part)
        wrong_size = bool(state.total) and have != state.total
        if wrong_size or (self._sha256 and actual != self._sha256):
            os.unlink(self._part)
            state.forget()
            found = (
                "{0} bytes instead of {1}".format(have, state.total)
                if wrong_size
                else "the sum {0} instead of {1}".format(actual, self._sha256)
            )
            raise self._error("what came has {0}".format(found), "Check the mirror and the given sum; the file was deleted")
        os.fchmod(part.fileno(), 0o644)
        os.rename(self._part, self._path)
        state.forget()
        return Fetched(True, have, have, actual, seconds=self._clock.now() - state.started)

    def _error(self, what: str, remedy: str) -> FetchError:
        return FetchError("{0}: {1}".format(os.path.basename(self._path), what), where=self._where, remedy=remedy)


def _same(stream: t.IO[bytes], path: str) -> bool:
    """Is the open file still the one of that name?"""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _amount(value: t.Any) -> float:
    return value if isinstance(value, (int, float)) and 0 <= value < 1e15 else 0


def _number(text: t.Optional[str]) -> int:
    return int(text) if text and _DIGITS.match(text) else 0


def _range_start(text: t.Optional[str]) -> int:
    """First byte of ``bytes 100-199/200``; -1 for anything else."""
    start = (text or "").replace("bytes", "", 1).strip().partition("-")[0]
    return int(start) if _DIGITS.match(start) else -1
