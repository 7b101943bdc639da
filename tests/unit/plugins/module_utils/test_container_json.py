# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._container_json import changes, merge, parse, render, undo, usable_defaults
from ansible_collections.npufleet.ascend.plugins.module_utils._container_record import combine_changes
from ansible_collections.npufleet.ascend.plugins.module_utils._container_spec import RuntimeEntry, Wanted
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError

ADR = RuntimeEntry("ascend", "/usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime")
SITE = """\
{
    "registry-mirrors": ["https://mirror.example.com"],
    "runtimes": {"site": {"path": "/usr/bin/site"}},
    "max-concurrent-downloads":  10 ,
    "default-runtime": "site"
}"""


def wanted(runtimes=(), options=None, defaults=None):
    return Wanted("docker", "present", tuple(runtimes), None, options or {}, defaults or {}, None, None, "", 60.0)


@pytest.mark.parametrize("text", [None, "", " \n", "{}"])
def test_a_site_without_settings(text):
    assert parse(text, "daemon.json") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1', "no valid JSON"),
        ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ('{"log-opts": {"a": 1, "a": 2}}', "the key 'a' is there twice"),
        ("[]", "holds no JSON object"),
        ('{"runtimes": []}', "runtimes is not of the kind"),
        ('{"log-opts": "x"}', "log-opts is not of the kind"),
        ('{"default-runtime": 1}', "default-runtime is not of the kind"),
    ],
)
def test_a_damaged_file_is_refused(text, words):
    with pytest.raises(NpufleetError) as caught:
        parse(text, "/etc/docker/daemon.json")
    assert words in str(caught.value) and "Where: /etc/docker/daemon.json" in str(caught.value)


@pytest.mark.parametrize("text", [SITE, '{"a":1}', '{\n\t"a": 1.50\n}\n', "{}"])
def test_not_a_byte_changes_when_nothing_does(text):
    assert render(parse(text, ""), text) == text


def test_only_what_changes_is_written_anew():
    config = merge(parse(SITE, ""), wanted([ADR]), "site")
    assert render(config, SITE) == SITE.replace(
        '{"site": {"path": "/usr/bin/site"}},',
        '{\n        "site": {\n            "path": "/usr/bin/site"\n        },\n        "ascend": {\n            "path": "%s"\n        }\n    },'
        % ADR.path,
    ).replace("  10 ,", " 10,")


@pytest.mark.parametrize(
    ("text", "config", "result"),
    [
        (None, {"debug": True, "labels": ["ä=b"]}, '{\n  "debug": true,\n  "labels": [\n    "ä=b"\n  ]\n}\n'),
        ('{"a": 1}', {"a": 1, "b": [2]}, '{"a": 1, "b": [2]}'),
        ('{"a": 1}\n', {"a": 2}, '{"a": 2}\n'),
        ('{\n\t"a": {"b": 1}\n}', {"a": {"b": 2}}, '{\n\t"a": {\n\t\t"b": 2\n\t}\n}'),
        ('{\n  "a": 1\n}\n', {}, "{}\n"),
    ],
)
def test_the_style_of_the_site(text, config, result):
    assert render(config, text) == result
    assert json.loads(result) == config


@pytest.mark.parametrize(
    ("site", "options", "result"),
    [
        ({}, {"data-root": "/data"}, {"data-root": "/data"}),
        ({"a": 1, "debug": False}, {"debug": True}, {"a": 1, "debug": True}),
        (
            {"registry-mirrors": ["https://a.example.com/"]},
            {"registry-mirrors": ["https://a.example.com", "https://b.example.com"]},
            {"registry-mirrors": ["https://a.example.com/", "https://b.example.com"]},
        ),
        ({"insecure-registries": ["a:1"]}, {"insecure-registries": ["b:2"]}, {"insecure-registries": ["a:1", "b:2"]}),
        (
            {"exec-opts": ["native.cgroupdriver=cgroupfs", "x=1"]},
            {"exec-opts": ["native.cgroupdriver=systemd"]},
            {"exec-opts": ["x=1", "native.cgroupdriver=systemd"]},
        ),
        ({"labels": ["a=1", "b=2"]}, {"labels": ["a=1"]}, {"labels": ["a=1", "b=2"]}),
        (
            {"default-address-pools": [{"base": "a"}]},
            {"default-address-pools": [{"base": "b"}]},
            {"default-address-pools": [{"base": "b"}]},
        ),
        ({"log-opts": {"labels": "x"}}, {"log-opts": {"max-size": "5m"}}, {"log-opts": {"labels": "x", "max-size": "5m"}}),
        (
            {"log-driver": "journald", "log-opts": {"tag": "x"}},
            {"log-driver": "json-file", "log-opts": {"max-size": "5m"}},
            {"log-driver": "json-file", "log-opts": {"max-size": "5m"}},
        ),
        (
            {"log-opts": {"max-file": "9"}},
            {"log-driver": "json-file", "log-opts": {"max-size": "5m"}},
            {"log-driver": "json-file", "log-opts": {"max-file": "9", "max-size": "5m"}},
        ),
        ({"features": {"a": True}}, {"features": {"a": False, "b": True}}, {"features": {"a": False, "b": True}}),
    ],
)
def test_options_are_merged_as_docker_means_them(site, options, result):
    before = json.loads(json.dumps(site))
    assert merge(site, wanted(options=options), None) == result
    assert site == before


