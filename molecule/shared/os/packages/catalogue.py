# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the hosts' own package repository offers, as data: one row a package, under the names of both package families.

A row is made of Debian packages (the real program), of a folder of ``payload`` (a stand-in that says so), or of nothing (a name that
has to be installable, whose content nobody looks for).
"""

from __future__ import annotations

import typing as t


class Package(t.NamedTuple):
    """One package. An empty name means that this family does not have it."""

    rpm: str = ""
    deb: str = ""
    version: str = "0.1"
    payload: str = ""  # folder below payload/
    debian: t.Tuple[str, ...] = ()  # Debian packages whose files the rpm takes over; apt hosts get them as they are, under their own name
    take: t.Tuple[t.Tuple[str, str], ...] = ()  # which of their files, and where to: (prefix, new prefix); empty: PROGRAM
    provides: t.Tuple[str, ...] = ()
    requires: t.Tuple[str, ...] = ()
    links: t.Tuple[t.Tuple[str, str], ...] = ()  # symbolic links: (path, target)
    service: str = ""  # unit that the installation enables and, where the family does that, starts
    group: str = ""  # system group that the installation makes
    installed: bool = False  # the installed system of a dnf host has it already


# Where the files of a Debian package go in an rpm: /bin, /sbin and /lib are links to /usr on both sides. Documentation stays behind.
PROGRAM = tuple((folder + "/", "usr/{0}/".format(folder)) for folder in ("bin", "sbin", "lib")) + tuple(
    (folder, folder) for folder in ("etc/", "usr/bin/", "usr/sbin/", "usr/lib/", "usr/share/python-wheels/")
)

# Part of every installation of the dnf systems, and of the image below them: names only, so that rpm knows them.
INSTALLED = (
    "ca-certificates", "coreutils", "dbus", "device-mapper-libs", "dnf", "dnf-plugins-core", "e2fsprogs", "findutils", "gawk", "glibc", "grep",
    "gzip", "iproute", "iptables", "kmod", "openssl-libs", "procps-ng", "python3", "python3-dnf", "rpm", "sed", "shadow", "sudo", "systemd",
    "systemd-udev", "tar", "util-linux", "which", "xz", "yum",
)  # fmt: skip

# The real programs, from Debian packages.
REAL = (
    Package(rpm="unzip", version="6.0", debian=("unzip",)),
    Package(rpm="bzip2", version="1.0.8", debian=("bzip2",)),
    Package(rpm="net-tools", version="2.0", debian=("net-tools",)),
    Package(rpm="numactl", version="2.0.16", debian=("numactl",), provides=("numactl-libs",)),
    Package(rpm="createrepo_c", version="0.17.3", debian=("createrepo-c", "libcreaterepo-c0")),
    Package(rpm="logrotate", version="3.21.0", debian=("logrotate", "libpopt0")),
    Package(
        rpm="python3-pip",
        version="23.0.1",
        debian=("python3-pip", "python3-setuptools", "python3-pkg-resources", "python3-wheel", "python3-distutils", "python3-lib2to3"),
    ),
    # Contents, Provides and scripts: docker-engine-openeuler.spec in github.com/openeuler-mirror/docker. There it conflicts with the package
    # "containerd", which holds other versions of the same files; here both hold the same ones.
    Package(
        rpm="docker-engine",
        version="20.10.24",
        debian=("docker.io", "containerd", "runc"),
        take=tuple((old + name, "usr/bin/" + name) for old in ("usr/sbin/", "usr/bin/") for name in ("docker", "containerd", "runc")),
        payload="docker-engine",
        provides=("docker",),
        requires=("iptables", "libcgroup", "tar", "xz", "device-mapper-libs"),
        service="docker.service",
        group="docker",
    ),
    Package(
        rpm="containerd",
        version="1.6.20",
        debian=("containerd", "runc"),
        take=(("usr/sbin/", "usr/bin/"), *PROGRAM),
        service="containerd.service",
    ),
)

# Debian packages that apt hosts get without a network, with what they depend on.
APT_OFFLINE = (
    "acl", "apparmor", "apt-utils", "bsdextrautils", "bzip2", "containerd", "docker.io", "iptables", "logrotate", "net-tools", "numactl", "python3-apt",
    "python3-pip", "rsync", "runc", "udev", "unzip", "xz-utils",
)  # fmt: skip

# Stand-ins. Those that would act on the kernel of the machine below (irqbalance, tuned, cpupower) only say that they were called.
STANDINS = (
    Package(rpm="gcc", deb="gcc", version="10.3.1", payload="gcc", links=(("usr/bin/cc", "gcc"),)),
    Package(rpm="gcc-c++", deb="g++", version="10.3.1", payload="g++", links=(("usr/bin/c++", "g++"),), requires=("gcc",)),
    Package(rpm="make", deb="make", version="4.3", payload="make"),
    Package(rpm="cmake", deb="cmake", version="3.22.0", payload="cmake"),
    Package(rpm="dkms", deb="dkms", version="2.8.7", payload="dkms", requires=("gcc", "make")),
    Package(rpm="pciutils", deb="pciutils", version="3.7.0", payload="pciutils"),
    Package(rpm="chkconfig", version="1.20", payload="chkconfig"),
    Package(rpm="irqbalance", deb="irqbalance", version="1.8.0", payload="irqbalance", service="irqbalance.service"),
    Package(rpm="tuned", deb="tuned", version="2.19.0", payload="tuned", service="tuned.service"),
    Package(rpm="haveged", deb="haveged", version="1.9.14", payload="haveged", service="haveged.service"),
    Package(rpm="kernel-tools", deb="linux-tools-common", payload="cpupower"),
    Package(rpm="python3-devel", deb="python3-dev", version="3.11"),
)

# Names only: (dnf, apt).
EMPTY = (
    ("numactl-devel", "libnuma-dev"),
    ("zlib-devel", "zlib1g-dev"),
    ("libffi-devel", "libffi-dev"),
    ("bzip2-devel", "libbz2-dev"),
    ("xz-devel", "liblzma-dev"),
    ("openssl-devel", "libssl-dev"),
    ("sqlite-devel", "libsqlite3-dev"),
    ("elfutils-libelf-devel", "libelf-dev"),
    ("java-17-openjdk-devel", "openjdk-17-jdk"),
    ("libcanberra-gtk3", "libcanberra-gtk-module"),
    ("", "build-essential"),
    ("", "linux-generic"),
    ("libcgroup", ""),
)


def kernel_packages(release: str) -> t.List[Package]:
    """Return the packages that belong to one kernel release (of ``uname -r``); headers lie where /lib/modules/RELEASE/build points.

    A dash cannot be part of an rpm release, so a release with one becomes a name that the rpm provides. Apt names carry the release.
    """
    version, dash, rest = release.partition("-")
    evr = version + ("-" + rest.replace("-", "_") if dash else "-1")
    sources, build = "usr/src/kernels/" + release, "usr/lib/modules/{0}/build".format(release)
    return [
        Package(rpm="kernel", deb="linux-image-" + release, version=evr, provides=("kernel-" + release,), installed=True),
        Package(
            rpm="kernel-devel",
            deb="linux-headers-" + release,
            version=evr,
            payload="kernel-devel:" + sources,
            provides=("kernel-devel-" + release,),
            links=((build, "/" + sources),),
        ),
        Package(rpm="kernel-headers", version=evr, provides=("kernel-headers-" + release,)),
        Package(deb="linux-headers-generic", version=evr, requires=("linux-headers-" + release,)),
        Package(deb="linux-tools-" + release, version=evr, requires=("linux-tools-common",)),
    ]


def catalogue(release: str) -> t.List[Package]:
    """Return all rows for a machine with this kernel release."""
    names = [Package(rpm=rpm, deb=deb) for rpm, deb in EMPTY]
    present = [Package(rpm="bash", provides=("/bin/sh",), installed=True), *(Package(rpm=name, installed=True) for name in INSTALLED)]
    return [*REAL, *STANDINS, *names, *present, *kernel_packages(release)]
