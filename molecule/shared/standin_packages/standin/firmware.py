# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The firmware package. Its scripts are not public: what it prints and leaves behind is from captures and from ascend-deployer."""

from __future__ import annotations

import re
import typing as t

from standin import driver_checks, driver_files, install_info, options, simulator
from standin.driver import Log, Manifest
from standin.host import Host
from standin.journal import Fault, Finish, ask, say, strike, work
from standin.options import Options, Refusal

SPACE_MB = 32
INFO_KEYS = ("Firmware_Install_Type", "Firmware_Install_Path_Param")


def run(host: Host, manifest: Manifest, words: t.Sequence[str], fault: Fault) -> int:
    """Run the installer and return its exit code."""
    if host.uid != 0:
        say("[Firmware] [ERROR]{0}".format(Refusal(options.NOT_ROOT, "needs root")))
        return 1
    log = Log(host, "Firmware")
    try:
        return _run(host, manifest, words, fault, log)
    except Refusal as exc:
        log.line("ERROR", str(exc))
        return 1
    except Finish as exc:
        if "err_no" in fault:
            log.line("ERROR", str(Refusal(str(fault["err_no"]), str(fault.get("message", "fault")))))
        return exc.code


def _run(host: Host, manifest: Manifest, words: t.Sequence[str], fault: Fault, log: Log) -> int:
    asked = options.parse([word for word in words if word != "--install-for-all"])
    with driver_checks.take_lock(host):
        options.check_combination(asked)
        if asked.has("check"):
            return 0
        if asked.has("version"):
            say("[Firmware] [INFO]firmware version :{0}".format(manifest["version"]))
            return 0
        strike(fault)
        if asked.has("uninstall"):
            return _uninstall(host, fault, log)
        return _install(host, manifest, asked, fault, log)


def _install(host: Host, manifest: Manifest, asked: Options, fault: Fault, log: Log) -> int:
    before = install_info.values(host)
    path = before.get("Driver_Install_Path_Param", driver_checks.DEFAULT_PATH)
    if not host.exists(path + "/driver/tools/upgrade-tool"):
        raise Refusal("", "the tool of the driver that writes the flash is missing: install the driver first")
    driver_checks.check_space(host, path, SPACE_MB, fault)
    folder = path + "/firmware"
    found = re.match("Version=(.*)", host.read(folder + "/version.info"))
    if found and not asked.has("quiet") and not asked.has("upgrade"):
        question = "[Firmware] [INFO]version {0} is installed in {1}, this package is {2}, continue? [y/n]"
        if not ask(question.format(found.group(1), path, manifest["version"]), "y", "n"):
            raise Finish(0)
    host.remove(folder)
    group = before.get("UserGroup", driver_checks.DEFAULT_USER)
    user = {} if "UserName" in before else {"UserName": driver_checks.DEFAULT_USER, "UserGroup": driver_checks.DEFAULT_USER}
    install_info.update(host, dict(user, Firmware_Install_Type="full", Firmware_Install_Path_Param=path))
    files = {
        folder + "/image/npu.hpm": ("# stand-in\n", 0o440),
        folder + "/script/uninstall.sh": (driver_files.uninstall_script(folder + "/script"), 0o550),
        **driver_files.engine_files(folder + "/script"),
    }
    steps = [_writer(host, name, text, mode, group) for name, (text, mode) in sorted(files.items())]
    steps.append(lambda: simulator.change(host, firmware_flashed=manifest["version"]))
    steps.append(_writer(host, folder + "/version.info", _version_info(manifest), 0o444, group))
    work(steps, fault)
    if fault.get("half_installed"):
        host.remove(folder + "/version.info")
        return int(fault.get("result", 1))
    log.line("INFO", "Firmware package installed successfully! Reboot now or after driver installation for it to take effect.")
    return int(fault.get("result", 0))


def _version_info(manifest: Manifest) -> str:
    return "Version={0}\nfirmware_version=1.0\npackage_version={1}\n".format(manifest["version"], manifest["hdk"])


def _writer(host: Host, path: str, text: str, mode: int, group: str) -> t.Callable[[], None]:
    return lambda: host.write(path, text, mode, group)


def _uninstall(host: Host, fault: Fault, log: Log) -> int:
    """Remove the files. The devices keep what was written to their flash."""
    path = install_info.values(host).get("Firmware_Install_Path_Param")
    if not path:
        raise Refusal(options.NOT_INSTALLED, "the firmware package is not installed")
    host.remove(path + "/firmware")
    install_info.drop(host, INFO_KEYS)
    log.line("INFO", "Firmware package uninstalled successfully!")
    return int(fault.get("result", 0))
