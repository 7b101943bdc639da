# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """The option container of vllm_engine."""

    DOCUMENTATION = r"""
options:
  container:
    description:
      - What an engine in a container needs, with O(runtime=docker).
      - The container is never privileged. It has the capabilities of O(container.cap_add) and no other, and cannot gain any.
      - The model is mounted read-only at its own path, and C(work) in the folder of the engine for logs and compiled kernels.
      - "With O(accelerator=ascend) the driver of the host is mounted read-only: C(/usr/local/Ascend/driver), C(/etc/ascend_install.info),
        C(/usr/local/dcmi), C(npu-smi), and C(/etc/hccn.conf) for more than one NPU."
    type: dict
    suboptions:
      image:
        description: Image by tag (C(NAME:TAG)), digest (C(NAME@sha256:...)) or id. It is pulled with O(state=fetched) only.
        type: str
        required: true
      archive:
        description: Archive of C(docker save) on the host, plain or compressed, to load the image from when the host does not have it.
        type: path
      name:
        description: Name of the container. By default C(npufleet-engine-NAME).
        type: str
      docker_host:
        description: Where the container engine listens. For Podman C(unix:///run/podman/podman.sock).
        type: str
        default: unix:///var/run/docker.sock
      entrypoint:
        description:
          - Entrypoint instead of the image's. That of vllm-ascend loads the environment of CANN, so leave it alone there.
          - An empty list is for images whose entrypoint is C(vllm serve).
        type: list
        elements: str
      oci_runtime:
        description:
          - Runtime of the container, for instance V(ascend) for Ascend Docker Runtime, which wants C(ASCEND_VISIBLE_DEVICES) in O(env) with the
            numbers of the host.
          - By default that of the container engine, with O(container.devices).
        type: str
      devices:
        description: Device nodes of the chips, C(/dev/davinci0) or C(HOST:/dev/davinci0). In the container they count from 0.
        type: list
        elements: str
        default: []
      control_devices:
        description: Device nodes that every container with NPUs needs. By default those that the host has, of C(davinci_manager), C(devmm_svm),
          C(hisi_hdc), C(ummu) and C(uburma).
        type: list
        elements: str
      driver_root:
        description: Folder that holds C(usr/local/Ascend/driver) and the other files of the driver.
        type: path
        default: /
      mounts:
        description: Further mounts, C(/HOST), C(/HOST:/CONTAINER) or C(/HOST:/CONTAINER:rw); read-only unless said otherwise.
        type: list
        elements: str
        default: []
      shm_bytes:
        description: Limit of C(/dev/shm) in the container, in bytes.
        type: int
        default: 1073741824
      cpuset:
        description: CPUs that the container may use, for instance V(0-23).
        type: str
      network:
        description: V(host), or the name of a network; then O(port) is published on O(host), unless this is a member of a group.
        type: str
        default: host
      address:
        description:
          - IP address of the container in a O(container.network) that was made with a subnet. By default the container engine chooses.
          - The head of a group needs one there, as the others are told its address before it starts.
        type: str
      restart:
        description: When the container engine starts a dead engine again.
        type: str
        choices: [unless-stopped, always, on-failure, "no"]
        default: unless-stopped
      log_size:
        description: Size at which the log of the container begins a new file.
        type: str
        default: 50m
      log_files:
        description: How many files of the log are kept.
        type: int
        default: 3
      cap_add:
        description:
          - The capabilities of the container. Device nodes and weights often belong to other users than root (C(DAC_OVERRIDE)), and binding memory
            to NUMA nodes needs C(SYS_NICE).
        type: list
        elements: str
        default: [DAC_OVERRIDE, SYS_NICE]
"""