LOGS = {"log-driver": "json-file", "log-opts": {"max-size": "100m", "max-file": "3"}}


@pytest.mark.parametrize(
    ("site", "flags", "result"),
    [
        ({}, (), LOGS),
        ({"log-driver": "json-file"}, (), LOGS),
        ({"log-opts": {"max-size": "1g"}}, (), {"log-driver": "json-file", "log-opts": {"max-size": "1g", "max-file": "3"}}),
        ({"log-driver": "journald"}, (), {"log-driver": "journald"}),
        ({"log-driver": "local", "log-opts": {"max-size": "1g"}}, (), {"log-driver": "local", "log-opts": {"max-size": "1g"}}),
        ({}, ("log-driver",), {}),
        ({}, ("log-opts",), {}),
        ({}, ("debug",), LOGS),
    ],
)
def test_defaults_are_for_what_the_site_says_nothing_of(site, flags, result):
    assert merge(site, wanted(defaults=LOGS), None, flags) == result


def test_other_defaults_than_those_of_logs_are_left_out_one_by_one():
    assert usable_defaults({"log-driver": "journald"}, dict(LOGS, debug=True, mtu=1400), ["mtu"]) == {"debug": True}


@pytest.mark.parametrize(
    ("have", "args", "result"),
    [
        (None, (), {"path": "/bin/a"}),
        ({"path": "/bin/a", "runtimeArgs": []}, (), {"path": "/bin/a", "runtimeArgs": []}),
        ({"path": "/bin/b", "runtimeArgs": []}, (), {"path": "/bin/a"}),
        ({"path": "/bin/a"}, ("-x",), {"path": "/bin/a", "runtimeArgs": ["-x"]}),
    ],
)
def test_a_runtime_is_added_beside_the_others(have, args, result):
    site = {"runtimes": dict({"site": {"path": "/s"}}, **({"a": have} if have else {}))}
    merged = merge(site, wanted([RuntimeEntry("a", "/bin/a", args)]), None)
    assert merged == {"runtimes": {"site": {"path": "/s"}, "a": result}}


@pytest.mark.parametrize(("default", "result"), [("site", {"default-runtime": "site"}), (None, {})])
def test_the_default_runtime_is_what_the_caller_found(default, result):
    assert merge({"default-runtime": "ascend"}, wanted(), default) == result


@pytest.mark.parametrize(
    ("before", "now", "result"),
    [
        # Somebody else's values, elements and keys stay.
        ({"debug": False}, {"debug": True, "mtu": 9}, {"debug": False, "mtu": 9}),
        ({}, {"debug": "by hand"}, {"debug": "by hand"}),
        ({"dns": ["a"]}, {"dns": ["a", "b", "c"]}, {"dns": ["a", "c"]}),
        ({}, {"dns": ["b"]}, {}),
        ({}, {"dns": []}, {}),
        ({}, {}, {}),
        ({}, {"log-opts": {"max-size": "5m", "tag": "x"}}, {"log-opts": {"tag": "x"}}),
        ({"log-driver": "journald", "log-opts": {"tag": "x"}}, None, {"log-driver": "journald", "log-opts": {"tag": "x"}}),
        ({}, {"log-opts": "by hand"}, {"log-opts": "by hand"}),
    ],
)
def test_undo_takes_back_what_is_still_as_it_was_set(before, now, result):
    options = {"debug": True, "dns": ["b"], "log-driver": "json-file", "log-opts": {"max-size": "5m"}}
    after = merge(before, wanted([ADR], options), None)
    assert undo(after, changes(before, after)) == before
    assert undo(after if now is None else now, changes(before, after)) == result


def test_the_default_runtime_is_undone_by_the_record_and_not_here():
    assert changes({"default-runtime": "a"}, {}) == changes({}, {"default-runtime": "a"}) == []


def test_a_second_change_is_undone_to_what_was_before_the_first():
    one = merge({"mtu": 1}, wanted(options={"mtu": 2}), None)
    two = merge(one, wanted(options={"mtu": 3, "debug": True}), None)
    recorded = combine_changes(changes({"mtu": 1}, one), changes(one, two))
    assert undo(two, recorded) == {"mtu": 1}
    # By hand in between: that counts as the site's.
    by_hand = merge({"mtu": 9}, wanted(options={"mtu": 3}), None)
    recorded = combine_changes(changes({"mtu": 1}, one), changes({"mtu": 9}, by_hand))
    assert undo(by_hand, recorded) == {"mtu": 9}
