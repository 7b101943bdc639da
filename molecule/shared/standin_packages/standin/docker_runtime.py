# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ascend Docker Runtime up to 26.0.0, and from 26.1.0 on, which asks for its licence (mind-cluster: makeself-header.sh, run_main.sh; tried)."""

from __future__ import annotations

import os
import re
import sys
import time
import typing as t

from standin import daemon_json
from standin.docker_uninstall import uninstall
from standin.driver_files import ENGINE, engine_files
from standin.host import Host
from standin.journal import Fault, Finish, ask, say, strike, work
from standin.makeself import Archive

NAME = "ascend-docker-runtime"
LOGS = "/var/log/ascend-docker-runtime"
CONFIG = "/etc/ascend-docker-runtime.d"
MOUNTS = (
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/include",
    "/usr/local/dcmi",
    "/usr/local/bin/npu-smi",
    "/var/queue_schedule",
)
WORDS = ("--install", "--upgrade", "--uninstall", "--version")
VALUES = ("--install-path", "--install-scene", "--config-file-path", "--install-type")
TYPES = ("A500", "A500A2", "A200", "A200ISoC", "A200IA2")
# Words that releases before 26.1.0 take, with a warning.
TOLERATED = ("--quiet", "--nox11")

Manifest = t.Dict[str, t.Any]


class RuntimeRefusal(Exception):  # noqa: N818
    """The installer ends with exit code 1."""


class Call(t.NamedTuple):
    """One command line."""

    actions: t.Tuple[str, ...]
    folder: str
    scene: str
    config: str
    kind: str


def run(host: Host, manifest: Manifest, words: t.Sequence[str], fault: Fault, archive: t.Optional[Archive], name: str) -> int:
    """Run the installer and return its exit code.

    :param archive: the file that was started, None for the uninstall script
    :param name: how it was started; its name has to contain the architecture
    """
    try:
        rest = header(manifest, words, fault, archive)
        if archive and (fault.get("corrupt") or not archive.is_whole()):
            raise RuntimeRefusal("extract failed, Unable to decompress {0}".format(archive.path))
        if host.uid != 0:
            raise RuntimeRefusal("failed, please run with root permission")
        call = parse(host, rest)
        if "--version" in call.actions:
            say("{0} version: {1}".format(NAME, manifest["version"]))
            return 0
        strike(fault)
        return _act(host, manifest, call, fault, name)
    except RuntimeRefusal as exc:
        log(host, "[ERROR]", str(exc))
        return 1
    except Finish as exc:
        return exc.code


