# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: vllm_export
author: npufleet.ascend maintainers (@npufleet)
version_added: 0.1.0
short_description: Write an engine as docker run, Compose file or Kubernetes manifests
description:
  - Renders what RV(npufleet.ascend.vllm_engine#module:engine.container) says, so that an engine can be run without Ansible. It changes nothing
    and writes no secret.
  - C(docs/export.md) says what each format carries over and what not.
options:
  _input:
    description: RV(npufleet.ascend.vllm_engine#module:engine.container) of one engine, or a list of them.
    type: raw
    required: true
  format:
    description: V(docker-run) is a shell script, V(compose) a file for Docker Compose, V(kubernetes) a Deployment and a Service for each engine.
    type: str
    choices: [docker-run, compose, kubernetes]
    required: true
  soc:
    description:
      - With V(kubernetes), the generation of the NPUs, V(a2), V(a3), V(310p) or V(a5), from which the name of the resource follows.
      - Needed for NPUs, unless O(resource) is given.
    type: str
  resource:
    description: With V(kubernetes), the name under which the device plugin offers NPUs, where it is another than the Ascend device plugin's.
    type: str
  node:
    description: With V(kubernetes), the label C(kubernetes.io/hostname) of the node. Needed for members of a group.
    type: str
  namespace:
    description: With V(kubernetes), the namespace; by default that of C(kubectl).
    type: str
  key_secret:
    description: With V(kubernetes), the name of the Secret that holds the key of the clients as C(api-key). By default C(npufleet-engine-NAME-key).
    type: str
  runtime_class:
    description: With V(kubernetes), C(runtimeClassName); by default C(oci_runtime) of the container, if it has one.
    type: str
  start_seconds:
    description: With V(kubernetes), seconds from the start of the container until the engine must have answered.
    type: int
    default: 3600
seealso:
  - module: npufleet.ascend.vllm_engine
"""

EXAMPLES = r"""
- name: Ask what the container would be, and change nothing
  npufleet.ascend.vllm_engine:
    name: q
    accelerator: ascend
    runtime: docker
    model: /srv/models/q
    container:
      image: quay.io/ascend/vllm-ascend:v0.23.0.post1
      devices: [/dev/davinci0]
  check_mode: true
  register: planned

- name: Show the Compose file
  ansible.builtin.debug:
    msg: "{{ planned.engine.container | npufleet.ascend.vllm_export('compose') }}"

- name: Write the manifests for Kubernetes
  ansible.builtin.copy:
    content: "{{ planned.engine.container | npufleet.ascend.vllm_export('kubernetes', soc='a2', node='npu-01', namespace='llm') }}"
    dest: kubernetes.yml
    mode: "0644"
  delegate_to: localhost
"""

RETURN = r"""
_value:
  description: The text of the file, which begins with a comment that says what must be there first.
  type: str
"""

import re
import typing as t

import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError
from ansible_collections.npufleet.ascend.plugins.module_utils._export_compose import compose_document, compose_head
from ansible_collections.npufleet.ascend.plugins.module_utils._export_docker_run import run_script
from ansible_collections.npufleet.ascend.plugins.module_utils._export_document import Document, ExportError, plain_text, read_documents
from ansible_collections.npufleet.ascend.plugins.module_utils._export_kubernetes import manifests, manifests_head
from ansible_collections.npufleet.ascend.plugins.module_utils._export_kubernetes_pod import Cluster
from ansible_collections.npufleet.ascend.plugins.module_utils._export_npu_table import RESOURCES

# Texts that every version of YAML reads as texts: 1e3 and 0o7 are numbers in YAML 1.2, y is a boolean in YAML 1.1.
PLAIN_TEXT = re.compile(r"[A-Za-z/_][\w./:@-]+\Z", re.ASCII)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, and quoted wherever a reader might see something else; lists indented."""

    def ignore_aliases(self, data: t.Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> t.Any:
        return super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None if PLAIN_TEXT.match(value) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _yaml(head: t.Iterable[str], documents: t.Sequence[t.Any]) -> str:
    comment = "".join("# {0}\n".format(line) for line in head)
    parts = [yaml.dump(one, Dumper=_Dumper, sort_keys=False, width=1 << 20, allow_unicode=True) for one in documents]
    return comment + "---\n" + "---\n".join(parts)


def _resource(soc: t.Optional[str], resource: t.Optional[str]) -> t.Optional[str]:
    if resource or not soc:
        return resource
    if str(soc).lower() not in RESOURCES:
        raise ExportError(
            "no resource of Kubernetes is known for NPUs of the generation {0}".format(soc),
            where="soc",
            remedy="Use one of {0}, or give resource, the name that the device plugin of the cluster uses".format(
                ", ".join(sorted(RESOURCES))
            ),
        )
    return RESOURCES[str(soc).lower()].name


def _export(documents: t.List[Document], format: str, cluster: Cluster) -> str:
    if format == "docker-run":
        return run_script(documents)
    if format == "compose":
        return _yaml(compose_head(documents), [compose_document(documents)])
    if format == "kubernetes":
        objects = manifests(documents, cluster)
        return _yaml(manifests_head(documents, cluster), objects)
    raise ExportError("there is no format {0}".format(format), where="format", remedy="Use docker-run, compose or kubernetes")


def _plain(value: t.Optional[str]) -> t.Optional[str]:
    """None where it is empty."""
    return plain_text(value) if value else None


def vllm_export(
    containers: t.Any,
    format: str,
    soc: t.Optional[str] = None,
    resource: t.Optional[str] = None,
    node: t.Optional[str] = None,
    namespace: t.Optional[str] = None,
    key_secret: t.Optional[str] = None,
    runtime_class: t.Optional[str] = None,
    start_seconds: int = 3600,
) -> str:
    """Return the text of the file."""
    try:
        cluster = Cluster(
            resource=_plain(_resource(soc, resource)),
            node=_plain(node),
            namespace=_plain(namespace),
            secret=_plain(key_secret),
            runtime_class=_plain(runtime_class),
            start_seconds=int(start_seconds),
        )
        return _export(read_documents(containers), format, cluster)
    except NpufleetError as exc:
        raise AnsibleFilterError("vllm_export: {0}".format(exc)) from exc


class FilterModule:
    """The filter vllm_export."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"vllm_export": vllm_export}
