# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stand-in for ascend-docker-runtime: adds the NPUs a container asks for to its configuration, then becomes runc.

What a container gets, and how it fails, is from trying the real runtime with fake device nodes; the texts of the errors are the stand-in's own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
import time
import typing as t

LISTS = "/etc/ascend-docker-runtime.d"
COMMON = ("davinci_manager", "devmm_svm", "hisi_hdc", "dvpp_cmdlist")
HIGHEST = 128
OPTIONS = ("NODRV", "VIRTUAL")
LIBRARY = "/usr/local/dcmi/libdcmi.so"
DRIVER = "/usr/local/Ascend/driver"


class ContainerError(Exception):
    """The container cannot be made."""


def wanted(text: str) -> t.List[int]:
    """Return the ids of ASCEND_VISIBLE_DEVICES: 0, 0-2,5, Ascend910-1, npu-4; none for an empty one and for void.

    :raises ContainerError: for everything else, "all" included. Docker makes 127 of "no such file or directory", as it was seen.
    """
    if text in ("", "void"):
        return []
    ids: t.List[int] = []
    for part in text.split(","):
        match = re.match(r"(?:Ascend[0-9A-Za-z]*-|npu-)?(\d+)(?:-(\d+))?$", part.strip())
        if match is None:
            raise ContainerError("invalid device {0}: no such file or directory".format(part))
        first = int(match.group(1))
        ids += range(first, int(match.group(2) or first) + 1)
    if any(number > HIGHEST for number in ids):
        raise ContainerError("device id above {0}: no such file or directory".format(HIGHEST))
    return sorted(set(ids))


def nodes(ids: t.Sequence[int], dev: str = "/dev") -> t.List[t.Dict[str, t.Any]]:
    """Return the devices of the OCI configuration.

    :raises ContainerError: for an id without a node
    """
    found = []
    for name in ["davinci{0}".format(number) for number in ids] + [name for name in COMMON if os.path.exists(os.path.join(dev, name))]:
        try:
            info = os.stat(os.path.join(dev, name))
        except OSError as exc:
            raise ContainerError("/dev/{0}: no such file or directory".format(name)) from exc
        found.append(
            {
                "path": "/dev/" + name,
                "type": "c",
                "major": os.major(info.st_rdev),
                "minor": os.minor(info.st_rdev),
                "fileMode": stat.S_IMODE(info.st_mode),
                "uid": info.st_uid,
                "gid": info.st_gid,
            }
        )
    return found


def mounts(names: t.Sequence[str], lists: str = LISTS) -> t.List[t.Dict[str, t.Any]]:
    """Return read-only mounts of the paths of some lists, those that exist.

    :raises ContainerError: for a list that is not there
    """
    paths: t.List[str] = []
    for name in names:
        try:
            with open(os.path.join(lists, name + ".list"), encoding="utf-8") as stream:
                paths += stream.read().split()
        except OSError as exc:
            raise ContainerError("mount list {0}: no such file or directory".format(name)) from exc
    options = ["ro", "rbind", "nodev", "nosuid"]
    return [{"destination": path, "source": path, "type": "bind", "options": options} for path in paths if os.path.exists(path)]


def change(spec: t.Dict[str, t.Any]) -> None:
    """Add devices, mounts and variables to an OCI configuration.

    :raises ContainerError: when the container asks for what is not there
    """
    env = dict(line.partition("=")[::2] for line in spec["process"].get("env", []))
    ids = wanted(env.get("ASCEND_VISIBLE_DEVICES", ""))
    if not ids:
        return
    options = [word for word in env.get("ASCEND_RUNTIME_OPTIONS", "").split(",") if word]
    if any(word not in OPTIONS for word in options):
        raise ContainerError("invalid runtime option {0}".format(",".join(options)))
    if not os.path.exists(LIBRARY):
        raise ContainerError("failed to find a valid manager: {0}: no such file or directory".format(LIBRARY))
    devices = nodes(ids)
    linux = spec.setdefault("linux", {})
    linux.setdefault("devices", []).extend(devices)
    rules = linux.setdefault("resources", {}).setdefault("devices", [])
    rules += [{"allow": True, "type": "c", "major": node["major"], "minor": node["minor"], "access": "rwm"} for node in devices]
    if "NODRV" not in options:
        names = [name.strip() for name in env.get("ASCEND_RUNTIME_MOUNTS", "base").split(",")]
        spec.setdefault("mounts", []).extend(mounts(names))
    variables = spec["process"].setdefault("env", [])
    variables.append("ASCEND_DOCKER_RUNTIME=True")
    if "LD_LIBRARY_PATH" not in env:
        variables.append("LD_LIBRARY_PATH={0}/lib64:{0}/lib64/common:{0}/lib64/driver".format(DRIVER))


def option(argv: t.Sequence[str], *names: str) -> t.Optional[str]:
    """Return the value of an option of runc, "--bundle PATH" or "--bundle=PATH"."""
    for position, word in enumerate(argv):
        for name in names:
            if word == name and position + 1 < len(argv):
                return argv[position + 1]
            if word.startswith(name + "="):
                return word[len(name) + 1 :]
    return None


def main(argv: t.Sequence[str]) -> int:
    """Change the bundle of a "create", then become runc; 1 when the container cannot be made."""
    bundle = option(argv, "--bundle", "-b")
    if "create" in argv and bundle:
        path = os.path.join(bundle, "config.json")
        try:
            with open(path, encoding="utf-8") as stream:
                spec = json.load(stream)
            change(spec)
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(spec, stream)
        except (OSError, ValueError, ContainerError) as exc:
            return _fail(argv, str(exc))
    runc = shutil.which("runc") or shutil.which("docker-runc") or shutil.which("crun")
    if runc is None:
        return _fail(argv, "runc: executable file not found in $PATH")
    os.execv(runc, [runc, *argv])
    return 1


def _fail(argv: t.Sequence[str], text: str) -> int:
    """Tell containerd through the log it named, and whoever looks at stderr."""
    log = option(argv, "--log")
    if log:
        with open(log, "a", encoding="utf-8") as stream:
            stream.write(json.dumps({"level": "error", "msg": text, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}) + "\n")
    sys.stderr.write("ascend-docker-runtime: {0}\n".format(text))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
