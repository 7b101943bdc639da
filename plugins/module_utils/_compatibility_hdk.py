# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Does a driver (HDK) go with a CANN, and which one was the CANN released with?"""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._ascend_version import AscendVersion, parse_version
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_host import Findings
from ansible_collections.npufleet.ascend.plugins.module_utils._compatibility_table import HDK_RULES, HDKS, PAIRS, PAIRS_950, HdkRule, Pair


def pair_of(cann: AscendVersion) -> t.Optional[Pair]:
    """Return the HDK that a version of CANN was released with; without a row for it that of the newest in its release train."""
    exact = [pair for pair in PAIRS if parse_version(pair.cann) == cann]
    train = [pair for pair in PAIRS if parse_version(pair.cann).train == cann.train]
    return exact[0] if exact else train[-1] if train else None


def check_hdk(cann: AscendVersion, name: str, hdk: AscendVersion, chip: t.Optional[str], findings: Findings) -> None:
    """Add what is wrong or not known about a driver under a CANN, which sentences call by the name."""
    if chip == "950":
        _check_hdk_950(cann, hdk, findings)
        return
    rule = next((rule for rule in HDK_RULES if parse_version(rule.cann).train == cann.train), None)
    if rule is None:
        _check_pair(cann, hdk, findings)
    elif hdk.train < parse_version(rule.first).train:
        findings.problems.append("{0} does not allow HDK {1}: install HDK {2}".format(name, hdk, _allowed(rule, cann)))
    elif hdk.train > parse_version(rule.last).train:
        findings.unknowns.append(
            "HDK {0} is newer than the table, which ends with {1}: whether CANN {2} allows it is not known".format(
                hdk, rule.last, cann.capitals
            )
        )


def _allowed(rule: HdkRule, cann: AscendVersion) -> str:
    """Return the first HDK that a rule allows, and the one that CANN was released with."""
    first = next(hdk.version for hdk in HDKS if parse_version(hdk.version).train >= parse_version(rule.first).train)
    pair = pair_of(cann)
    return "{0} or later{1}".format(first, "; CANN {0} was released with {1}".format(pair.cann, pair.hdk) if pair else "")


def _check_pair(cann: AscendVersion, hdk: AscendVersion, findings: Findings) -> None:
    pair = pair_of(cann)
    if pair is None:
        findings.unknowns.append("which HDKs CANN {0} allows is not known".format(cann.capitals))
    elif hdk < parse_version(pair.hdk):
        findings.unknowns.append(
            "whether CANN {0} works with HDK {1} is not known; CANN {2} was released with the newer {3}".format(
                cann.capitals, hdk, pair.cann, pair.hdk
            )
        )


def _check_hdk_950(cann: AscendVersion, hdk: AscendVersion, findings: Findings) -> None:
    """The HDKs of 950 have numbers of their own, to which the rules do not apply."""
    if any(parse_version(row[0]) == cann and parse_version(row[2]) == hdk for row in PAIRS_950):
        return
    pairs = pairs_950(cann) or "no HDK of 950"
    findings.unknowns.append("with CANN {0} {1} is known, and nothing about HDK {2}".format(cann.capitals, pairs, hdk))


def pairs_950(cann: AscendVersion) -> str:
    """Return the HDKs of 950 that are known for a CANN, as words; empty when there are none."""
    return ", ".join("{0} with {1}".format(product, hdk) for version, product, hdk, _source in PAIRS_950 if parse_version(version) == cann)
