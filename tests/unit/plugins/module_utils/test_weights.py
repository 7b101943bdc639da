# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils import _folder_swap, _weights
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._model_folder import inspect
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import format_manifest, sha256
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_model import DEFAULT_SEED
from ansible_collections.npufleet.ascend.plugins.module_utils._weights import check_existing, ensure_absent, ensure_tiny

SHARD = "model-00001-of-00002.safetensors"


def tiny(path, architecture="deepseek_v2", seed=DEFAULT_SEED, full=False, check=False):
    return ensure_tiny(str(path), architecture, seed, full, check)


def snapshot(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(str(folder))}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A built model that no test changes."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    tiny(path)
    return path


@pytest.fixture
def model(tmp_path, built):
    """A copy of the built model."""
    path = tmp_path / "tiny"
    path.mkdir()
    for name, content in snapshot(built).items():
        (path / name).write_bytes(content)
    return path


def damage(path, offset):
    with open(str(path), "r+b") as stream:
        stream.seek(offset)
        byte = stream.read(1)
        stream.seek(offset)
        stream.write(bytes([byte[0] ^ 1]))


@pytest.mark.parametrize(("architecture", "seed"), [("deepseek_v2", DEFAULT_SEED), ("qwen2", 5)])
def test_build_check_and_repeat(tmp_path, architecture, seed):
    path = tmp_path / "models" / "tiny"
    predicted = tiny(path, architecture, seed, check=True)
    assert not path.parent.exists()
    outcome = tiny(path, architecture, seed)
    assert outcome.differences == predicted.differences == ["the model is not there"]
    assert (outcome.weights, outcome.manifest, outcome.after) == (predicted.weights, predicted.manifest, predicted.after)
    assert outcome.before == "absent\n"
    assert outcome.weights == inspect(str(path))
    for full in (False, True):
        again = tiny(path, architecture, seed, full)
        assert again.differences == []
        assert again.before == again.after == outcome.after


def test_the_manifest_is_one_that_sha256sum_reads(built):
    files = snapshot(built)
    manifest = files.pop("SHA256SUMS").decode()
    comment = "npufleet.ascend tiny model: architecture deepseek_v2, seed 20260101"
    assert manifest == format_manifest({name: sha256(content) for name, content in files.items()}, comment)


@pytest.mark.parametrize(
    ("spoil", "full", "difference"),
    [
        (lambda path: (path / SHARD).unlink(), False, SHARD + ": 0 bytes instead of 7287920"),
        (lambda path: (path / SHARD).write_bytes(b""), False, SHARD + ": 0 bytes instead of 7287920"),
        (lambda path: damage(path / SHARD, 20), False, SHARD + ": the header of the weights file is damaged"),
        (lambda path: damage(path / "config.json", 0), False, "config.json: the file is not JSON"),
        (lambda path: damage(path / SHARD, 5000000), True, SHARD + ": its SHA-256 differs"),
        (lambda path: damage(path / "SHA256SUMS", 200), False, "the folder holds another tiny model"),
        (
            lambda path: (path / "SHA256SUMS").write_text("# npufleet.ascend tiny model\nrubbish\n"),
            False,
            "the folder holds another tiny model",
        ),
    ],
)
def test_a_damaged_model_is_repaired(model, built, spoil, full, difference):
    spoil(model)
    spoilt = snapshot(model)
    predicted = tiny(model, full=full, check=True)
    assert snapshot(model) == spoilt
    outcome = tiny(model, full=full)
    assert len(outcome.differences) == 1
    assert outcome.differences[0].startswith(difference)
    assert predicted.differences == outcome.differences
    assert difference in outcome.before
    assert snapshot(model) == snapshot(built)


def test_damage_inside_the_tensors_needs_full(model):
    damage(model / SHARD, 5000000)
    assert tiny(model).differences == []


