# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Read the ``key : value`` answers of npu-smi: version, list of cards, boards, health, blocks by chip, process memory.

Data lines start with a TAB, so lines that do not start with white space are messages and are left alone. Key columns are 30 or 40 wide and
some answers have no blank around the colon: split at the first colon, never at a column.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._npu_smi_errors import unexpected

Pairs = t.Dict[str, str]
Item = t.Tuple[str, str]

_VERSION = re.compile(r"npu-smi version:\s*(\S+)")
_PROCESS = re.compile(r"Process id:([0-9]{1,12})\s+Process name:(.*?)\s*Process memory\(MB\):([0-9]{1,12})\s*$")
# The key that says whose block it is. A paragraph without one belongs to the next (-t flash has a blank line inside a block).
_OWNERS = ("Chip ID", "Chip Name", "VRD Name")


class Blocks(t.NamedTuple):
    """An answer by chip: what stands before the chips, one dict a chip, and the sensors of the board (MCU), if any."""

    head: Pairs
    chips: t.List[Pairs]
    mcu: t.Optional[Pairs]


class Health(t.NamedTuple):
    """Answer of ``-t health``: the state as printed, error codes in upper-case hex, and their texts."""

    state: t.Optional[str]
    codes: t.List[str]
    texts: t.List[str]


def parse_version(text: str) -> str:
    """Return the tool version of ``npu-smi -v``.

    :raises NpuSmiFormatError: no version in the text
    """
    found = _VERSION.search(text)
    if not found:
        raise unexpected("-v", text)
    return found.group(1)


def parse_pairs(text: str) -> Pairs:
    """Return the keys and values of a flat answer, as printed. A line with an empty key continues the value above it (after a newline).

    :raises NpuSmiFormatError: no pair in the text
    """
    pairs: Pairs = {}
    for item in _items(text):
        if item is not None:
            pairs[item[0]] = item[1]
    if not pairs:
        raise unexpected("info -t", text)
    return pairs


def parse_health(text: str) -> Health:
    """Read ``-t health -i N -c C`` (key ``Health Status``) or the A5 form without ``-c`` (key ``Health``).

    :raises NpuSmiFormatError: no health in the text
    """
    pairs = parse_pairs(text)
    state = pairs.get("Health Status", pairs.get("Health"))
    if state is None:
        raise unexpected("info -t health", text)
    codes = _value(pairs.get("Error Code")) or ""
    texts = _value(pairs.get("Error Information")) or ""
    # Printed without a TAB when the driver has no text for a code.
    unknown = [line.strip() for line in text.splitlines() if line.startswith("Failed to get error information for error code")]
    return Health(state, codes.split(), [line for line in texts.split("\n") if line] + unknown)


def soc_version(board: Pairs) -> t.Optional[str]:
    """Return what CANN and vllm-ascend call SOC_VERSION, from a board answer of chip level (A5: of card level).

    310P, 910A and A2 print Chip Type + Chip Name (Ascend910B3), A3 and A5 Chip Name + "_" + NPU Name (Ascend910_9392).
    Source: setup.py of vllm-ascend.
    """
    name = _value(board.get("Chip Name"))
    npu = _value(board.get("NPU Name"))
    kind = _value(board.get("Chip Type"))
    if name and npu:
        return name + "_" + npu
    return kind + name if name and kind else None


def parse_blocks(text: str) -> Blocks:
    """Read an answer by chip (usages, common, temp, power, memory, health, ecc, flash, product, device-share; ``upgrade -b vrd``).

    ``Chip ID`` closes the block of its chip in most answers and opens it in ``common`` and on 310 and 310B, so a block ends at a blank line
    or where a key comes again.

    :raises NpuSmiFormatError: no pair in the text
    """
    blocks = _merge_fragments(_paragraphs(text))
    if not blocks:
        raise unexpected("info -t", text)
    head = {} if any(owner in blocks[0] for owner in _OWNERS) else blocks.pop(0)
    chips: t.List[Pairs] = []
    mcu: t.Optional[Pairs] = None
    for block in blocks:
        if block.get("Chip Name", "").lower() == "mcu":
            mcu = block
        else:
            chips.append(block)
    return Blocks(head, chips, mcu)


