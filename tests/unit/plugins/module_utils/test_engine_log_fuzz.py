# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_log import MAX_ERROR, MAX_PROGRESS, explain, last_meaningful, redact
from hypothesis import given, settings
from hypothesis import strategies as st

# Pieces of real logs in any order are more telling than random text alone.
PIECES = st.sampled_from(
    [
        "",
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in f',
        "    g()",
        "During handling of the above exception, another exception occurred:",
        "The above exception was the direct cause of the following exception:",
        "KeyError: 'x'",
        "ValueError:",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
        "  Value error, wrong [type=value_error, input_value=1, input_type=int]",
        "RuntimeError: Engine core initialization failed. See root cause above.",
        "EZ9999: Inner Error!",
        "Killed",
        "Exception ignored in: <function f>",
    ]
)
PREFIXES = st.sampled_from(
    [
        "",
        "(Worker_TP0 pid=7) ",
        "(Worker_TP1 pid=8) ERROR 11-30 14:50:01 [a.py:1] ",
        "WARNING 11-30 14:50:01 [a.py:1] ",
        "[rank0]: ",
        "ERROR:    ",
    ]
)
LINES = st.lists(st.one_of(st.builds(lambda prefix, text: prefix + text, PREFIXES, PIECES), st.text(max_size=80)), max_size=25)


@settings(max_examples=60, deadline=None)
@given(LINES, st.sampled_from([None, "ascend", "cpu"]))
def test_explain_is_total(lines, engine):
    report = explain(lines, engine)
    error = report["first_error"]
    assert error is None or (0 < len(error) <= MAX_ERROR and "\n" not in error)
    assert report["signature"] is None or report["signature"]["id"] not in [row["id"] for row in report["other_signatures"]]
    assert len(last_meaningful(lines)) <= MAX_PROGRESS


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=5), st.lists(st.text(alphabet="abc123", min_size=3, max_size=8), max_size=4))
def test_no_secret_survives(lines, secrets):
    text = "\n".join(redact([line + "".join(secrets) + line for line in lines], secrets))
    assert not [secret for secret in secrets if secret in text]
