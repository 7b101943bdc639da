# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Size and SHA-256 of each file of the tiny models with the default seed.

A host needs no build to know what it should have, and a build that comes out differently is noticed. A test compares the
table with a build; its message shows the new table after a wanted change.
"""

from __future__ import annotations

import typing as t


class FileDigest(t.NamedTuple):
    """Size in bytes and SHA-256 in hexadecimal digits."""

    size: int
    sha256: str


DIGESTS: t.Dict[str, t.Dict[str, FileDigest]] = {
    "deepseek_v2": {
        "config.json": FileDigest(1013, "366afb92bb5b47be1015536d4551740aad430659f17776c09d337bc847f8c83e"),
        "generation_config.json": FileDigest(126, "42841be7192b027c8d95f16643970da68ccd763e77df70124f8ded689a6965af"),
        "model-00001-of-00002.safetensors": FileDigest(7287920, "e5164d62d5f2ea432c5055bd90339b71033a49f34c614583c1f67defdf890fac"),
        "model-00002-of-00002.safetensors": FileDigest(4500072, "296df559bb4804d320ab0f6110cb1314d64482e6979cfd2e7fd35b19c2480f90"),
        "model.safetensors.index.json": FileDigest(7256, "517108071bff29885f501a8336a502ad8ec7aef241abcc1ee471f21ff5d2d60c"),
        "tokenizer.json": FileDigest(36798, "a76f2dd82a52e35372a3ccc531bef08183b9279fd0e31cb28a04a3794eb16e8b"),
        "tokenizer_config.json": FileDigest(692, "8511e7cc14053796dfe8e377b37433e064624b96bf1bf3bdce7faa06320aebde"),
    },
    "qwen2": {
        "config.json": FileDigest(625, "7dab8125554a05fbba55be89f792eaebbf57c62d55008a91b5fd47ce21e08a04"),
        "generation_config.json": FileDigest(126, "42841be7192b027c8d95f16643970da68ccd763e77df70124f8ded689a6965af"),
        "model.safetensors": FileDigest(4598296, "0424dd3fb55ea96310a882e657bc7031e13ed08851d93afa8011adc1ec4208ea"),
        "tokenizer.json": FileDigest(36798, "a76f2dd82a52e35372a3ccc531bef08183b9279fd0e31cb28a04a3794eb16e8b"),
        "tokenizer_config.json": FileDigest(692, "8511e7cc14053796dfe8e377b37433e064624b96bf1bf3bdce7faa06320aebde"),
    },
}
