# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Root makes the service and another user runs it: folders, umask, caches, and what that user may not read."""

from __future__ import annotations

import pytest

testinfra_hosts = ["ansible://system-engine"]

# A hardened host: every file and folder that root makes is closed to others unless somebody opens it.
STRICT_SHELL = "/usr/local/bin/strict-shell"
USER = "prober"
HOME = "/srv/npufleet/strict"


@pytest.fixture
def strict(host):
    """Variables that let Ansible work with umask 027."""
    host.check_output("printf '#!/bin/sh\\numask 027\\nexec /bin/sh \"$@\"\\n' > {0} && chmod 0755 {0}".format(STRICT_SHELL))
    assert host.check_output("{0} -c umask".format(STRICT_SHELL)) == "0027"
    host.check_output("id {0} || useradd --system --no-create-home --shell /usr/sbin/nologin {0}".format(USER))
    yield {"ansible_shell_executable": STRICT_SHELL}
    host.check_output("rm -rf /srv/npufleet")


def test_engine_of_another_user_on_a_host_with_a_strict_umask(place, engines, strict):
    weights = {"path": HOME + "/models/tiny", "source": "tiny", "architecture": "qwen2"}
    options = {"home": HOME, "model": weights["path"], "user": USER, "api_key": "sk-molecule"}
    built, made = engines([place.name], options, before=[{"npufleet.ascend.model_weights": weights}], **strict)[place.name]
    assert not built["failed"], built["msg"]
    assert not made["failed"], made["msg"]
    assert made["engine"]["completion"]["text"] == "stand-in"
    users = place.root.check_output("ps -o user= -p " + ",".join(map(str, place.processes("probe")))).split()
    assert set(users) == {USER}
    folder = place.host.file(HOME + "/engines/probe")
    assert (oct(folder.mode), folder.user) == ("0o750", USER)
    for name in ("secret.env", "launch.json"):
        kept = place.host.file("{0}/{1}".format(folder.path, name))
        assert (oct(kept.mode), kept.user) == ("0o600", "root")
    # As the engine itself: HOME and its caches lie there.
    place.host.check_output("setpriv --reuid={0} --regid={0} --clear-groups mkdir -p {1}/cache/vllm".format(USER, folder.path))

    again, as_root = engines([place.name], options, dict(options, user=None, replace=True), **strict)[place.name]
    assert (again["changed"], as_root["engine"]["action"]) == (False, "replace")
    assert place.host.file(folder.path).user == "root"
    # An engine of root would trust what somebody else put there.
    assert not place.host.file(folder.path + "/cache").exists
    back, removed = engines([place.name], dict(options, replace=True), dict(options, state="absent"), **strict)[place.name]
    assert (back["engine"]["action"], removed["changed"]) == ("replace", True)
    assert place.host.check_output("find {0}/engines".format(HOME)) == HOME + "/engines"


def test_weights_that_the_user_may_not_read_are_named_before_anything_is_touched(place, engines, strict):
    place.host.check_output("rm -rf /srv/private && cp -r {0}/models/tiny-qwen2 /srv/private && chmod 0700 /srv/private".format(place.home))
    options = {"model": "/srv/private", "user": USER}
    for refused in engines([place.name], dict(options, check=True), options)[place.name]:
        assert refused["failed"]
        assert "the user {0} may not read /srv/private".format(USER) in refused["msg"]
    assert not place.host.file(place.folder("probe")).exists
    assert not place.host.file(place.unit_path("probe")).exists


def test_user_who_is_there_stays_as_he_is(place, engines, run_playbook):
    """The role makes a missing user; the shell and the home of one that logs in are none of its business."""
    place.host.check_output("id deployer || useradd --create-home --shell /bin/bash deployer")
    before = place.host.check_output("getent passwd deployer")
    variables = ["-e", "vllm_engine_name=probe", "-e", "vllm_engine_port=8100", "-e", "vllm_engine_user=deployer"]
    done = run_playbook("npufleet.ascend.deploy", "--limit", place.name, *variables)
    assert done.returncode == 0, done.stdout
    assert place.unit("probe", "User") == "deployer"
    assert place.host.check_output("getent passwd deployer") == before
