# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Container images for any architecture, by skopeo, as archives that `docker load` reads. Pure.

The layers go into an OCI layout first, which keeps those that are complete, so an interrupted download goes on with the next layer.
"""

from __future__ import annotations

from ansible_collections.npufleet.ascend.plugins.module_utils._bundle_stages import Mapping, Place, Stages, Tool, lines, python, words

TOOLS = (Tool("skopeo", "skopeo", "skopeo"),)

# Asks for the manifest of one architecture, since skopeo before 1.11 tells no sizes. The sum is that of the compressed layers; the archive
# holds them unpacked. Arguments: image, its repository, architecture, file, listing, file for the digest.
LISTING_SOURCE = r"""
import json, subprocess, sys

image, repository, arch, name, listing, digest = sys.argv[1:]
target = ["skopeo", "--override-os", "linux", "--override-arch", arch, "inspect"]

def ask(*words):
    return json.loads(subprocess.run([*target, *words], stdout=subprocess.PIPE, check=True).stdout)

try:
    found = ask("docker://" + image)
    manifest = ask("--raw", "docker://" + image)
    rows = [(row["digest"], row.get("platform") or {}) for row in manifest.get("manifests", [])]
    fits = [name for name, platform in rows if (platform.get("os"), platform.get("architecture")) == ("linux", arch)]
    if fits:
        manifest = ask("--raw", "docker://%s@%s" % (repository, fits[0]))
except subprocess.CalledProcessError:
    sys.exit("ERROR: %s for %s cannot be read from its registry" % (image, arch))
if found.get("Architecture") != arch:
    sys.exit("ERROR: %s is there for %s and not for %s" % (image, found.get("Architecture"), arch))
size = sum(layer["size"] for layer in manifest.get("layers", []))
row = {
    "file": name,
    "size": size or None,
    "disk": 4 * size,
    "url": "docker://%s@%s" % (repository, found["Digest"]),
    "licence": (found.get("Labels") or {}).get("org.opencontainers.image.licenses") or "those of the software in the image",
}
json.dump([row], open(listing, "w"), indent=1)
open(digest, "w").write(found["Digest"])
"""


def stages(part: Mapping, place: Place) -> Stages:
    """Return the commands for a part of kind image."""
    skopeo = words("skopeo", "--override-os", "linux", "--override-arch", part["arch"])
    image, digest, layers = part["image"], place.work + "/digest", place.work + "/layers"
    archive = "{0}/{1}".format(place.target, part["file"])
    layout = words("oci:{0}:image".format(layers))
    # By digest, so that what is fetched is what was resolved.
    source = '{0}"$(cat {1})"'.format(words("docker://" + repository_of(image) + "@"), words(digest))
    return Stages(
        resolve=lines(
            words("mkdir", "-p", place.work),
            python(place, LISTING_SOURCE, image, repository_of(image), part["arch"], part["file"], place.listing, digest),
        ),
        fetch=lines(
            words("mkdir", "-p", place.target),
            "{0} copy --retry-times 3 {1} {2}".format(skopeo, source, layout),
            words("rm", "-f", archive + ".new"),
            "{0} copy {1} {2}".format(skopeo, layout, words("docker-archive:{0}.new:{1}".format(archive, tagged(image)))),
            words("mv", archive + ".new", archive),
            words("rm", "-rf", layers),
        ),
        finish="",
    )


def repository_of(image: str) -> str:
    """Return an image reference without tag and digest."""
    name = image.partition("@")[0]
    head, sign, tail = name.rpartition(":")
    return head if sign and "/" not in tail else name


def tagged(image: str) -> str:
    """Return the name and tag under which `docker load` shall file the image; an archive cannot hold a digest as name."""
    name = image.partition("@")[0]
    return name if name != repository_of(image) else name + ":" + (image.partition("@sha256:")[2][:12] or "latest")
