# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever is wanted and whatever is there: a plan reaches its state, and what is written reads back as it was meant."""

from __future__ import annotations

import configparser
import json
import re
import shlex

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_plan import STATES, Actual, ConsentError, consent, make_plan
from ansible_collections.npufleet.ascend.plugins.module_utils._runtime_systemd import render_secrets, render_unit
from ansible_collections.npufleet.ascend.plugins.module_utils._service import RuntimeAdapterError
from ansible_collections.npufleet.ascend.plugins.module_utils._supervisor_files import render_program
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import spec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

# Characters with a meaning somewhere on the way, more often than chance has them.
MEANINGFUL = ["\u00a0", "\u2028", "\x1c", "\x85", "%(here)s", "${A}", "%h", " ;", " #", "$$"]
SPECIAL = st.sampled_from([*"\"'\\$%;# \t{}()=,:-@!`~*?[]<>|&", *MEANINGFUL])
PLAIN = st.characters(blacklist_categories=("Cs",), blacklist_characters="\n\r\0")
TEXT = st.lists(st.one_of(SPECIAL, PLAIN), max_size=12).map("".join)
SCALAR = st.one_of(st.none(), st.booleans(), st.integers(-9, 99), TEXT)
VALUE = st.one_of(SCALAR, st.lists(TEXT, max_size=2), st.dictionaries(TEXT, SCALAR, max_size=2))
ARGS = st.dictionaries(st.sampled_from(["max_model_len", "dtype", "chat-template", "additional_config"]), VALUE, max_size=3)
ENV = st.dictionaries(st.sampled_from(["A", "B_1", "OMP_NUM_THREADS"]), TEXT, max_size=3)
# Long and random, so that it cannot be a part of anything else by accident.
KEY = st.text("0123456789abcdef", min_size=16, max_size=16).map("sk-{0}".format)
SPEC = st.builds(
    lambda args, env, key, port, user: spec(args=args, env=env, api_key=key, port=port, user=user),
    ARGS,
    ENV,
    st.none() | KEY,
    st.sampled_from([8000, 8001]),
    st.sampled_from([None, "vllm"]),
)


@st.composite
def found(draw, wanted):
    """What may be there: nothing, this engine, another one, one that somebody damaged, or a launch that was interrupted."""
    folder = draw(st.booleans())
    if draw(st.integers(0, 4)) == 0:
        return Actual(folder=folder)
    applied = draw(st.one_of(st.just(wanted), SPEC))
    digest = draw(st.sampled_from([applied.digest(), None, "0" * 64]))
    running = draw(st.booleans())
    return Actual(
        defined=True,
        running=running,
        enabled=draw(st.booleans()),
        files_current=draw(st.booleans()),
        digest=digest,
        applied=draw(st.sampled_from([applied.public(), None])),
        unfinished=digest is None and draw(st.booleans()),
        restarting=not running and draw(st.booleans()),
        folder=folder,
    )


WANTED_AND_FOUND = SPEC.flatmap(lambda wanted: st.tuples(st.just(wanted), found(wanted)))


def carry_out(wanted, actual, steps):
    """What the adapters do to a host, see the docstrings of _service.Runtime."""
    for step in steps:
        if step == "define":
            actual = actual._replace(defined=True, enabled=True, files_current=True, applied=wanted.public(), folder=True)
        elif step == "remove":
            assert not actual.running, "a running engine is stopped before it is removed"
            actual = Actual()
        elif step == "start":
            assert actual.defined
            assert not actual.running, "what runs is not started"
            actual = actual._replace(running=True, restarting=False)
        elif step == "stop":
            assert actual.running or actual.restarting, "what does not run is not stopped"
            actual = actual._replace(running=False, restarting=False)
        else:
            assert step == "enable"
            assert not actual.enabled
            actual = actual._replace(enabled=True)
    if "define" in steps:
        actual = actual._replace(digest=wanted.digest(), unfinished=False)
    return actual


@settings(max_examples=60, deadline=None)
@given(WANTED_AND_FOUND, st.sampled_from(STATES))
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(pair, state):
    wanted, actual = pair
    plan = make_plan(wanted, actual, state)
    reached = carry_out(wanted, actual, plan.steps)
    again = make_plan(wanted, reached, "started" if state == "restarted" else state)
    assert (again.steps, again.action, again.changed, again.before) == ((), "keep", False, again.after)
    assert plan.after["state"] == again.before["state"] or not plan.changed
    assert reached.running is {
        "absent": False,
        "stopped": False,
        "present": actual.running or (actual.restarting and "start" in plan.steps),
    }.get(state, True)


@settings(max_examples=40, deadline=None)
@given(WANTED_AND_FOUND, st.sampled_from(STATES))
def test_steps_and_what_is_said_of_them_agree(pair, state):
    wanted, actual = pair
    plan = make_plan(wanted, actual, state)
    assert plan.changed == bool(plan.steps) == (plan.action != "keep")
    assert len(set(plan.steps)) == len(plan.steps)
    assert list(plan.steps) == sorted(plan.steps, key=["stop", "define", "remove", "start", "enable"].index)
    assert not plan.interrupts or (actual.running and "stop" in plan.steps)
    if state == "absent":
        assert set(plan.steps) <= {"stop", "remove"}
    else:
        assert "remove" not in plan.steps
    if state in ("stopped", "present") and not (actual.running or actual.restarting):
        assert not {"start", "stop"} & set(plan.steps)


@settings(max_examples=40, deadline=None)
@given(SPEC, st.sampled_from([state for state in STATES if state not in ("absent", "restarted")]))
def test_where_nothing_differs_nothing_is_done(wanted, state):
    there = Actual(True, state != "stopped", True, True, wanted.digest(), wanted.public(), folder=True)
    plan = make_plan(wanted, there, state)
    assert (plan.steps, plan.reasons, plan.interrupts) == ((), (), False)
    assert json.dumps(plan.before) == json.dumps(plan.after)


