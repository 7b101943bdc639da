# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Entry of the simulated installer: main.py FILE WORK OFFSET [words], as the shell header calls it; WORK and OFFSET are - in an uninstall script."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import typing as t

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from standin import cann, docker_runtime, driver, firmware
from standin.host import Host
from standin.journal import Finish, Journal
from standin.makeself import Archive, header

# Makeself's own exit code after a signal.
CODE_SIGNAL = 15
# A shell script whose reader went away ends by SIGPIPE.
CODE_PIPE = 141


def main(argv: t.Sequence[str]) -> int:
    """Run one execution and return its exit code."""
    file, work, offset, *words = argv
    with open(os.path.join(HERE, "manifest.json"), encoding="utf-8") as stream:
        manifest = json.load(stream)
    signal.signal(signal.SIGTERM, _end)
    try:
        return execute(manifest, file, None if offset == "-" else int(offset), words)
    finally:
        if work != "-":
            shutil.rmtree(work, ignore_errors=True)


def _end(number: int, frame: t.Any) -> None:
    raise Finish(CODE_SIGNAL)


def execute(manifest: t.Dict[str, t.Any], file: str, offset: t.Optional[int], words: t.List[str]) -> int:
    """Do what the words ask for, and log it.

    :param offset: where the payload begins in the file, None for an uninstall script
    """
    host = Host(os.environ)
    journal = Journal(host, manifest["kind"], manifest["version"])
    archive = None if offset is None else Archive(file, offset, manifest["label"], manifest["payload"]["sha256"])
    code = 1
    try:
        journal.begin([file, *words], words)
        code = _run(host, manifest, words, journal.fault, archive, file)
    except Finish as exc:
        code = exc.code
    except BrokenPipeError:
        code = CODE_PIPE
    finally:
        journal.end(code)
    return code


def _run(
    host: Host, manifest: t.Dict[str, t.Any], words: t.List[str], fault: t.Dict[str, t.Any], archive: t.Optional[Archive], file: str
) -> int:
    kind = manifest["kind"]
    if kind == "docker_runtime":
        return docker_runtime.run(host, manifest, words, fault, archive, manifest["file"] if archive is None else file)
    # An uninstall script takes --quiet beside its own --uninstall; the package does not.
    words = header(archive, words, bool(fault.get("corrupt"))) if archive else [word for word in words if word != "--quiet"]
    installer = {"driver": driver.run, "firmware": firmware.run}.get(kind, cann.run)
    return installer(host, manifest, words, fault)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
