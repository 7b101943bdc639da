# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._npu_table import (
    IMAGE_SUFFIXES,
    PCI_MODELS,
    chip_of_name,
    image_suffix,
    pci_model,
)

GENERATIONS = ("310", "310P", "310B", "A1", "A2", "A3", "A5")


@pytest.mark.parametrize("device", sorted(PCI_MODELS))
def test_each_row_of_the_pci_table_is_well_formed(device: str) -> None:
    model = PCI_MODELS[device]
    assert len(device) == 4
    assert int(device, 16) >> 8 == 0xD1 or 0xD5 <= int(device, 16) >> 8 <= 0xD8
    assert model.generation in GENERATIONS
    assert all(product.startswith("Atlas ") for product in model.products.values())
    assert all(subsystem == "" or (len(subsystem) == 4 and int(subsystem, 16)) for subsystem in model.products)


@pytest.mark.parametrize(
    ("device", "subsystem", "expected"),
    [
        ("d100", "0100", ("310", "Atlas 300I (3000/3010)")),
        ("d107", "0000", ("310B", "Atlas 200I A2")),
        ("d500", "0100", ("310P", "Atlas 300I Pro")),
        ("d500", "0110", ("310P", "Atlas 300I Duo")),
        ("d500", "0999", ("310P", None)),
        ("d501", None, ("310P", None)),
        ("d801", "0100", ("A1", "Atlas 800 (9000) or 300T (9000)")),
        ("d802", "3400", ("A2", "Atlas 800T A2 / 900 A2")),
        ("d802", "3004", ("A2", "Atlas 800I A2")),
        ("d802", "4000", ("A2", "Atlas 300I A2")),
        ("d802", "6000", ("A2", "Atlas 300T A2")),
        ("d803", "3001", ("A3", "Atlas 900 A3")),
        ("d803", "3003", ("A3", "Atlas 800I A3")),
        ("d805", None, ("A2", None)),
        ("d806", "4004", ("A5", "Atlas 350")),
        ("d8ff", "0100", (None, None)),
        (None, None, (None, None)),
    ],
)
def test_pci_model(device: t.Optional[str], subsystem: t.Optional[str], expected: t.Tuple[t.Optional[str], t.Optional[str]]) -> None:
    assert pci_model(device, subsystem) == expected


@pytest.mark.parametrize(
    ("name", "generation", "soc"),
    [
        ("310", "310", "Ascend310"),
        ("MiniD", "310", "Ascend310"),
        ("310P3", "310P", "Ascend310P3"),
        ("Ascend 310P3", "310P", "Ascend310P3"),
        ("310Pvir04", "310P", "Ascend310P3vir04"),
        ("310P3vir02", "310P", "Ascend310P3vir02"),
        ("310P", "310P", None),
        ("310B1", "310B", "Ascend310B1"),
        ("310B", "310B", None),
        ("910A", "A1", "Ascend910A"),
        ("Ascend 910A", "A1", "Ascend910A"),
        ("910ProB", "A1", "Ascend910ProB"),
        ("910PremiumA", "A1", "Ascend910PremiumA"),
        ("910B", "A2", None),
        ("910B1", "A2", "Ascend910B1"),
        ("910B2C", "A2", "Ascend910B2C"),
        ("910B4-1", "A2", "Ascend910B4-1"),
        ("Ascend 910B4", "A2", "Ascend910B4"),
        ("Ascend910", "A3", None),
        ("Ascend910_9392", "A3", "Ascend910_9392"),
        ("Ascend950PR", "A5", None),
        ("Ascend950DT", "A5", None),
        ("Ascend950PR_9579", "A5", "Ascend950PR_9579"),
        ("vir05_1c_8g", None, None),
        ("910", None, None),
        ("Mcu", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_chip_of_name(name: t.Optional[str], generation: t.Optional[str], soc: t.Optional[str]) -> None:
    assert chip_of_name(name) == (generation, soc)


@pytest.mark.parametrize(
    ("generation", "suffix"),
    [("A2", ""), ("A3", "-a3"), ("310P", "-310p"), ("A5", "-a5"), ("310", None), ("310B", None), ("A1", None), (None, None)],
)
def test_image_suffix(generation: t.Optional[str], suffix: t.Optional[str]) -> None:
    assert image_suffix(generation) == suffix
    assert set(IMAGE_SUFFIXES) <= set(GENERATIONS)
