# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""OS packages of openEuler, Kylin and their relatives, for any release and architecture, by dnf with an empty root of its own. Pure.

Into an empty root dnf resolves all that the packages need. createrepo_c makes the folder a repository for the hosts; with a fixed
revision the same packages give the same metadata.
"""

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Mapping, Place, Stages, Tool, lines, words, write

TOOLS = (Tool("dnf", "dnf", "dnf"), Tool("createrepo_c", "createrepo-c", "createrepo_c"))

CONFIG = """\
[main]
reposdir={work}/none
varsdir={work}/none
cachedir={work}/cache
logdir={work}/log
persistdir={work}/persist
installroot={work}/root
install_weak_deps=False
plugins=False
best=True
retries=3
"""

REPOSITORY = """
[npufleet-{number}]
name={url}
baseurl={url}
gpgcheck={check}
"""

# dnf prints sizes for people only, and as a command it wants root even for a download into an empty root, so its library is asked. With a
# listing nothing is fetched; with a target, every package of a repository with a key is checked against it.
# Arguments: configuration, architecture, release, "list" or "fetch", listing or target, packages.
PROGRAM = r"""
import json, os, shutil, sys
import dnf, dnf.conf, dnf.rpm

config, arch, release, action, place, *names = sys.argv[1:]
conf = dnf.conf.Conf()
# Without a release dnf asks the package database of this machine, which need not be there.
conf.substitutions.update(arch=arch, basearch=dnf.rpm.basearch(arch), releasever=release)
base = dnf.Base(conf)
base.conf.config_file_path = config
base.conf.read()
base.conf.ignorearch = True
for folder in (base.conf.logdir, base.conf.persistdir):
    os.makedirs(folder, exist_ok=True)
base.read_all_repos()

def resolve():
    base.fill_sack(load_system_repo=False)
    unknown = []
    for name in names:
        try:
            base.install(name)
        except dnf.exceptions.MarkingError:
            unknown.append(name)
    if unknown:
        sys.exit("ERROR: no repository has " + ", ".join(unknown))
    base.resolve()
    return sorted(base.transaction.install_set, key=lambda package: os.path.basename(package.location))

def check(package):
    code, text = base.package_signature_check(package)
    if code == 1:  # the key is not known yet: that of the configuration is taken
        base.package_import_key(package, askcb=lambda *_words: True)
        code, text = base.package_signature_check(package)
    if code:
        sys.exit("ERROR: %s: %s" % (package, text))

def fetch(packages):
    base.repos.all().pkgdir = place
    base.download_packages(packages)
    for package in packages:
        if package.repo.gpgcheck:
            check(package)
        path = os.path.join(place, os.path.basename(package.location))
        # A package of a local repository stays where it is.
        if os.path.realpath(package.localPkg()) != os.path.realpath(path):
            shutil.copyfile(package.localPkg(), path)
        print("Downloaded " + os.path.basename(path), flush=True)

try:
    found = resolve()
    if action == "fetch":
        fetch(found)
    else:
        rows = [
            {"file": os.path.basename(one.location), "size": one.downloadsize, "url": one.remote_location(), "licence": one.license}
            for one in found
        ]
        json.dump(rows, open(place, "w"), indent=1)
except dnf.exceptions.Error as exc:
    sys.exit("ERROR: " + " ".join(str(exc).split()))
"""

# The interpreter that dnf itself runs with has its library; it is in the first line of the program. That of DNF 5 is no script.
DNF_PYTHON = """dnf_python=$(sed -n '1s/^#! *\\([^ ]*\\).*/\\1/p' "$(command -v dnf-3 || command -v dnf)")
[ -n "$dnf_python" ] || { echo "ERROR: the dnf of this machine is not DNF 4, whose Python library is needed"; exit 1; }"""


def stages(part: Mapping, place: Place) -> Stages:
    """Return the commands for a part of kind dnf."""
    config = place.work + "/dnf.conf"
    text = CONFIG.format(work=place.work) + "".join(_section(number, row) for number, row in enumerate(part["repositories"]))
    program = [config, part["arch"], part["release"]]
    start = lines(DNF_PYTHON, '"$dnf_python" ' + words("-c", PROGRAM, *program) + " ")
    return Stages(
        resolve=lines(
            words("mkdir", "-p", place.work + "/none"),
            write(config, text),
            start + words("list", place.listing, *part["packages"]),
        ),
        fetch=lines(words("mkdir", "-p", place.target), start + words("fetch", place.target, *part["packages"])),
        finish=words(
            "createrepo_c",
            "--quiet",
            "--no-database",
            "--simple-md-filenames",
            "--revision",
            "0",
            "--set-timestamp-to-revision",
            place.target,
        ),
    )


def _section(number: int, row: Mapping) -> str:
    text = REPOSITORY.format(number=number, url=row["url"], check=1 if row.get("key") else 0)
    return text + ("gpgkey={0}\n".format(row["key"]) if row.get("key") else "")
