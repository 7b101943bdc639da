# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Which product, generation, SoC and vllm-ascend image belong to a PCI function or a chip name.

Generations: 310, 310P, 310B, A1 (first 910), A2 (910B), A3 (910_93), A5 (950). Sources: PCI ids from devdrv_pci.h of the driver
(verylucky01/driver) and the product table of ascend-deployer 26.0.0, which matches the subsystem device id; names from captures of npu-smi;
images from docs/source/installation.md and the CI of vllm-project/vllm-ascend.
"""

from __future__ import annotations

import re
import typing as t


class PciModel(t.NamedTuple):
    """One PCI device id: its generation, and its product by subsystem device id ("" = any other)."""

    generation: str
    products: t.Mapping[str, str]


class Chip(t.NamedTuple):
    """What a chip name tells. ``soc`` is None where the name leaves variants open (A3, A5, MiniD)."""

    generation: t.Optional[str]
    soc: t.Optional[str]


VENDOR = 0x19E5
# Base class and subclass "processing accelerator"; the vendor's network and storage functions have others.
CLASS = 0x1200

_A2_TRAINING = "Atlas 800T A2 / 900 A2"
_A2_INFERENCE = "Atlas 800I A2"
_A3_POD = "Atlas 900 A3"
_A3_SERVER = "Atlas 800I A3"
_A5_CARD = "Atlas 350"

PCI_MODELS: t.Dict[str, PciModel] = {
    "d100": PciModel("310", {"": "Atlas 300I (3000/3010)"}),
    "d105": PciModel("310B", {"": "Atlas 200I A2"}),
    "d107": PciModel("310B", {"": "Atlas 200I A2"}),
    "d500": PciModel("310P", {"0100": "Atlas 300I Pro", "0110": "Atlas 300I Duo"}),
    "d501": PciModel("310P", {}),
    # The module of an Atlas 800 (9000) and the 300T (9000) card have the same ids.
    "d801": PciModel("A1", {"": "Atlas 800 (9000) or 300T (9000)"}),
    "d802": PciModel(
        "A2",
        dict(
            {subsystem: _A2_TRAINING for subsystem in ("0100", "3000", "3001", "3003", "3400", "3401", "3402", "3403")},
            **{"3002": _A2_INFERENCE, "3004": _A2_INFERENCE, "3005": _A2_INFERENCE, "4000": "Atlas 300I A2", "6000": "Atlas 300T A2"},
        ),
    ),
    "d803": PciModel("A3", {"3000": _A3_POD, "3001": _A3_POD, "3002": _A3_POD, "3003": _A3_SERVER, "0100": _A3_SERVER}),
    "d804": PciModel("A2", {}),
    "d805": PciModel("A2", {}),  # a virtual function
    "d806": PciModel("A5", {"4003": _A5_CARD, "4004": _A5_CARD, "4005": _A5_CARD}),
}

# Chip name without "Ascend" -> generation and SoC, first match counts. "Ascend910" without a suffix is any A3 variant.
_NAMES: t.Tuple[t.Tuple[t.Pattern[str], str, t.Optional[str]], ...] = tuple(
    (re.compile(pattern), generation, soc)
    for pattern, generation, soc in (
        (r"310P([0-9]?)vir([0-9]+)", "310P", "Ascend310P3vir{2}"),
        (r"310P[0-9]", "310P", "Ascend{0}"),
        (r"310P", "310P", None),
        (r"310B[0-9]", "310B", "Ascend{0}"),
        (r"310B", "310B", None),
        (r"310|MiniD", "310", "Ascend310"),
        (r"910B[0-9][A-Z]?(?:-[0-9])?", "A2", "Ascend{0}"),
        (r"910B", "A2", None),
        (r"910_93[0-9]{2}", "A3", "Ascend{0}"),
        (r"910(?:A|Pro[AB]|Premium[AB])", "A1", "Ascend{0}"),
        (r"950(?:PR|DT)_[0-9]{4}", "A5", "Ascend{0}"),
        (r"950(?:PR|DT)?", "A5", None),
    )
)

# Suffix of the tag of quay.io/ascend/vllm-ascend. A5: the CI builds -a5 since 0.23, while setup documents of August 2026 said -950dt.
IMAGE_SUFFIXES: t.Dict[str, str] = {"A2": "", "A3": "-a3", "310P": "-310p", "A5": "-a5"}


def pci_model(device: t.Optional[str], subsystem_device: t.Optional[str]) -> t.Tuple[t.Optional[str], t.Optional[str]]:
    """Return (generation, product) of PCI ids in lower-case hex without 0x; None for what is not known."""
    model = PCI_MODELS.get(device or "")
    if model is None:
        return None, None
    return model.generation, model.products.get(subsystem_device or "", model.products.get(""))


def chip_of_name(name: t.Optional[str]) -> Chip:
    """Return generation and SoC of a name from ``npu-smi info`` (910B4) or ``info -m`` (Ascend 910B4)."""
    text = (name or "").strip()
    if text == "Ascend910":
        return Chip("A3", None)
    text = re.sub(r"^Ascend ?", "", text)
    for pattern, generation, soc in _NAMES:
        found = pattern.fullmatch(text)
        if found:
            return Chip(generation, soc.format(text, *found.groups()) if soc else None)
    return Chip(None, None)


def image_suffix(generation: t.Optional[str]) -> t.Optional[str]:
    """Return what the vllm-ascend image tag ends with, or None when no image serves the generation."""
    return IMAGE_SUFFIXES.get(generation or "")
