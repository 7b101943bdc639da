# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Lines of the shell script that builds a virtual environment. Pure text."""

from __future__ import annotations

import shlex
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._venv_spec import VenvSpec

SAME_PYTHON_SOURCE = 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])'


def words(argv: t.Sequence[str]) -> str:
    """Quote the words of one command."""
    return " ".join(shlex.quote(word) for word in argv)


def pip_words(spec: VenvSpec, *arguments: str) -> t.List[str]:
    """The words of one ``pip install``."""
    pip = [spec.path + "/bin/python", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    return [*pip, *spec.pip_args, *arguments]


def pip(spec: VenvSpec, index_url: t.Optional[str], *arguments: str) -> str:
    """The index goes into the environment: its URL may hold a password, and every user can read command lines."""
    index = "PIP_INDEX_URL={0} ".format(shlex.quote(index_url)) if index_url else ""
    return index + words(pip_words(spec, *arguments))


def create(spec: VenvSpec) -> str:
    """venv leaves the links to an earlier interpreter as they are, so an environment of another minor version, or a broken one, goes."""
    test = [spec.path + "/bin/python", "-c", SAME_PYTHON_SOURCE, spec.python_minor]
    parts = ["{0}/{1}".format(spec.path, name) for name in ("bin", "lib", "lib64", "include", "pyvenv.cfg")]
    return "{0} 2>/dev/null || {1}\n{2}".format(words(test), words(["rm", "-rf", *parts]), words([spec.python, "-m", "venv", spec.path]))