def is_asking(version: str) -> bool:
    """Does this release ask for its licence and refuse the words of Makeself? 26.1.0 is the first."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= (26, 1)


def header(manifest: Manifest, words: t.Sequence[str], fault: Fault, archive: t.Optional[Archive]) -> t.List[str]:
    """Obey what the shell header handles and return the words for the installer.

    :raises Finish: after help and check, and for a word that 26.1.0 refuses
    """
    if "--help" in words or "-h" in words:
        say("Usage: {0} [options]\n  --help | -h\n  {1}".format(manifest["file"], "\n  ".join(WORDS + VALUES)))
        raise Finish(0)
    unknown = [word for word in words if word.partition("=")[0] not in WORDS + VALUES]
    if not is_asking(manifest["version"]):
        if "--check" in unknown and archive:
            archive.verify(bool(fault.get("corrupt")))
            raise Finish(0)
        for word in unknown:
            if word in TOLERATED:
                say("[WARNING]: {0} is meaningless for {1} and will be discarded in the future".format(word, NAME))
        unknown = [word for word in unknown if word not in TOLERATED]
    if unknown:
        say("Error input\nUsage: {0} [options]".format(manifest["file"]))
        raise Finish(1)
    return [word for word in words if word not in TOLERATED]


def parse(host: Host, words: t.Sequence[str]) -> Call:
    """Return the command line.

    :raises RuntimeRefusal: for a repeated word, a value that does not exist, or a path without an action
    """
    values: t.Dict[str, str] = {}
    actions = []
    for word in words:
        name, equals, value = word.partition("=")
        if name in values or name in actions:
            raise RuntimeRefusal("failed, '{0}' Repeat parameter!".format(name))
        if equals:
            values[name] = value
        else:
            actions.append(name)
    scene = values.get("--install-scene", "docker")
    if scene not in ("docker", "containerd", "isula"):
        raise RuntimeRefusal("failed, please check the parameter of --install-scene=<scene>")
    if values.get("--install-type", TYPES[0]) not in TYPES:
        raise RuntimeRefusal("failed, please check the parameter of --install-type=<type>")
    config = values.get("--config-file-path", "")
    if config and not host.exists(config):
        raise RuntimeRefusal("failed, file '{0}' does not exist.".format(config))
    if values and not actions:
        raise RuntimeRefusal("failed, {0} needs --install, --uninstall or --upgrade".format(", ".join(sorted(values))))
    folder = values.get("--install-path", "/usr/local/Ascend").rstrip("/") + "/Ascend-Docker-Runtime"
    return Call(tuple(actions), folder, scene, config, values.get("--install-type", ""))


def _act(host: Host, manifest: Manifest, call: Call, fault: Fault, name: str) -> int:
    if call.scene != "docker":
        raise RuntimeRefusal("the stand-in knows only the scene docker")
    if "--install" in call.actions:
        _begin(host, manifest, name)
        _install(host, manifest, call, fault)
    elif "--uninstall" in call.actions:
        log(host, "[INFO]", uninstall(host, call.folder, call.config or "/etc/docker/daemon.json", check_path))
    elif "--upgrade" in call.actions:
        _begin(host, manifest, name)
        _upgrade(host, manifest, call, fault)
    else:
        say("Error input\nUsage: {0} [options]".format(manifest["file"]))
    return int(fault.get("result", 0))


def _begin(host: Host, manifest: Manifest, name: str) -> None:
    if is_asking(manifest["version"]):
        if not ask("Do you accept the EULA to install Ascend-docker-runtime?[Y/N]", "Yy", "Nn"):
            log(host, "[INFO]", "install cancelled, user declined EULA")
            raise Finish(0)
        log(host, "[INFO]", "user accepted EULA")
    if host.machine not in os.path.basename(name):
        raise RuntimeRefusal("install failed, run package and os not matched in arch")


def _install(host: Host, manifest: Manifest, call: Call, fault: Fault) -> None:
    if not call.folder.startswith("/"):
        raise RuntimeRefusal("install path: {0} is a relative path, please use absolute path".format(call.folder))
    config = call.config or "/etc/docker/daemon.json"
    checked(host, call.folder)
    host.make_folder(call.folder, 0o750)
    for parent, folders, files in os.walk(host.at(call.folder)):
        for entry in folders + files:
            checked(host, os.path.join(parent, entry)[len(host.root) :])
    steps = _programs(host, manifest, call.folder)
    steps.append(lambda: _mount_list(host))
    steps.append(lambda: _daemon(host, config, call.folder))
    steps.append(lambda: _record(host, manifest, call, config))
    work(steps, fault)
    if fault.get("half_installed"):
        host.remove(call.folder + "/ascend_docker_runtime_install.info")
        raise Finish(int(fault.get("result", 1)))
    log(host, "[INFO]", "{0} install success".format(NAME))
    say("[INFO] please reboot daemon and container engine to take effect")


def _upgrade(host: Host, manifest: Manifest, call: Call, fault: Fault) -> None:
    """Programs and mount list; daemon.json stays as it is."""
    if not host.exists(call.folder):
        raise RuntimeRefusal("upgrade failed, the specified install path does not exist, stopping upgrading")
    if not host.exists(CONFIG):
        raise RuntimeRefusal("upgrade failed, the configuration directory does not exist")
    checked(host, call.folder)
    steps = [*_programs(host, manifest, call.folder), lambda: _mount_list(host)]
    if host.exists(call.folder + "/ascend_docker_runtime_install.info"):
        steps.append(lambda: _record(host, manifest, call, call.config or "/etc/docker/daemon.json"))
    work(steps, fault)
    log(host, "[INFO]", "{0} upgrade success".format(NAME))


def _programs(host: Host, manifest: Manifest, folder: str) -> t.List[t.Callable[[], None]]:
    with open(os.path.join(ENGINE, "container_runtime.py"), encoding="utf-8") as stream:
        runtime = "#!{0}\n".format(sys.executable or "/usr/bin/python3") + stream.read()
    stub = "#!/bin/sh\necho 'stand-in: not simulated' >&2\nexit 1\n"
    script = '#!/bin/sh\nexec "{0}" -B "${{STANDIN_ROOT:-}}{1}/script/standin/main.py" "$0" - - --uninstall --install-path={2} "$@"\n'
    files = {
        folder + "/ascend-docker-runtime": (runtime, 0o550),
        folder + "/ascend-docker-hook": (stub, 0o550),
        folder + "/ascend-docker-cli": (stub, 0o550),
        folder + "/ascend-docker-destroy": (stub, 0o550),
        folder + "/ascend-docker-plugin-install-helper": (stub, 0o550),
        folder + "/README.md": ("stand-in\n", 0o640),
        folder + "/script/uninstall.sh": (script.format(sys.executable, folder, os.path.dirname(folder)), 0o500),
        **engine_files(folder + "/script"),
    }
    return [_writer(host, path, text, mode) for path, (text, mode) in sorted(files.items())]


def _writer(host: Host, path: str, text: str, mode: int) -> t.Callable[[], None]:
    return lambda: host.write(path, text, mode)


def _mount_list(host: Host) -> None:
    checked(host, CONFIG + "/base.list")
    host.make_folder(CONFIG, 0o750)
    host.write(CONFIG + "/base.list", "".join(path + "\n" for path in MOUNTS), 0o440)


def _daemon(host: Host, config: str, folder: str) -> None:
    checked(host, config)
    host.make_folder(os.path.dirname(config), 0o750)
    try:
        text = daemon_json.with_runtime(host.read(config) if host.exists(config) else None, folder + "/ascend-docker-runtime")
    except ValueError as exc:
        raise RuntimeRefusal("install failed, '{0}' cannot be changed: {1}".format(config, exc)) from exc
    host.write(config, text, 0o600)
    log(host, "[INFO]", "{0} modify success".format(config))


def _record(host: Host, manifest: Manifest, call: Call, config: str) -> None:
    rows = [
        ("version", "v" + manifest["version"]),
        ("arch", host.machine),
        ("os", "linux"),
        ("path", call.folder),
        ("build", "Ascend-docker-runtime_{0}-{1}".format(manifest["version"], host.machine)),
        *((kind.lower(), "y" if kind == call.kind else "n") for kind in TYPES),
        ("install-scene", call.scene),
        ("config-file-path", config if call.config else ""),
    ]
    host.write(call.folder + "/ascend_docker_runtime_install.info", "".join("{0}={1}\n".format(*row) for row in rows), 0o640)


def checked(host: Host, path: str) -> None:
    """Refuse a path that is not root's alone.

    :raises RuntimeRefusal: with the reason
    """
    reason = check_path(host, path)
    if reason:
        say("[ERROR] " + reason)
        raise RuntimeRefusal("install failed, {0} is invalid".format(path))


def check_path(host: Host, path: str) -> str:
    """Return why a path or one of its parents is refused, empty when none is."""
    if not re.match(r"^[a-zA-Z0-9./_-]{1,1024}$", path):
        return "parameter is invalid, char not all in 'a-zA-Z0-9./_-'"
    for part in host.chain(path):
        if os.path.islink(host.at(part)):
            return "{0} is soft link".format(part)
        if not host.is_roots(part):
            return "user or group of {0} is not root".format(part)
        if host.mode(part) & 0o022:
            return "group or other of {0} has write permission".format(part)
    return ""


def log(host: Host, level: str, text: str) -> None:
    """Print a line, and log it as root."""
    say("{0} {1}".format(level, text))
    if host.uid == 0:
        if not host.exists(LOGS):
            host.make_folder(LOGS, 0o750)
        line = "{0} [{1}] [uid: 0] [localhost] [{2}] {3}\n".format(level, time.strftime("%Y/%m/%d %H:%M:%S"), NAME, text)
        host.append(LOGS + "/installer.log", line, 0o640)
