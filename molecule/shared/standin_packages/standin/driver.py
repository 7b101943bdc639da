# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The driver package: exit code 0 after a hot reset, 2 when a reboot is needed, 1 for every failure (hicann/driver)."""

from __future__ import annotations

import os
import re
import time
import typing as t

from standin import driver_checks, driver_files, install_info, options, simulator
from standin.driver_checks import Target
from standin.host import Host
from standin.journal import Fault, Finish, ask, say, strike, work
from standin.options import Options, Refusal

LOGS = "/var/log/ascend_seclog"
CODE_REBOOT = 2
INFO_KEYS = ("Driver_Install_Path_Param", "Driver_Install_Type", "Driver_Install_Mode", "Driver_Install_For_All")
SPACE_MB = 300

Manifest = t.Dict[str, t.Any]


class Log:
    """Screen and ascend_install.log."""

    def __init__(self, host: Host, title: str) -> None:
        self._host, self._title = host, title
        if not host.exists(LOGS):
            host.make_folder(LOGS, 0o750)

    def line(self, level: str, text: str) -> None:
        """Print a line and log it."""
        line = "[{0}] [{1}] [{2}]{3}".format(self._title, time.strftime("%Y-%m-%d %H:%M:%S"), level, text)
        say(line)
        self._host.append(LOGS + "/ascend_install.log", line + "\n", 0o640)

    def operation(self, name: str, result: str, words: t.Sequence[str]) -> None:
        """Append to operation.log."""
        text = "{0} root {1} 127.0.0.1 {2} cmdlist={3}.\n".format(name, time.strftime("%Y-%m-%d %H:%M:%S"), result, " ".join(words))
        self._host.append(LOGS + "/operation.log", text, 0o640)


def run(host: Host, manifest: Manifest, words: t.Sequence[str], fault: Fault) -> int:
    """Run the installer and return its exit code."""
    if host.uid != 0:
        say("[Driver] [ERROR]{0}".format(Refusal(options.NOT_ROOT, "needs root")))
        return 1
    log = Log(host, "Driver")
    log.line("INFO", "LogFile: {0}/ascend_install.log".format(LOGS))
    name = next((word[2:] for word in words if word in ("--upgrade", "--uninstall")), "install").capitalize()
    try:
        code = _run(host, manifest, words, fault, log)
    except Refusal as exc:
        log.line("ERROR", str(exc))
        log.operation(name, "failed", words)
        return 1
    except Finish as exc:
        if "err_no" in fault:
            log.line("ERROR", str(Refusal(str(fault["err_no"]), str(fault.get("message", "fault")))))
        code = exc.code
    log.operation(name, "success" if code in (0, CODE_REBOOT) else "failed", words)
    log.line("INFO", "End time: {0}".format(time.strftime("%Y-%m-%d %H:%M:%S")))
    return code


def _run(host: Host, manifest: Manifest, words: t.Sequence[str], fault: Fault, log: Log) -> int:
    asked = options.parse(words)
    if not asked.has("uninstall"):
        driver_checks.check_machine(host, manifest)
    lock = driver_checks.take_lock(host)
    with lock:
        options.check_combination(asked)
        if asked.has("check"):
            return 0
        if asked.has("version"):
            say("[Driver] [INFO]driver version :{0}".format(manifest["version"]))
            return 0
        strike(fault)
        if asked.has("uninstall"):
            return uninstall(host, asked, fault, log)
        return _install(host, manifest, asked, fault, log)


def _install(host: Host, manifest: Manifest, asked: Options, fault: Fault, log: Log) -> int:
    log.line("WARNING", "Do not power off or restart the system during the installation")
    target = driver_checks.choose_target(host, asked)
    driver_checks.check_old_firmware(host, manifest, target.path)
    driver_checks.check_user(host, target)
    driver_checks.check_path(host, target)
    driver_checks.check_space(host, target.path, SPACE_MB, fault)
    if target.type not in ("devel", "docker"):
        driver_checks.check_tools(host)
    driver_checks.check_owners(host, target, asked.has("quiet"))
    if not target.is_first:
        driver_checks.check_flash(host, manifest)
        _confirm(host, manifest, target, asked)
        driver_checks.check_idle(host, asked, fault)
        _remove(host, install_info.values(host).get("Driver_Install_Path_Param", target.path))
    _record(host, target)
    work(steps(host, manifest, target), fault)
    if fault.get("half_installed"):
        return int(fault.get("result", 1))
    if target.type in ("devel", "docker"):
        return 0
    install_info.complete(host)
    return _finish(host, fault, log)


