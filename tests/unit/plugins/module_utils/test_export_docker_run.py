# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import subprocess

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_docker_render import docker_command
from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import build_spec
from ansible_collections.npufleet.ascend.plugins.module_utils._export_docker_run import run_script, run_words
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.docker_fakes import IMAGE
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.engine_fakes import params
from ansible_collections.npufleet.ascend.tests.unit.plugins.module_utils.export_fakes import ODD, document, npu, raw

DOCKER = '#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done > "$OUT"\n'


def test_the_words_are_those_that_the_module_returns():
    options = params(runtime="docker", venv=None, container={"image": IMAGE, "network": "fleet"}, env={"A": ODD})
    assert docker_command(build_spec(options)) == run_words(document(raw(env={"A": ODD}, container={"network": "fleet"})))


@pytest.mark.parametrize("network", ["host", "fleet"])
@pytest.mark.parametrize("entrypoint", [None, [], ["/bin/a", "b c"]])
def test_a_shell_reads_the_script_as_the_same_words(tmp_path, entrypoint, network):
    """The text goes through a real shell, with a docker that writes down what it is given."""
    given = npu(
        home=str(tmp_path / "home"),
        env={"A": ODD, "B": 'it\'s "quoted" \\ # no comment'},
        container={"entrypoint": entrypoint, "network": network, "docker_host": "unix:///run/podman/podman.sock"},
    )
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    script = tmp_path / "docker-run.sh"
    script.write_text(run_script([document(given)]))
    env = dict(os.environ, PATH="{0}:{1}".format(tmp_path, os.environ["PATH"]), OUT=str(tmp_path / "out"))
    done = subprocess.run(
        ["/bin/sh", str(script)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False
    )
    assert (done.returncode, (tmp_path / "out").exists()) == (1, False)
    assert "The key of the clients belongs into this file, mode 0600: " + given["mounts"][-1]["source"] in done.stderr
    assert (tmp_path / "home/engines/demo/work").stat().st_mode & 0o777 == 0o700
    (tmp_path / "home/engines/demo/secret.key").write_text("k")
    subprocess.run(["/bin/sh", str(script)], env=env, check=True)
    assert (tmp_path / "out").read_text().split("\0")[:-1] == run_words(document(given))[1:]


def test_several_engines_are_one_script():
    text = run_script([document(npu()), document(raw(name="b"))])
    assert text.startswith("#!/bin/sh\n")
    assert [line for line in text.splitlines() if line.startswith("# Engine")] == ["# Engine demo", "# Engine b"]
    assert text.count("docker run --detach \\\n") == 2
    assert text.count("secret.key || {") == 1
    assert json.dumps(raw(name="b")["work"]).strip('"') in text
