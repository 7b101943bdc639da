# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Model weights in a folder: check what is there, or bring a tiny model there or away.

A folder is ours when its SHA256SUMS starts with our mark. Only such a folder, an empty one or none at all is ever changed.
"""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils import _folder_swap
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._model_folder import ModelFolder, inspect
from ansible_collections.npufleet.ascend.plugins.module_utils._sha256sums import (
    MANIFEST,
    ManifestError,
    check_files,
    format_manifest,
    parse_manifest,
    read_manifest,
    sha256,
)
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_digests import DIGESTS, FileDigest
from ansible_collections.npufleet.ascend.plugins.module_utils._tiny_model import DEFAULT_SEED, RECIPES, build_files, tensor_bytes

MARK = "npufleet.ascend tiny model"


class WeightsError(NpufleetError):
    """The folder is not what it must be, or cannot be changed. ``where`` is the folder."""


class Outcome(t.NamedTuple):
    """What was found and done. ``differences`` are why something changed; ``manifest`` is the text of SHA256SUMS."""

    differences: t.List[str]
    weights: t.Optional[ModelFolder]
    manifest: t.Optional[str]
    before: str
    after: str
    warnings: t.List[str]


class Wanted(t.NamedTuple):
    """The tiny model that should be there. ``content`` is None as long as nothing made a build necessary."""

    architecture: str
    seed: int
    files: t.Dict[str, FileDigest]
    content: t.Optional[t.Dict[str, bytes]]

    @property
    def manifest(self) -> str:
        """The text of its SHA256SUMS; equal texts mean equal models."""
        comment = "{0}: architecture {1}, seed {2}".format(MARK, self.architecture, self.seed)
        return format_manifest({name: entry.sha256 for name, entry in self.files.items()}, comment)


class Actual(t.NamedTuple):
    """What is at the path. ``files`` is None when there is nothing; ``manifest`` is None when the folder is not ours."""

    files: t.Optional[t.Dict[str, int]]
    manifest: t.Optional[str]
    leftovers: t.List[str]

    def describe(self, differences: t.Sequence[str] = ()) -> str:
        """Return lines for a diff."""
        if self.files is None:
            return "".join(line + "\n" for line in ["absent", *_stale(self)])
        return describe(self.manifest, self.files, differences)


def describe(manifest: t.Optional[str], files: t.Mapping[str, int], faults: t.Sequence[str] = ()) -> str:
    """Return lines for a diff: the digest of the list, each file with its size, and what is wrong with them."""
    lines = ["{0} {1}".format(MANIFEST, sha256(manifest.encode()) if manifest else "none")]
    lines.extend("{0} {1}".format(name, files[name]) for name in sorted(files) if name != MANIFEST)
    lines.extend(sorted(faults))
    return "".join(line + "\n" for line in lines)


def check_existing(path: str, full: bool) -> Outcome:
    """Check a folder that somebody else provides; nothing is changed.

    :param full: also hash every file that a SHA256SUMS in the folder lists; 700 GB take a quarter of an hour or more
    :raises NpufleetError: the folder is no complete model, or a file differs from its digest
    """
    if not os.path.isabs(path):
        raise WeightsError("the path is not absolute", path, "give the absolute path of the folder that holds config.json")
    folder = inspect(path)
    warnings = list(folder.warnings)
    manifest = read_manifest(path)
    if full and manifest is None:
        warnings.append("{0} has no {1}, so only the structure of its files was checked".format(path, MANIFEST))
    if full and manifest is not None:
        digests = parse_manifest(manifest, os.path.join(path, MANIFEST))
        faults = check_files(path, digests)
        if faults:
            raise WeightsError(
                "{0} files differ from {1}: {2}".format(len(faults), MANIFEST, "; ".join(faults[:3])), path, "fetch them again"
            )
        unlisted = sorted(name for name in folder.files if name.endswith(".safetensors") and name not in digests)
        if unlisted:
            warnings.append("{0} in {1} does not list {2}".format(MANIFEST, path, ", ".join(unlisted[:3])))
    text = describe(manifest, folder.files)
    return Outcome([], folder, manifest, text, text, warnings)


def ensure_tiny(path: str, architecture: str, seed: int, full: bool, check: bool) -> Outcome:
    """Bring the tiny model to the path unless it is there already.

    :param full: compare the SHA-256 of each file, not only its size
    :param check: change nothing, but refuse and predict as if
    :raises NpufleetError: the path is used otherwise, there is too little space, or writing failed
    """
    path = _folder_swap.usable_path(path)
    wanted = _wanted(architecture, seed)
    actual = _survey(path)
    faults = _faults(path, wanted, actual, full)
    differences = _stale(actual) + faults
    if faults:
        _refuse_foreign(path, actual)
        _folder_swap.require_space(path, sum(entry.size for entry in wanted.files.values()))
    if not check:
        _folder_swap.remove_leftovers(actual.leftovers)
        if faults:
            _folder_swap.replace(path, _build(wanted))
    after = actual._replace(leftovers=[]).describe()
    if faults:
        after = describe(wanted.manifest, {name: entry.size for name, entry in wanted.files.items()})
    return Outcome(differences, _description(path, wanted), wanted.manifest, actual.describe(differences), after, [])


def ensure_absent(path: str, check: bool) -> Outcome:
    """Remove a model that we built, and what interrupted runs left of it.

    :raises NpufleetError: something else is at the path
    """
    path = _folder_swap.usable_path(path)
    actual = _survey(path)
    differences = _stale(actual)
    if actual.files:
        _refuse_foreign(path, actual)
        differences.append("the model is there")
    if not check:
        _folder_swap.remove_leftovers(actual.leftovers)
        if actual.files:
            _folder_swap.remove(path)
    after = "absent\n" if actual.files or actual.files is None else actual._replace(leftovers=[]).describe()
    return Outcome(differences, None, None, actual.describe(differences), after, [])


def _wanted(architecture: str, seed: int) -> Wanted:
    if seed == DEFAULT_SEED:
        return Wanted(architecture, seed, DIGESTS[architecture], None)
    content = build_files(architecture, seed)
    return Wanted(architecture, seed, digests_of(content), content)


def digests_of(files: t.Mapping[str, bytes]) -> t.Dict[str, FileDigest]:
    """Return size and SHA-256 of each file in memory."""
    return {name: FileDigest(len(content), sha256(content)) for name, content in files.items()}


def _build(wanted: Wanted) -> t.Dict[str, bytes]:
    files = build_files(wanted.architecture, wanted.seed) if wanted.content is None else wanted.content
    if digests_of(files) != wanted.files:
        raise WeightsError(
            "the files that were built differ from the digests in this collection",
            where="{0}, seed {1}".format(wanted.architecture, wanted.seed),
            remedy="install the collection again; if that does not help, check the memory of the host",
        )
    return dict(files, **{MANIFEST: wanted.manifest.encode()})


def _survey(path: str) -> Actual:
    leftovers = _folder_swap.leftovers(path)
    try:
        names = os.listdir(path)
    except FileNotFoundError:
        return Actual(None, None, leftovers)
    except OSError as exc:
        raise WeightsError("cannot read the folder: {0}".format(exc.strerror or exc), path, "check the path and its mode") from exc
    files = {name: os.lstat(os.path.join(path, name)).st_size for name in names}
    manifest = read_manifest(path)
    ours = manifest is not None and manifest.startswith("# " + MARK)
    return Actual(files, manifest if ours else None, leftovers)


def _stale(actual: Actual) -> t.List[str]:
    return ["an interrupted run left {0}".format(name) for name in actual.leftovers]


def _faults(path: str, wanted: Wanted, actual: Actual, full: bool) -> t.List[str]:
    """Return why the folder is not the wanted model; other files in it are no fault."""
    if actual.manifest is None or actual.files is None:
        return ["the model is not there"]
    if actual.manifest != wanted.manifest:
        return ["the folder holds another tiny model"]
    sizes = actual.files
    wrong = [
        "{0}: {1} bytes instead of {2}".format(name, sizes.get(name, 0), entry.size)
        for name, entry in sorted(wanted.files.items())
        if sizes.get(name) != entry.size
    ]
    if full and not wrong:
        wrong = check_files(path, {name: entry.sha256 for name, entry in wanted.files.items()})
    if not wrong:
        try:
            inspect(path)
        except NpufleetError as exc:
            wrong = ["{0}: {1}".format(os.path.basename(exc.where or path), exc.what)]
    return wrong


def _refuse_foreign(path: str, actual: Actual) -> None:
    """Refuse to touch a folder that is not ours, or one of ours that somebody has put files into."""
    if not actual.files:
        return
    if actual.manifest is None:
        raise WeightsError(
            "the folder holds files and was not built by this collection, so it is neither replaced nor removed",
            where=path,
            remedy="choose another path, use source 'existing', or remove the folder by hand",
        )
    extra = sorted(set(actual.files) - _our_names(actual.manifest))
    if extra:
        raise WeightsError(
            "the folder holds files that are not of the tiny model: {0}".format(", ".join(extra[:3])),
            where=path,
            remedy="move them away; the folder is replaced or removed as a whole",
        )


def _our_names(manifest: str) -> t.Set[str]:
    """Return the names of files that a build writes; a damaged list must not stand in the way of a repair."""
    names = {MANIFEST}.union(*DIGESTS.values())
    with contextlib.suppress(ManifestError):
        names.update(parse_manifest(manifest, MANIFEST))
    return names


def _description(path: str, wanted: Wanted) -> ModelFolder:
    """Return what inspect() says of the model, before it is built as well as after."""
    recipe = RECIPES[wanted.architecture]
    sizes = {name: entry.size for name, entry in wanted.files.items()}
    sizes[MANIFEST] = len(wanted.manifest)
    return ModelFolder(
        path=path,
        architecture=recipe.config["architectures"][0],
        model_type=recipe.config["model_type"],
        total_bytes=tensor_bytes(recipe),
        tensor_count=sum(len(shard) for shard in recipe.shards),
        files={name: sizes[name] for name in sorted(sizes)},
        quantization=None,
        max_position_embeddings=recipe.config["max_position_embeddings"],
        warnings=[],
    )
