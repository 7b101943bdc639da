#!/usr/bin/python
# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: container_engine
short_description: Configure Docker, containerd or Podman, keep what the site configured, restart only when it has to be
version_added: 0.1.0
author:
  - npufleet.ascend maintainers (@npufleet)
description:
  - Merges settings into the configuration of a container engine that is installed, lets the engine run with them, starts it where it does
    not run, and enables it.
  - "Docker: C(daemon.json) is merged key by key; its other keys, their order and the style of the file stay. containerd: a drop-in where
    imported files are merged (2.0 and later), else a block at the end of C(config.toml). Podman: a file of its own in C(containers.conf.d)."
  - What the running engine lacks is found by C(docker info), by the times of file and daemon, and by a record of what it has read. A reload
    is used where it is enough, and nothing is done where nothing lacks.
  - While containers run, Docker is only restarted with consent (O(restart)), unless it runs with live-restore.
  - The new file is checked by the engine before it replaces the old one (dockerd 23.0 and later, containerd). Where a restart fails, the
    old file is put back.
extends_documentation_fragment:
  - npufleet.ascend.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  engine:
    description: Which engine. Docker Engine and containerd run as units of systemd.
    type: str
    choices: [docker, containerd, podman]
    default: docker
  state:
    description:
      - V(present) configures and starts the engine.
      - V(absent) takes back what this module changed, the default runtime of the site with it. Values that somebody else changed since
        stay. The engine itself stays, and runs on.
    type: str
    choices: [present, absent]
    default: present
  runtimes:
    description:
      - OCI runtimes by their names. Each is a mapping with the absolute C(path) of its program and, for Docker, a list C(args); or the path alone.
      - Runtimes that are there already stay.
    type: dict
    default: {}
  default_runtime:
    description:
      - Runtime of containers that ask for none.
      - Without it that of the site is kept. It is recorded at the first call, so one that the installer of the Ascend Docker Runtime
        overwrote afterwards is put back. containerd has no such option here.
    type: str
  daemon_options:
    description:
      - Settings of C(daemon.json), Docker only. Mappings are merged, members are added to lists such as C(registry-mirrors) and
        C(insecure-registries), and options in lists such as C(exec-opts) are replaced by their names.
      - The options of another log driver are replaced with it. A null leaves its setting alone.
    type: dict
    default: {}
  daemon_defaults:
    description:
      - The same, for settings of which the site says nothing, neither in C(daemon.json) nor on the command line of dockerd.
      - Options of a log driver are only set for that log driver.
    type: dict
    default: {}
  restart:
    description:
      - May Docker be restarted while containers run, which ends them?
      - Without it the task stops and names the containers. V(true) restarts. V(false) writes the file, goes on and returns what waits for
        a restart.
      - It is also the consent to remove a runtime that running containers use.
    type: bool
  config_path:
    description: >-
      File of the engine. By default C(/etc/docker/daemon.json), or what dockerd was started with; C(/etc/containerd/config.toml);
      C(/etc/containers/containers.conf.d/npufleet.conf).
    type: path
  record_folder:
    description: Folder in which it is recorded what was changed.
    type: path
    default: /var/lib/npufleet/container_engine
  wait_timeout:
    description: Seconds that a start or restart of the engine may take.
    type: int
    default: 120
notes:
  - The file, and its folder, have to be root's, no links, and writable by root alone. The installer of the Ascend Docker Runtime
    asks for the same.
  - Docker's version is compared with what the Ascend Docker Runtime supports where one of O(runtimes) is that one.
seealso:
  - module: npufleet.ascend.npu_facts
"""

EXAMPLES = r"""
- name: Let Docker know the Ascend Docker Runtime, limit the logs where the site has no limit
  npufleet.ascend.container_engine:
    runtimes:
      ascend:
        path: /usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime
    daemon_defaults:
      log-driver: json-file
      log-opts:
        max-size: 100m
        max-file: 3

- name: Use a registry of the site, restart Docker although containers run
  npufleet.ascend.container_engine:
    daemon_options:
      registry-mirrors: ["https://mirror.example.com"]
      insecure-registries: ["registry.example.com:5000"]
      data-root: /data/docker
    restart: true

- name: Let Podman know another runtime
  npufleet.ascend.container_engine:
    engine: podman
    runtimes:
      crun: /usr/bin/crun

- name: Take everything back
  npufleet.ascend.container_engine:
    state: absent
"""

RETURN = r"""
engine:
  description: The engine after this task. In check mode, what it would be.
  returned: always
  type: dict
  contains:
    name:
      description: Which engine.
      type: str
    installed:
      description: Is it there? In check mode, one that is not is no failure.
      type: bool
    missing:
      description: Why it is not there.
      type: str
    version:
      description: Its version.
      type: str
    running:
      description: Does it answer? In check mode, as it is now.
      type: bool
    config_path:
      description: The file that is merged or written.
      type: str
    runtimes:
      description: Names of the runtimes in the configuration.
      type: list
      elements: str
    missing_programs:
      description: Those of O(runtimes) whose programs are not there, which is only no failure in check mode.
      type: list
      elements: str
    default_runtime:
      description: Default runtime in the configuration; null where it names none.
      type: str
    site_default_runtime:
      description: Default runtime of the site; null where it named none.
      type: str
    recorded:
      description: Is there a record of the site's settings?
      type: bool
    differs:
      description: Did the task change anything, or would it? The same as C(changed), for tasks that report that otherwise.
      type: bool
    action:
      description: What the engine had to do, one of V(none), V(start), V(reload) and V(restart).
      type: str
    due:
      description: Settings that the running engine lacked before the task.
      type: list
      elements: str
    pending:
      description: Settings that wait for a restart, with O(restart=false).
      type: list
      elements: str
    needs_consent:
      description: In check mode, would the task stop without O(restart)?
      type: bool
    consent_reason:
      description: What the consent would be for, with the names of the containers.
      type: str
    containers:
      description: Running containers that are, or would be, concerned.
      type: list
      elements: str
    os_id:
      description: C(ID) of os-release.
      type: str
    os_like:
      description: C(ID_LIKE) of os-release.
      type: list
      elements: str
    os_version:
      description: C(VERSION_ID) of os-release.
      type: str
    package_tool:
      description: V(apt-get), V(dnf) or V(yum), by what is really there; empty where there is none.
      type: str
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.npufleet.ascend.plugins.module_utils._clock import Clock
from ansible_collections.npufleet.ascend.plugins.module_utils._command import run
from ansible_collections.npufleet.ascend.plugins.module_utils._container_adapter import Host
from ansible_collections.npufleet.ascend.plugins.module_utils._container_task import ContainerTask
from ansible_collections.npufleet.ascend.plugins.module_utils._errors import NpufleetError, refused_by_host


def argument_spec() -> dict:
    return {
        "engine": {"type": "str", "choices": ["docker", "containerd", "podman"], "default": "docker"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "runtimes": {"type": "dict", "default": {}},
        "default_runtime": {"type": "str"},
        "daemon_options": {"type": "dict", "default": {}},
        "daemon_defaults": {"type": "dict", "default": {}},
        "restart": {"type": "bool"},
        "config_path": {"type": "path"},
        "record_folder": {"type": "path", "default": "/var/lib/npufleet/container_engine"},
        "wait_timeout": {"type": "int", "default": 120},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        result = ContainerTask(module.params, Host(run, Clock(time.time, time.sleep))).execute(module.check_mode)
    except NpufleetError as exc:
        module.fail_json(msg=str(exc))
    except OSError as exc:
        module.fail_json(msg=str(refused_by_host(exc)))
    for warning in result.pop("warnings"):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
