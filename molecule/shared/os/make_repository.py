# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make the package repository of the hosts that pose as another operating system.

make_repository.py --format dnf --output DIR      needs rpmbuild, createrepo_c, dpkg-deb
make_repository.py --format apt --output DIR      needs dpkg-deb, apt-ftparchive
make_repository.py --list-installed               the names that a dnf host has installed from the start

Both ask apt of this machine for the Debian packages whose programs are offered; build.sh therefore runs it inside the base image, so that
architecture and libraries fit. What is offered is in packages/catalogue.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import typing as t

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from packages import deb, rpm
from packages.catalogue import APT_OFFLINE, Package, catalogue


def needed_debs(packages: t.Iterable[Package]) -> t.List[str]:
    """Return the names of the Debian packages that the rows are made of."""
    return sorted({name for package in packages for name in package.debian})


def download(names: t.Sequence[str], folder: str, with_dependencies: bool) -> t.Dict[str, str]:
    """Fetch Debian packages and return name -> archive; with dependencies those that this machine lacks come along."""
    os.makedirs(os.path.join(folder, "partial"))
    if with_dependencies:
        command = ["apt-get", "install", "--yes", "--download-only", "--no-install-recommends", "--reinstall"]
        command += ["-o", "Dir::Cache::archives=" + folder, *names]
    else:
        command = ["apt-get", "download", *names]
    # The user that apt would download as cannot write here.
    subprocess.run([*command, "-q", "-o", "APT::Sandbox::User=root"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    found = sorted(name for name in os.listdir(folder) if name.endswith(".deb"))
    return {name.split("_")[0]: os.path.join(folder, name) for name in found}


def main(argv: t.Sequence[str]) -> int:
    """Make the repository."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=["apt", "dnf"])
    parser.add_argument("--output", help="folder of the repository; made when missing")
    parser.add_argument("--list-installed", action="store_true")
    parser.add_argument("--kernel", default=os.uname().release, help="kernel release whose headers are offered (default: %(default)s)")
    options = parser.parse_args(argv)
    packages = catalogue(options.kernel)
    if options.list_installed:
        print("\n".join(package.rpm for package in packages if package.installed))
        return 0
    if not options.format or not options.output:
        parser.error("--format and --output are needed")
    output = os.path.abspath(options.output)
    os.makedirs(output, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        archives = os.path.join(work, "archives")
        if options.format == "dnf":
            rpm.build(packages, output, download(needed_debs(packages), archives, False), os.path.join(work, "dnf"))
        else:
            deb.build(packages, output, download(APT_OFFLINE, archives, True), os.path.join(work, "apt"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