def test_another_architecture_or_seed_replaces_the_model(model):
    assert tiny(model, "qwen2").differences == ["the folder holds another tiny model"]
    assert sorted(os.listdir(str(model))) == [
        "SHA256SUMS",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    assert tiny(model, "qwen2", 9).differences == ["the folder holds another tiny model"]


def test_an_empty_folder_is_filled(tmp_path, built):
    (tmp_path / "tiny").mkdir()
    assert tiny(tmp_path / "tiny").differences == ["the model is not there"]
    assert snapshot(tmp_path / "tiny") == snapshot(built)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("change", [lambda path: tiny(path, "qwen2"), lambda path: tiny(path, "qwen2", check=True)])
def test_a_foreign_folder_is_never_touched(tmp_path, change, check):
    (tmp_path / "model.safetensors").write_bytes(b"precious")
    (tmp_path / "SHA256SUMS").write_text(format_manifest({"model.safetensors": sha256(b"precious")}, "mine"))
    before = snapshot(tmp_path)
    for action in (change, lambda path: ensure_absent(str(path), check)):
        with pytest.raises(NpufleetError, match="was not built by this collection") as caught:
            action(tmp_path)
        assert caught.value.where == str(tmp_path)
    assert snapshot(tmp_path) == before


def test_files_that_somebody_added_are_not_lost(model):
    (model / "notes.txt").write_text("precious")
    outcome = tiny(model)
    assert (outcome.differences, outcome.before) == ([], outcome.after)
    for action in (lambda: tiny(model, "qwen2"), lambda: ensure_absent(str(model), False)):
        with pytest.raises(NpufleetError, match=r"files that are not of the tiny model: notes.txt"):
            action()
    assert (model / "notes.txt").read_text() == "precious"


def test_too_little_space_is_refused_before_anything_is_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(_folder_swap, "SPACE_RESERVE", 1 << 60)
    for check in (True, False):
        with pytest.raises(NpufleetError, match="bytes are needed"):
            tiny(tmp_path / "models" / "tiny", check=check)
    assert os.listdir(str(tmp_path)) == []


@pytest.mark.parametrize("there", [True, False])
def test_leftovers_of_an_interrupted_run_are_removed(tmp_path, model, there):
    leftover = tmp_path / (_folder_swap._prefix(str(model)) + "x")
    leftover.mkdir()
    (leftover / "half").write_bytes(b"x")
    stale = "an interrupted run left " + str(leftover)
    if there:
        outcome = tiny(model)
        assert (outcome.differences, stale in outcome.before, stale in outcome.after) == ([stale], True, False)
        assert tiny(model).differences == []
    else:
        assert ensure_absent(str(model), False).differences == [stale, "the model is there"]
    assert not leftover.exists()
    assert model.exists() == there


def test_remove(model):
    assert ensure_absent(str(model), True).differences == ["the model is there"]
    assert model.exists()
    outcome = ensure_absent(str(model), False)
    assert (outcome.differences, outcome.weights, outcome.after) == (["the model is there"], None, "absent\n")
    assert not model.exists()
    again = ensure_absent(str(model), False)
    assert (again.differences, again.before, again.after) == ([], "absent\n", "absent\n")


def test_an_empty_folder_is_no_model_to_remove(tmp_path):
    outcome = ensure_absent(str(tmp_path), False)
    assert outcome.differences == []
    assert outcome.before == outcome.after
    assert tmp_path.exists()


def test_a_build_with_other_bytes_than_recorded_is_refused(tmp_path, monkeypatch):
    build = _weights.build_files
    monkeypatch.setattr(_weights, "build_files", lambda *args: dict(build(*args), **{"config.json": b"{}"}))
    with pytest.raises(NpufleetError, match="differ from the digests in this collection"):
        tiny(tmp_path / "tiny")
    assert os.listdir(str(tmp_path)) == []


def test_a_folder_that_cannot_be_listed_is_named(tmp_path, monkeypatch):
    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(NpufleetError, match="cannot read the folder: Permission denied"):
        tiny(tmp_path)


def test_existing_weights_are_described(built):
    before = snapshot(built)
    outcome = check_existing(str(built), True)
    assert (outcome.differences, outcome.warnings, outcome.before == outcome.after) == ([], [], True)
    assert outcome.weights.architecture == "DeepseekV2ForCausalLM"
    assert outcome.manifest == before["SHA256SUMS"].decode()
    assert snapshot(built) == before


@pytest.mark.parametrize(
    ("manifest", "warning"),
    [
        (None, "has no SHA256SUMS, so only the structure of its files was checked"),
        (format_manifest({}, "mine"), "does not list model-00001-of-00002.safetensors, model-00002-of-00002.safetensors"),
    ],
)
def test_what_full_cannot_check_is_said(model, manifest, warning):
    (model / "SHA256SUMS").unlink()
    if manifest is not None:
        (model / "SHA256SUMS").write_text(manifest)
    assert check_existing(str(model), False).warnings == []
    assert [warning in text for text in check_existing(str(model), True).warnings] == [True]


def test_existing_weights_that_differ_from_their_digest_are_refused(model):
    damage(model / SHARD, 5000000)
    assert check_existing(str(model), False).differences == []
    with pytest.raises(NpufleetError, match="1 files differ from SHA256SUMS: " + SHARD) as caught:
        check_existing(str(model), True)
    assert caught.value.where == str(model)


def test_existing_weights_need_an_absolute_path():
    with pytest.raises(NpufleetError, match="the path is not absolute"):
        check_existing("models/tiny", False)