@settings(max_examples=40, deadline=None)
@given(WANTED_AND_FOUND, st.sampled_from(STATES), KEY, KEY)
def test_no_secret_is_in_a_plan(pair, state, old, new):
    assume(old != new)
    wanted, actual = pair
    wanted = wanted._replace(secret_env=(("VLLM_API_KEY", new),))
    applied = wanted._replace(secret_env=(("VLLM_API_KEY", old),))
    for there in (actual, actual._replace(applied=applied.public(), digest=applied.digest())):
        text = repr(make_plan(wanted, there, state))
        assert not [secret for secret in (old, new, wanted.digest(), applied.digest()) if secret in text]


@settings(max_examples=40, deadline=None)
@given(WANTED_AND_FOUND, st.sampled_from(STATES), st.sampled_from([None, True, False]))
def test_only_a_running_engine_needs_consent_and_check_mode_never_asks(pair, state, replace):
    wanted, actual = pair
    plan = make_plan(wanted, actual, state)
    told = consent(plan, replace, check_mode=True)
    try:
        agreed = consent(plan, replace, check_mode=False)
    except ConsentError as exc:
        assert replace is None
        assert all(reason in str(exc) for reason in plan.reasons)
        agreed = True
        assert actual.running
    assert told == agreed
    assert agreed or (replace is False and actual.running and state != "absent")


# systemd.syntax, "Quoting": quotes around words, C escapes in them; systemd.unit, "Specifiers": %% is %.
WORD = re.compile(r'\s*"((?:[^"\\]|\\.)*)"(?=\s|$)', re.DOTALL)


def read_words(text):
    words, at = [], 0
    while at < len(text):
        match = WORD.match(text, at)
        assert match, text[at:]
        word = re.sub(r"\\(.)", lambda escape: {"\\": "\\", '"': '"'}[escape.group(1)], match.group(1), flags=re.DOTALL)
        assert not re.search("%(?!%)", word.replace("%%", "")), "a specifier"
        words.append(word.replace("%%", "%"))
        at = match.end()
    return words


def without_variables(word):
    """systemd.service, "Command lines": $$ is $, and anything else after a $ would be taken from the environment."""
    assert "$" not in word.replace("$$", ""), "a variable"
    return word.replace("$$", "$")


def read_unit(text):
    """Settings of a unit file; systemd ends lines at line feeds and carriage returns alone (systemd.syntax)."""
    lines = [line for line in re.split("[\n\r]", text) if line and line[0] not in "#;["]
    return [(name, value) for name, _sign, value in (line.partition("=") for line in lines)]


UNIT_SETTINGS = {
    name for name, _value in read_unit(render_unit(spec(api_key="k", user="u"), "/s", False) + render_unit(spec(), "/s", True))
}


@settings(max_examples=60, deadline=None)
@given(SPEC, st.booleans())
def test_systemd_reads_what_was_meant(wanted, user_unit):
    unit = read_unit(render_unit(wanted, "/srv/secret.env", user_unit))
    assert {name for name, _value in unit} <= UNIT_SETTINGS
    command = read_words(dict(unit)["ExecStart"])
    assert (command[0], *map(without_variables, command[1:])) == wanted.argv
    assignments = [read_words(value) for name, value in unit if name == "Environment"]
    assert tuple(tuple(word.split("=", 1)) for (word,) in assignments) == wanted.env


def read_environment_file(text):
    """systemd.exec, EnvironmentFile=: in double quotes a backslash takes the meaning from \\" \\\\ \\` \\$, and stays before others."""
    for line in text.splitlines():
        name, _sign, value = line.partition("=")
        assert value[0] == value[-1] == '"'
        yield name, re.sub(r'\\(["\\`$])', r"\1", value[1:-1])


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=12))
def test_systemd_reads_the_key(key):
    wanted = spec(api_key=key)
    assert tuple(read_environment_file(render_secrets(wanted))) == wanted.secret_env


def read_program(text):
    """As supervisor 4 does: configparser with its comments, its folder for %(here)s, % expansion, shlex (POSIX for the command only)."""
    parser = configparser.RawConfigParser(inline_comment_prefixes=(";", "#"), strict=False)
    parser.read_string(text)
    (section,) = parser.sections()
    values = {name: value.replace("%(here)s", "/etc") % {} for name, value in parser.items(section)}
    lexer = shlex.shlex(values["environment"])
    lexer.wordchars += "/.+-():"
    tokens = list(lexer)
    assert {*tokens[1::4]} <= {"="}
    assert {*tokens[3::4]} <= {","}
    pairs = zip(tokens[0::4], (token.strip("'\"") for token in tokens[2::4]))
    return set(values), tuple(shlex.split(values["command"])), tuple(pairs)


PROGRAM_SETTINGS = read_program(render_program(spec(user="u")))[0]


@settings(max_examples=60, deadline=None)
@given(SPEC)
def test_supervisor_reads_what_was_meant_or_is_not_asked_to(wanted):
    try:
        text = render_program(wanted)
    except RuntimeAdapterError as exc:
        value = dict(wanted.env)[exc.where.partition(".")[2]]
        assert {"'", '"'} <= set(value) or value.strip("'\"") != value or re.search(r"\s[;#]|%\(here\)s", value)
        return
    names, command, environment = read_program(text)
    assert names <= PROGRAM_SETTINGS
    assert command == ("/bin/sh", wanted.working_directory + "/launch.sh", *wanted.argv)
    assert environment == tuple(sorted(wanted.env + wanted.secret_env))
