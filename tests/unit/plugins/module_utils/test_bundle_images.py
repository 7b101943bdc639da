# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_images import LISTING_SOURCE, repository_of, stages, tagged
from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Place

PLACE = Place("/work/part", "/bundle/images", "/usr/bin/python3")
PART = {"kind": "image", "folder": "images", "file": "x-aarch64.tar", "image": "quay.io:443/ascend/x:v1", "arch": "arm64"}
# Answers like skopeo: about a tag, its raw manifest list, and the raw manifest of one architecture.
SKOPEO = """#!{python}
import json, sys
image, raw = sys.argv[-1], "--raw" in sys.argv
layers = {{"layers": [{{"size": 100}}, {{"size": 23}}]}}
index = {{"manifests": [
    {{"digest": "sha256:signature"}},
    {{"digest": "sha256:amd", "platform": {{"os": "linux", "architecture": "amd64"}}}},
    {{"digest": "sha256:arm", "platform": {{"os": "linux", "architecture": "arm64"}}}},
]}}
if "gone" in image:
    sys.exit("manifest unknown")
if not raw:
    print(json.dumps({{"Digest": "sha256:list", "Architecture": sys.argv[4], "Labels": {labels}}}))
elif image == "docker://repo/x:1":
    print(json.dumps(index))
elif image == "docker://repo/x@sha256:arm" or "single" in image:
    print(json.dumps(layers))
else:
    sys.exit("unexpected " + image)
"""


@pytest.mark.parametrize(
    "image, repository, name",
    [
        ("nginx", "nginx", "nginx:latest"),
        ("nginx:1.25", "nginx", "nginx:1.25"),
        ("quay.io:443/ascend/x", "quay.io:443/ascend/x", "quay.io:443/ascend/x:latest"),
        ("quay.io:443/ascend/x:v1", "quay.io:443/ascend/x", "quay.io:443/ascend/x:v1"),
        ("quay.io/x:v1@sha256:" + "ab" * 32, "quay.io/x", "quay.io/x:v1"),
        ("quay.io/x@sha256:" + "ab" * 32, "quay.io/x", "quay.io/x:" + "ab" * 6),
    ],
)
def test_repository_and_name_of_an_image(image, repository, name):
    assert (repository_of(image), tagged(image)) == (repository, name)


def test_what_was_resolved_is_fetched_layer_by_layer_and_appears_when_whole():
    made = stages(PART, PLACE)
    commands = made.fetch.split("\n")
    assert commands[1] == (
        "skopeo --override-os linux --override-arch arm64 copy --retry-times 3 "
        'docker://quay.io:443/ascend/x@"$(cat /work/part/digest)" oci:/work/part/layers:image'
    )
    assert commands[3].endswith("oci:/work/part/layers:image docker-archive:/bundle/images/x-aarch64.tar.new:quay.io:443/ascend/x:v1")
    assert commands[4:] == ["mv /bundle/images/x-aarch64.tar.new /bundle/images/x-aarch64.tar", "rm -rf /work/part/layers"]
    assert made.finish == ""


def ask(tmp_path, image, arch="arm64", labels="None", says=None):
    program = tmp_path / "skopeo"
    program.write_text(SKOPEO.format(python=sys.executable, labels=labels).replace("sys.argv[4]", repr(says) if says else "sys.argv[4]"))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    files = [str(tmp_path / "listing"), str(tmp_path / "digest")]
    argv = [sys.executable, "-c", LISTING_SOURCE, image, image.partition(":")[0], arch, "x.tar", *files]
    env = dict(os.environ, PATH=str(tmp_path) + os.pathsep + os.environ["PATH"])
    return subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)


@pytest.mark.parametrize(
    "image, labels, licence",
    [
        ("repo/x:1", "None", "those of the software in the image"),
        ("repo/single:1", "{'org.opencontainers.image.licenses': 'MIT'}", "MIT"),
    ],
)
def test_listing_says_the_size_of_the_layers_of_one_architecture(tmp_path, image, labels, licence):
    assert ask(tmp_path, image, labels=labels).returncode == 0
    (row,) = json.loads((tmp_path / "listing").read_text())
    url = "docker://{0}@sha256:list".format(image.partition(":")[0])
    assert row == {"file": "x.tar", "size": 123, "disk": 492, "url": url, "licence": licence}
    assert (tmp_path / "digest").read_text() == "sha256:list"


@pytest.mark.parametrize(
    "image, says, message",
    [
        ("repo/gone:1", None, "ERROR: repo/gone:1 for arm64 cannot be read from its registry"),
        ("repo/x:1", "amd64", "ERROR: repo/x:1 is there for amd64 and not for arm64"),
    ],
)
def test_an_image_that_is_not_there_is_one_line(tmp_path, image, says, message):
    done = ask(tmp_path, image, says=says)
    assert done.returncode == 1 and done.stderr.strip().splitlines()[-1] == message
    assert not (tmp_path / "listing").exists()
