# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._model_folder import ModelFolderError, inspect
from ansible_collections.npufleet.ascend.plugins.module_utils._safetensors import SafetensorsError, pack_header

CONFIG = {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "max_position_embeddings": 163840}
FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
INDEX = "model.safetensors.index.json"


def shard(*names):
    return pack_header([(name, "BF16", (2, 2)) for name in names], {"format": "pt"}) + bytes(8 * len(names))


def index(total_size=24, **weight_map):
    return {"metadata": {"total_size": total_size}, "weight_map": weight_map or {"a": FIRST, "b": FIRST, "c": SECOND}}


def sharded():
    return {"config.json": CONFIG, "tokenizer.json": {}, FIRST: shard("a", "b"), SECOND: shard("c"), INDEX: index()}


@pytest.fixture
def model(tmp_path):
    """Write files into a folder; dicts and lists as JSON, None leaves the file out."""

    def write(files):
        for name, content in files.items():
            target = tmp_path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                target.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(tmp_path)

    return write


def test_a_sharded_model(model):
    path = model(dict(sharded(), **{".gitattributes": b"x", "figures/a.png": b"x"}))
    folder = inspect(path)
    assert folder == (
        path,
        "DeepseekV3ForCausalLM",
        "deepseek_v3",
        24,
        3,
        {name: os.path.getsize(os.path.join(path, name)) for name in sorted(sharded())},
        None,
        163840,
        [],
    )


def test_a_model_in_one_file_without_index(model):
    folder = inspect(model({"config.json": CONFIG, "vocab.json": {}, "model.safetensors": shard("a")}))
    assert (folder.total_bytes, folder.tensor_count, folder.warnings) == (8, 1, [])


def test_shards_beside_the_index_do_not_count(model):
    # engines load only what model.safetensors.index.json lists
    folder = inspect(model(dict(sharded(), **{"consolidated.safetensors": b"broken"})))
    assert folder.total_bytes == 24


def test_links_are_followed_as_in_a_hugging_face_cache(model, tmp_path):
    path = model({"blobs/1": CONFIG, "blobs/2": shard("a"), "snapshots/main/tokenizer.json": {}})
    for name, blob in (("config.json", "1"), ("model.safetensors", "2")):
        (tmp_path / "snapshots/main" / name).symlink_to("../../blobs/" + blob)
    assert inspect(os.path.join(path, "snapshots/main")).tensor_count == 1


@pytest.mark.parametrize("name", ["quant_model_weights.safetensors.index.json", INDEX])
def test_the_index_of_modelslim_has_another_name(model, name):
    files = {key: value for key, value in sharded().items() if key != INDEX}
    with pytest.raises(ModelFolderError, match="lacks tensors that the shard index places in it: x"):
        inspect(model(dict(files, **{name: index(x=FIRST)})))


@pytest.mark.parametrize(
    ("config", "description", "quantization", "warning"),
    [
        ({}, False, None, None),
        ({"quantization_config": {"quant_method": "fp8"}}, False, "fp8", None),
        ({"text_config": {"quantization_config": {"quant_method": "compressed-tensors"}}}, False, "compressed-tensors", None),
        ({"quantization_config": {"bits": 4}}, False, None, None),
        ({"quantization_config": "fp8"}, False, None, None),
        ({}, True, "ascend", None),
        ({"quantization_config": {"quant_method": "ascend"}}, True, "ascend", None),
        (
            {"quantization_config": {"quant_method": "fp8"}},
            True,
            "ascend",
            "has quantization_config (fp8) next to quant_model_description.json",
        ),
    ],
)
def test_quantization(model, config, description, quantization, warning):
    files = dict(sharded(), **{"config.json": dict(CONFIG, **config)})
    if description:
        files["quant_model_description.json"] = {}
    folder = inspect(model(files))
    assert folder.quantization == quantization
    assert [warning in text for text in folder.warnings] == ([True] if warning else [])


@pytest.mark.parametrize(
    ("config", "model_type", "positions"),
    [
        ({"architectures": ["A"]}, None, None),
        ({"architectures": ["A"], "model_type": 3, "max_position_embeddings": "4096"}, None, None),
        ({"architectures": ["A"], "text_config": {"max_position_embeddings": 4096}}, None, 4096),
        ({"architectures": ["A"], "text_config": None, "model_type": "m"}, "m", None),
    ],
)
def test_odd_configurations(model, config, model_type, positions):
    folder = inspect(model(dict(sharded(), **{"config.json": config})))
    assert (folder.model_type, folder.max_position_embeddings) == (model_type, positions)


