# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""A model folder in the Hugging Face layout: is it complete, and what is in it?

Reads config.json, the shard index and the headers of the safetensors files; a few megabytes even for 671 billion parameters.
"""

from __future__ import annotations

import glob
import json
import os
import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._safetensors import read_header

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
# Written by ModelSlim beside the weights; vllm-ascend reads it for --quantization ascend.
ASCEND_DESCRIPTION = "quant_model_description.json"
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tiktoken.model", "vocab.json", "tekken.json")
# Control and partial files of aria2, huggingface_hub and curl-like tools. aria2 allocates the full size at once, so the
# size of the file itself tells nothing.
UNFINISHED = (".aria2", ".incomplete", ".part")
SHARD = re.compile(r"^(?P<stem>.+)-(?P<number>\d{1,5})-of-(?P<count>\d{1,5})\.safetensors$")
# So many names are spelled out in one message.
NAMED = 3


class ModelFolderError(NpufleetError):
    """The folder cannot be served as a model. ``where`` is the folder or the file in it."""


class ModelFolder(t.NamedTuple):
    """What a complete model folder holds. ``files`` are its visible regular files with their sizes in bytes."""

    path: str
    architecture: str
    model_type: t.Optional[str]
    total_bytes: int
    tensor_count: int
    files: t.Dict[str, int]
    quantization: t.Optional[str]
    max_position_embeddings: t.Optional[int]
    warnings: t.List[str]


def inspect(path: str) -> ModelFolder:
    """Check the folder and return what it holds; ``total_bytes`` is tensor data, what an engine has to load at least.

    :raises ModelFolderError: not a model folder, a damaged JSON file, a missing or unfinished file, tensors missing
    :raises SafetensorsError: a weights file is damaged
    """
    files = _files(path)
    config = _read_object(os.path.join(path, CONFIG))
    architecture = _architecture(path, config)
    _refuse_unfinished(path, files)
    index = _index(path, files)
    warnings: t.List[str] = []
    tensor_count, total_bytes = _check_weights(path, files, index, warnings)
    if not any(name in files for name in TOKENIZERS):
        warnings.append("{0} has none of the tokenizer files {1}; an engine needs one".format(path, ", ".join(TOKENIZERS)))
    model_type = config.get("model_type")
    return ModelFolder(
        path=path,
        architecture=architecture,
        model_type=model_type if isinstance(model_type, str) else None,
        total_bytes=total_bytes,
        tensor_count=tensor_count,
        files=files,
        quantization=_quantization(path, config, files, warnings),
        max_position_embeddings=_max_position_embeddings(config),
        warnings=warnings,
    )


def _files(path: str) -> t.Dict[str, int]:
    """Return name -> bytes of the visible regular files; links are followed, as in a snapshot of the Hugging Face cache."""
    try:
        files = {}
        for name in sorted(os.listdir(path)):
            full = os.path.join(path, name)
            if not name.startswith(".") and os.path.isfile(full):
                files[name] = os.stat(full).st_size
    except OSError as exc:
        raise ModelFolderError(
            "cannot read the model folder: {0}".format(exc.strerror or exc),
            where=path,
            remedy="give the absolute path of the folder that holds config.json and the weights",
        ) from exc
    if CONFIG not in files:
        raise ModelFolderError("the folder has no config.json, so it is no model folder", where=path, remedy=_where_else(path))
    return files


def _where_else(path: str) -> str:
    """Say which folder the user may have meant: one below this, or a snapshot in a Hugging Face cache."""
    root = glob.escape(path)
    found = sorted(glob.glob(os.path.join(root, "*", CONFIG)) + glob.glob(os.path.join(root, "snapshots", "*", CONFIG)))
    if found:
        return "use the folder {0}".format(_names([os.path.dirname(name) for name in found], " or "))
    return "give the folder that holds config.json, or fetch the model again"


def _read_object(path: str) -> t.Dict[str, t.Any]:
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
    except OSError as exc:
        raise ModelFolderError("cannot read the file: {0}".format(exc.strerror or exc), where=path, remedy="make it readable") from exc
    except (ValueError, RecursionError) as exc:
        raise ModelFolderError("the file is not JSON: {0}".format(exc), where=path, remedy="fetch this file again") from exc
    if not isinstance(document, dict):
        raise ModelFolderError("the file holds no JSON object", where=path, remedy="fetch this file again")
    return document


def _architecture(path: str, config: t.Mapping[str, t.Any]) -> str:
    architectures = config.get("architectures")
    if not isinstance(architectures, list) or not architectures or not isinstance(architectures[0], str):
        raise ModelFolderError(
            "config.json names no architecture, so no engine can tell which model this is",
            where=os.path.join(path, CONFIG),
            remedy="fetch config.json of the model again; a model for generation has 'architectures'",
        )
    return architectures[0]


def _refuse_unfinished(path: str, files: t.Iterable[str]) -> None:
    unfinished = [name for name in files if name.endswith(UNFINISHED)]
    if unfinished:
        raise ModelFolderError(
            "a download into the folder has not finished: {0}".format(_names(unfinished)),
            where=path,
            remedy="let the download finish, or delete these files and the ones they belong to and fetch them again",
        )


def _index(path: str, files: t.Iterable[str]) -> t.Optional[t.Dict[str, t.Any]]:
    """Return the shard index. Engines read model.safetensors.index.json; ModelSlim names its own after its weights."""
    names = [name for name in files if name.endswith(".safetensors.index.json")]
    name = INDEX if INDEX in names else names[0] if len(names) == 1 else None
    if name is None:
        return None
    index = _read_object(os.path.join(path, name))
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(shard, str) for shard in weight_map.values()):
        raise ModelFolderError("the shard index has no weight_map", where=os.path.join(path, name), remedy="fetch this file again")
    return dict(index, name=name)


def _check_weights(
    path: str, files: t.Mapping[str, int], index: t.Optional[t.Mapping[str, t.Any]], warnings: t.List[str]
) -> t.Tuple[int, int]:
    """Return (number of tensors, bytes of tensor data) of the weights that an engine would load."""
    wanted: t.Dict[str, t.List[str]] = {}
    if index is None:
        wanted = {name: [] for name in files if name.endswith(".safetensors")}
    else:
        for tensor, shard in index["weight_map"].items():
            wanted.setdefault(shard, []).append(tensor)
    _refuse_missing(path, files, wanted)
    tensor_count = total_bytes = 0
    for shard in sorted(wanted):
        header = read_header(os.path.join(path, shard))
        lacking = sorted(set(wanted[shard]) - {info.name for info in header.tensors})
        if lacking:
            raise ModelFolderError(
                "the weights file lacks tensors that the shard index places in it: {0}".format(_names(lacking)),
                where=os.path.join(path, shard),
                remedy="fetch the index and all shards from the same revision of the model",
            )
        tensor_count += len(header.tensors)
        total_bytes += header.data_bytes
    _compare_total(path, index, total_bytes, warnings)
    return tensor_count, total_bytes


def _refuse_missing(path: str, files: t.Mapping[str, int], wanted: t.Iterable[str]) -> None:
    """Refuse a folder without weights, or without a shard that the index or the numbering of the others promises."""
    expected = set(wanted)
    for match in filter(None, map(SHARD.match, list(expected))):
        width = len(match.group("number"))
        for number in range(1, int(match.group("count")) + 1):
            expected.add("{0}-{1:0{2}d}-of-{3}.safetensors".format(match.group("stem"), number, width, match.group("count")))
    missing = sorted(expected - set(files))
    if missing:
        raise ModelFolderError(
            "{0} of {1} weights files are missing: {2}".format(len(missing), len(expected), _names(missing)),
            where=path,
            remedy="fetch the missing files from the same revision of the model",
        )
    if not expected:
        raise ModelFolderError(
            "the folder has no *.safetensors weights",
            where=path,
            remedy="fetch the model in the safetensors format; .bin and .gguf are not used",
        )


def _compare_total(path: str, index: t.Optional[t.Mapping[str, t.Any]], total_bytes: int, warnings: t.List[str]) -> None:
    """Warn only: every shard is complete by its own header here, and published indexes are known to be off."""
    metadata = (index or {}).get("metadata")
    promised = metadata.get("total_size") if isinstance(metadata, dict) else None
    if index is not None and isinstance(promised, (int, float)) and promised != total_bytes:
        warnings.append(
            "{0} promises {1} bytes of tensors and the shards hold {2}; check that index and shards are of the same revision".format(
                os.path.join(path, index["name"]), promised, total_bytes
            )
        )


def _nested(config: t.Mapping[str, t.Any], key: str) -> t.Any:
    """Return a key of config.json; models with several modalities keep it in text_config."""
    text = config.get("text_config")
    return config.get(key, text.get(key) if isinstance(text, dict) else None)


def _quantization(path: str, config: t.Mapping[str, t.Any], files: t.Iterable[str], warnings: t.List[str]) -> t.Optional[str]:
    settings = _nested(config, "quantization_config")
    method = settings.get("quant_method") if isinstance(settings, dict) else None
    if ASCEND_DESCRIPTION not in files:
        return method if isinstance(method, str) else None
    if method not in (None, "ascend"):
        # vllm-ascend PR #9734
        warnings.append(
            "{0} has quantization_config ({1}) next to {2}; an engine refuses the pair, remove quantization_config".format(
                os.path.join(path, CONFIG), method, ASCEND_DESCRIPTION
            )
        )
    return "ascend"


def _max_position_embeddings(config: t.Mapping[str, t.Any]) -> t.Optional[int]:
    value = _nested(config, "max_position_embeddings")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _names(names: t.Sequence[str], joiner: str = ", ") -> str:
    shown = joiner.join(names[:NAMED])
    return shown if len(names) <= NAMED else "{0} and {1} more".format(shown, len(names) - NAMED)
