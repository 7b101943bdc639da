# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What the stages of building a bundle have in common: where things lie, and words of shell. Pure.

Every part of a bundle is made in stages. *Resolve* asks the package manager what it would download and writes a listing, a JSON list of
``{"file", "size", "url", "licence"}``; size is None where nobody knows it. *Fetch* downloads with the package manager's own means, which verify,
resume and know proxies and credentials. *Finish* makes the folder usable for a host, or checks it.
"""

from __future__ import annotations

import re
import shlex
import typing as t

Mapping = t.Mapping[str, t.Any]
_CREDENTIALS = re.compile(r"(://)[^/@\s]+@")


class Place(t.NamedTuple):
    """Where one part is made. All paths are absolute.

    :param work: folder for metadata and partial downloads, outside of the bundle
    :param target: folder of the part in the bundle
    :param python: interpreter with pip
    """

    work: str
    target: str
    python: str

    @property
    def listing(self) -> str:
        """File that the resolve stage writes."""
        return self.work + "/listing.json"


class Stages(t.NamedTuple):
    """Shell commands of one part. Each may be repeated."""

    resolve: str
    fetch: str
    finish: str


class Tool(t.NamedTuple):
    """A program that a part needs, and the packages that bring it."""

    name: str
    debian: str
    rpm: str


def without_credentials(text: str, instead: str = "***@") -> str:
    """Return a text without the user and password of the addresses in it."""
    return _CREDENTIALS.sub(r"\1" + instead, text)


def words(*argv: str) -> str:
    """Return a command line for sh."""
    return " ".join(shlex.quote(word) for word in argv)


def lines(*commands: str) -> str:
    """Return commands one after the other; empty ones are left out."""
    return "\n".join(command for command in commands if command)


def write(path: str, text: str) -> str:
    """Return the command that writes a file."""
    return "{0} > {1}".format(words("printf", "%s", text), shlex.quote(path))


def python(place: Place, source: str, *arguments: str) -> str:
    """Return the command that runs a piece of Python."""
    return words(place.python, "-c", source, *arguments)
