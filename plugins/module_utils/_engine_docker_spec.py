# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""What an engine needs to run in a container: image, devices, mounts, limits. Values only; what the host has is asked by ``exists``.

The driver of the host is mounted, and the image brings CANN (vllm-ascend, docs/source/installation.md). Chips come by device node, or by
Ascend Docker Runtime and ASCEND_VISIBLE_DEVICES with numbers of the host; never by both, and never by ASCEND_RT_VISIBLE_DEVICES, which
counts among the chips that the container has (vllm-ascend #13399).
"""

from __future__ import annotations

import ipaddress
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_args import normal_name
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_options import container_options
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_ray import read_ray
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._plan_devices import INNER, OUTER
from ansible_collections.npufleet.ascend.plugins.module_utils._tuning_values import parse_cpus

# Names and tags as the reference grammar of the distribution project allows them, a digest, or the id of an image.
IMAGE_PATTERN = re.compile(r"[\w][\w.:/-]*(?:@sha256:[0-9a-f]{64})?\Z", re.ASCII)
NAME_PATTERN = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{1,127}\Z")
SIZE_PATTERN = re.compile(r"[1-9][0-9]*[kmg]\Z")
CAPABILITY_PATTERN = re.compile(r"[A-Z][A-Z0-9_]*\Z")
CHIP_NODE = re.compile(r"/dev/davinci\d+\Z")
# What a person must not add back: each of them gives the host away (capabilities(7)).
TOO_MUCH = frozenset({"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO", "DAC_READ_SEARCH", "BPF"})

# Control nodes of all generations. davinci_manager and hisi_hdc are there with every driver; devmm_svm is not listed for 950, whose
# containers get ummu and uburma (docker run lines of vllm-ascend).
CONTROL_NODES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc", "/dev/ummu", "/dev/uburma")

# Files of the driver below the root of the host. The whole driver folder, as HCCL's topology files lie outside lib64
# (vllm-project/recipes PR 907); version.info lies in it.
DRIVER = "/usr/local/Ascend/driver"
DRIVER_REQUIRED = (DRIVER, "/etc/ascend_install.info")
# dcmi and npu-smi serve a person who looks into the container; npu-smi lies in sbin on Atlas 200I Pro.
DRIVER_OPTIONAL = ("/usr/local/dcmi", "/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi")
NETWORK_FILE = "/etc/hccn.conf"

Exists = t.Callable[[str], bool]


class ContainerError(NpufleetError):
    """A wanted container that cannot be."""


class Container(t.NamedTuple):
    """What a container has besides command and environment. ``devices`` and ``mounts`` are written ``HOST:CONTAINER`` (mounts with :ro or :rw).

    ``entrypoint`` None keeps that of the image. ``published`` is (address, port) on the host where the network is not the host's;
    a member of a group has nothing to publish. ``address`` is that of the container in its network.
    """

    name: str
    image: str
    entrypoint: t.Optional[t.Tuple[str, ...]]
    oci_runtime: t.Optional[str]
    devices: t.Tuple[str, ...]
    mounts: t.Tuple[str, ...]
    shm_bytes: int
    cpuset: t.Optional[str]
    network: str
    address: t.Optional[str]
    published: t.Optional[t.Tuple[str, int]]
    restart: str
    log_size: str
    log_files: int
    cap_add: t.Tuple[str, ...]
    archive: t.Optional[str]
    docker_host: str

    def shown(self) -> t.Dict[str, t.Any]:
        """What makes one container another, as plain JSON values: not where the image and the engine come from."""
        values = {key: value for key, value in self._asdict().items() if key not in ("archive", "docker_host")}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def build_container(params: t.Mapping[str, t.Any], folder: str, exists: Exists) -> Container:
    """Build the container of an engine from the options of vllm_engine.

    :param folder: the engine's own folder on the host
    :param exists: tells whether a path of the host exists
    :raises ContainerError, RayError: names the option that is wrong
    """
    options = container_options(params["container"] or {})
    _check_words(params, options)
    ascend = params["accelerator"] == "ascend"
    ray = read_ray(params)
    joins = ray is not None and not ray.head
    headless = joins or any(normal_name(name) == "headless" and value for name, value in params["args"].items())
    devices = _devices(options, ascend, exists)
    if ascend:
        check_selection(options["oci_runtime"], devices, params["env"])
    mounts = [(folder + "/work", folder + "/work", "rw"), (params["model"].rstrip("/"), params["model"].rstrip("/"), "ro")]
    if ascend:
        mounts += _driver_mounts(options, _chips(devices, params["env"]), exists)
    mounts += [_mount(text) for text in options["mounts"]]
    _check_targets(mounts)
    return Container(
        name=options["name"] or "npufleet-engine-" + params["name"],
        image=options["image"],
        entrypoint=None if options["entrypoint"] is None else tuple(options["entrypoint"]),
        oci_runtime=options["oci_runtime"],
        devices=tuple(devices),
        mounts=tuple(":".join(mount) for mount in mounts),
        shm_bytes=options["shm_bytes"],
        cpuset=options["cpuset"] or None,
        network=options["network"],
        address=options["address"],
        published=None if options["network"] == "host" or headless else (params["host"], params["port"]),
        restart=options["restart"],
        log_size=options["log_size"],
        log_files=options["log_files"],
        cap_add=tuple(sorted(options["cap_add"])),
        archive=options["archive"],
        docker_host=options["docker_host"],
    )


def check_selection(oci_runtime: t.Optional[str], devices: t.Sequence[str], env: t.Mapping[str, t.Any]) -> None:
    """Chips are chosen once, and from outside the container.

    :raises ContainerError: not at all, or twice
    """
    if INNER in env:
        raise ContainerError(
            "{0} would choose a second time, among the chips that the container has".format(INNER),
            where="env." + INNER,
            remedy="Remove it: the container has the chips that it is given, and they count from 0 in it (vllm-ascend #13399)",
        )
    chips = [device for device in devices if CHIP_NODE.match(device.rpartition(":")[2])]
    if oci_runtime and chips:
        raise ContainerError(
            "the chips are chosen twice, by device nodes and by the runtime {0}".format(oci_runtime),
            where="container.devices",
            remedy="Leave devices empty and give {0} in env, or leave oci_runtime out".format(OUTER),
        )
    if bool(oci_runtime) != (OUTER in env):
        raise ContainerError(
            "{0} is what Ascend Docker Runtime reads, and {1}".format(OUTER, "it is missing" if oci_runtime else "no runtime is asked for"),
            where="env." + OUTER,
            remedy="Give both {0} (numbers of the host) and container.oci_runtime: ascend, or neither".format(OUTER),
        )
    if not oci_runtime and not chips:
        raise ContainerError(
            "the container gets no NPU",
            where="container.devices",
            remedy="Name its nodes, for instance /dev/davinci0, or use oci_runtime: ascend",
        )


def _chips(devices: t.Sequence[str], env: t.Mapping[str, t.Any]) -> int:
    """How many chips the container has."""
    if OUTER in env:
        return len(parse_cpus(str(env[OUTER])))
    return sum(1 for device in devices if CHIP_NODE.match(device.rpartition(":")[2]))


def _devices(options: t.Mapping[str, t.Any], ascend: bool, exists: Exists) -> t.List[str]:
    """Device nodes as ``HOST:CONTAINER``; Ascend Docker Runtime brings the control nodes itself."""
    control = options["control_devices"]
    if control is None:
        control = [node for node in CONTROL_NODES if exists(node)] if ascend and not options["oci_runtime"] else []
    result = []
    for text in [*options["devices"], *control]:
        host, _colon, inside = text.partition(":")
        inside = inside or host
        if not (host.startswith("/") and inside.startswith("/dev/")) or ":" in inside:
            raise ContainerError(
                "{0!r} is no device node".format(text), where="container.devices", remedy="Write /dev/davinci0, or HOST:/dev/NAME"
            )
        result.append(host + ":" + inside)
    return result


def _driver_mounts(options: t.Mapping[str, t.Any], chips: int, exists: Exists) -> t.List[t.Tuple[str, str, str]]:
    """Mounts of the driver of the host. Ascend Docker Runtime mounts all but hccn.conf (its base.list)."""
    root = options["driver_root"].rstrip("/")
    paths: t.List[str] = []
    if not options["oci_runtime"]:
        paths = [*DRIVER_REQUIRED, *(path for path in DRIVER_OPTIONAL if exists(root + path))]
    # The chips talk to each other over their own network interfaces, whose addresses are in that file.
    if chips > 1 and exists(root + NETWORK_FILE):
        paths.append(NETWORK_FILE)
    return [(root + path, path, "ro") for path in paths]


def _mount(text: str) -> t.Tuple[str, str, str]:
    parts = text.split(":")
    mode = parts.pop() if len(parts) > 1 and parts[-1] in ("ro", "rw") else "ro"
    if len(parts) > 2 or not all(part.startswith("/") for part in parts):
        raise ContainerError(
            "{0!r} is no mount".format(text), where="container.mounts", remedy="Write /HOST, /HOST:/CONTAINER or /HOST:/CONTAINER:rw"
        )
    return parts[0], parts[-1], mode


def _check_targets(mounts: t.Sequence[t.Tuple[str, str, str]]) -> None:
    seen: t.Set[str] = set()
    for _source, target, _mode in mounts:
        if target in seen:
            raise ContainerError(
                "two mounts have one place in the container: {0}".format(target),
                where="container.mounts",
                remedy="Remove yours: the model, the driver and the engine's folder are mounted already",
            )
        seen.add(target)


def _check_words(params: t.Mapping[str, t.Any], options: t.Mapping[str, t.Any]) -> None:
    name = options["name"] or "npufleet-engine-" + params["name"]
    checks = (
        ("container.image", IMAGE_PATTERN.match(str(options["image"] or "")), "Give NAME:TAG, NAME@sha256:DIGEST or the id of an image"),
        ("container.name", NAME_PATTERN.match(name), "Use letters, digits and _ . -"),
        ("container.log_size", SIZE_PATTERN.match(options["log_size"]), "Write it as Docker does, for instance 50m"),
        ("container.log_files", options["log_files"] >= 1, "Give at least 1"),
        ("container.shm_bytes", options["shm_bytes"] > 0, "Give bytes, at least 167772160 (vLLM asks for 160 MiB)"),
        ("container.cap_add", all(_harmless(word) for word in options["cap_add"]), "Leave out " + ", ".join(sorted(TOO_MUCH))),
        ("container.network", not options["network"].startswith("container:"), "Use host, or the name of a network"),
        ("container.address", _address_fits(options), "Give an IP address, and a network that was made with a subnet of its own"),
        ("model", ":" not in params["model"], "Use a path without a colon, which separates the parts of a mount"),
        ("home", ":" not in params["home"], "Use a path without a colon, which separates the parts of a mount"),
        ("user", not params["user"], "Leave it out: the images of vllm-ascend run as root, without privileges on the host"),
    )
    for where, good, remedy in checks:
        if not good:
            shown = name if where == "container.name" else params[where] if "." not in where else options[where.partition(".")[2]]
            raise ContainerError("an engine in a container cannot have {0} {1!r}".format(where, shown), where=where, remedy=remedy)
    if options["cpuset"]:
        parse_cpus(options["cpuset"])
    if "LD_LIBRARY_PATH" in params["env"]:
        raise ContainerError(
            "LD_LIBRARY_PATH would replace that of the image, and with it the paths of the driver and of CANN",
            where="env.LD_LIBRARY_PATH",
            remedy="Leave it out; /usr/local/lib is appended in the container (vllm-ascend #6949)",
        )


def _address_fits(options: t.Mapping[str, t.Any]) -> bool:
    """Docker lets an address be chosen only in networks that a person made."""
    if options["address"] is None:
        return True
    try:
        ipaddress.ip_address(options["address"])
    except ValueError:
        return False
    return options["network"] not in ("host", "bridge", "none", "default")


def _harmless(capability: str) -> bool:
    return bool(CAPABILITY_PATTERN.match(capability)) and capability not in TOO_MUCH