@pytest.mark.parametrize("metadata", [{}, None, [], {"total_size": None}, {"total_size": 24.0}])
def test_an_index_without_usable_total_size_passes(model, metadata):
    files = dict(sharded(), **{INDEX: dict(index(), metadata=metadata)})
    assert inspect(model(files)).warnings == []


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({INDEX: index(total_size=48)}, "promises 48 bytes of tensors and the shards hold 24"),
        ({"tokenizer.json": None}, "has none of the tokenizer files"),
    ],
)
def test_what_only_warns(model, changes, warning):
    folder = inspect(model(dict(sharded(), **changes)))
    assert [warning in text for text in folder.warnings] == [True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config.json": None}, "the folder has no config.json, so it is no model folder"),
        ({"config.json": b"version https://git-lfs"}, "the file is not JSON"),
        ({"config.json": b"\xff"}, "the file is not JSON"),
        ({"config.json": b"[" * 100000}, "the file is not JSON"),
        ({"config.json": []}, "the file holds no JSON object"),
        ({"config.json": {}}, "config.json names no architecture"),
        ({"config.json": {"architectures": []}}, "config.json names no architecture"),
        ({"config.json": {"architectures": [1]}}, "config.json names no architecture"),
        ({FIRST + ".aria2": b""}, "a download into the folder has not finished: " + FIRST + ".aria2"),
        ({INDEX: {}}, "the shard index has no weight_map"),
        ({INDEX: {"weight_map": {"a": 1}}}, "the shard index has no weight_map"),
        ({INDEX: {"weight_map": {}}}, "the folder has no *.safetensors weights"),
        ({FIRST: None}, "1 of 2 weights files are missing: " + FIRST),
        ({FIRST: None, INDEX: None}, "1 of 2 weights files are missing: " + FIRST),
        ({INDEX: index(a="../outside.safetensors")}, "1 of 1 weights files are missing: ../outside.safetensors"),
        ({FIRST: None, SECOND: None, INDEX: None, "pytorch_model.bin": b"x"}, "the folder has no *.safetensors weights"),
        ({FIRST: shard("a")}, "the weights file lacks tensors that the shard index places in it: b"),
        ({FIRST: shard("z"), INDEX: index(a=FIRST, b=FIRST, c=FIRST, d=FIRST, e=FIRST)}, "places in it: a, b, c and 2 more"),
    ],
)
def test_what_is_refused(model, changes, message):
    path = model(dict(sharded(), **changes))
    with pytest.raises(ModelFolderError) as caught:
        inspect(path)
    assert message in str(caught.value)
    assert caught.value.where.startswith(path)
    assert caught.value.remedy


def test_a_truncated_shard_is_named(model):
    path = model(dict(sharded(), **{SECOND: shard("c")[:-1]}))
    with pytest.raises(SafetensorsError, match=r"is truncated.*MetadataIncompleteBuffer") as caught:
        inspect(path)
    assert caught.value.where == os.path.join(path, SECOND)


def test_an_unreadable_configuration_is_named(model, monkeypatch):
    path = model(sharded())

    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ModelFolderError, match="cannot read the file: Permission denied"):
        inspect(path)


@pytest.mark.parametrize(
    ("below", "hint"),
    [
        (["DeepSeek-V3.1"], "use the folder {0}/DeepSeek-V3.1."),
        (["a", "b", "c", "d"], "use the folder {0}/a or {0}/b or {0}/c and 1 more."),
        (["snapshots/0123abc"], "use the folder {0}/snapshots/0123abc."),
    ],
)
def test_the_right_folder_is_suggested(model, below, hint):
    path = model({name + "/config.json": CONFIG for name in below})
    with pytest.raises(ModelFolderError) as caught:
        inspect(path)
    assert str(caught.value).endswith(hint.format(path))


def test_no_folder_at_all(tmp_path):
    for path in (tmp_path / "none", tmp_path / "file"):
        (tmp_path / "file").write_text("")
        with pytest.raises(ModelFolderError, match="cannot read the model folder"):
            inspect(str(path))