def parse_list(text: str) -> t.Dict[str, t.Any]:
    """Read ``info -l``: ``total`` (NPUs, not chips) and ``cards`` with npu_id and, where printed, product_name, serial_number, chip_count.

    :raises NpuSmiFormatError: no total, or a card without an id
    """
    keys = {"NPU ID": "npu_id", "Product Name": "product_name", "Serial Number": "serial_number", "Chip Count": "chip_count"}
    total: t.Optional[int] = None
    cards: t.List[t.Dict[str, t.Any]] = []
    for item in _items(text):
        key, value = item or ("", "")
        if key in ("Total Count", "Card Count"):
            total = _integer(value, "info -l", text)
        elif key == "NPU ID":
            cards.append({"npu_id": _integer(value, "info -l", text)})
        elif key in keys and cards:
            cards[-1][keys[key]] = _integer(value, "info -l", text) if key == "Chip Count" else value
    if total is None:
        raise unexpected("info -l", text)
    return {"total": total, "cards": cards}


def parse_process_memory(text: str) -> t.Dict[str, t.Any]:
    """Read ``-t proc-mem -i N``: npu_id, chip_count and ``chips`` with chip_id and processes (pid of the host, name, memory_mb).

    :raises NpuSmiFormatError: no NPU id, or processes without a chip
    """
    result: t.Dict[str, t.Any] = {"npu_id": None, "chip_count": None, "chips": []}
    waiting: t.List[t.Dict[str, t.Any]] = []
    for line in text.splitlines():
        found = _PROCESS.match(line.strip())
        if found:
            waiting.append({"pid": int(found.group(1)), "name": found.group(2), "memory_mb": int(found.group(3))})
            continue
        key, value = _split(line) or ("", "")
        if key in ("NPU ID", "Chip Count"):
            result[{"NPU ID": "npu_id", "Chip Count": "chip_count"}[key]] = _integer(value, "info -t proc-mem", text)
        elif key == "Chip ID":
            result["chips"].append({"chip_id": _integer(value, "info -t proc-mem", text), "processes": waiting})
            waiting = []
    if result["npu_id"] is None or waiting:
        raise unexpected("info -t proc-mem", text)
    return result


def _split(line: str) -> t.Optional[Item]:
    """Return key and value of a data line. Only data lines start with white space."""
    if not line[:1].isspace() or ":" not in line:
        return None
    key, _colon, value = line.partition(":")
    return key.strip(), value.strip()


def _items(text: str) -> t.List[t.Optional[Item]]:
    """Return the pairs in order; None stands for a blank line."""
    items: t.List[t.Optional[Item]] = []
    for line in text.splitlines():
        item = _split(line)
        if not line.strip():
            items.append(None)
        elif item and item[0]:
            items.append(item)
        elif item:
            _continue(items, item[1])
    return items


def _continue(items: t.List[t.Optional[Item]], value: str) -> None:
    """Append a value whose key column is empty to the pair above, also over blank lines (-t health prints one before)."""
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if item is not None:
            items[index] = (item[0], item[1] + "\n" + value)
            return


def _paragraphs(text: str) -> t.List[Pairs]:
    """Split at blank lines, where a key comes again, and where the MCU follows a chip without a blank line."""
    paragraphs: t.List[Pairs] = [{}]
    for item in _items(text):
        last = paragraphs[-1]
        if item is None:
            paragraphs.append({})
        elif item[0] in last or (item[0] == "Chip Name" and "Chip ID" in last):
            paragraphs.append({item[0]: item[1]})
        else:
            last[item[0]] = item[1]
    return [paragraph for paragraph in paragraphs if paragraph]


def _merge_fragments(paragraphs: t.List[Pairs]) -> t.List[Pairs]:
    """Join a paragraph without an owner to the next one, unless it is the head of the answer."""
    blocks: t.List[Pairs] = []
    fragment: t.Optional[Pairs] = None
    for index, paragraph in enumerate(paragraphs):
        if fragment is not None and not set(fragment) & set(paragraph):
            paragraph = dict(fragment, **paragraph)
        elif fragment is not None:
            blocks.append(fragment)
        fragment = None
        if index and not any(owner in paragraph for owner in _OWNERS):
            fragment = paragraph
        else:
            blocks.append(paragraph)
    return blocks + ([fragment] if fragment is not None else [])


def _value(text: t.Optional[str]) -> t.Optional[str]:
    return None if text in (None, "", "NA", "-") else text


def _integer(text: str, command: str, whole: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise unexpected(command, whole)
    return int(text)