def _confirm(host: Host, manifest: Manifest, target: Target, asked: Options) -> None:
    found = re.match("Version=(.*)", host.read(target.path + "/driver/version.info"))
    if found is None or asked.has("quiet") or asked.has("upgrade"):
        return
    question = "[Driver] [INFO]version {0} is installed in {1}, this package is {2}, continue? [y/n]"
    if not ask(question.format(found.group(1), target.path, manifest["version"]), "y", "n"):
        raise Finish(0)


def _record(host: Host, target: Target) -> None:
    rows = {"UserName": target.user, "UserGroup": target.group, "Driver_Install_Type": target.type}
    rows.update(Driver_Install_Path_Param=target.path, Driver_Install_For_All="yes" if target.for_all else "no")
    rows["Driver_Install_Mode"] = "debug" if target.type == "debug" else "normal"
    install_info.update(host, rows)


def steps(host: Host, manifest: Manifest, target: Target) -> t.List[t.Callable[[], None]]:
    """Return what an installation does, in order; version.info is the last file, then the tree becomes immutable."""
    folder = target.path + "/driver"
    files = {"{0}/{1}".format(folder, name): value for name, value in driver_files.tree(manifest, target.for_all).items()}
    files.update(driver_files.engine_files(folder + "/script"))
    files[folder + "/script/uninstall.sh"] = (driver_files.uninstall_script(folder + "/script"), 0o550)
    files[folder + "/tools/upgrade-tool"] = (simulator.upgrade_tool(host), driver_files.for_everybody(0o550, target.for_all))
    if target.type not in ("devel", "docker"):
        files.update(driver_files.system_files(host, target.path, manifest["chip"]))
        files.update({path: value for path, value in driver_files.KEPT.items() if not host.exists(path)})
    todo = [_writer(host, path, text, mode, target.group) for path, (text, mode) in sorted(files.items())]
    todo.append(lambda: _open_folders(host, folder, target))
    todo.append(_writer(host, folder + "/version.info", driver_files.version_info(manifest), 0o444, target.group))
    todo.append(lambda: host.set_immutable([folder, "/usr/bin/device_boot_init.sh"], True))
    return todo


def _writer(host: Host, path: str, text: str, mode: int, group: str) -> t.Callable[[], None]:
    return lambda: host.write(path, text, mode, group if "/driver/" in path else None)


def _open_folders(host: Host, folder: str, target: Target) -> None:
    for parent, _folders, _files in os.walk(host.at(folder)):
        os.chmod(parent, 0o755 if target.for_all else 0o750)
        host.give(parent[len(host.root) :], target.group)


def _finish(host: Host, fault: Fault, log: Log) -> int:
    if fault.get("hot_reset") and simulator.reload_driver(host):
        log.line("INFO", "Driver package installed successfully! The new version takes effect immediately.")
        return int(fault.get("result", 0))
    if not simulator.is_loaded(host):
        simulator.change(host, loaded=False)
    log.line("INFO", "Driver package installed successfully! Reboot needed for installation/upgrade to take effect!")
    return int(fault.get("result", CODE_REBOOT))


def uninstall(host: Host, asked: Options, fault: Fault, log: Log) -> int:
    """Remove the driver. It runs on until the next boot."""
    path = install_info.values(host).get("Driver_Install_Path_Param")
    if not path:
        raise Refusal(options.NOT_INSTALLED, "the driver is not installed")
    driver_checks.check_idle(host, asked, fault)
    _remove(host, path)
    install_info.drop(host, INFO_KEYS)
    if host.exists(path) and not os.listdir(host.at(path)):
        host.remove(path)
    log.line("INFO", "Driver package uninstalled successfully! Reboot needed for uninstallation to take effect!")
    return int(fault.get("result", 0))


def _remove(host: Host, path: str) -> None:
    """version.info goes first, so that an interruption leaves no driver that looks whole."""
    host.remove(path + "/driver/version.info")
    outside = [name for name in driver_files.system_files(host, path, "A3") if "Ascend-dracut" not in name]
    for name in [*outside, "/usr/local/sbin/npu-smi", "/etc/dracut.conf.d/Ascend-dracut.conf", "/usr/local/dcmi", path + "/driver"]:
        host.remove(name)
