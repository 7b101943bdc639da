# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A container engine in memory, with the low-level client of the Docker SDK in front of it."""

from __future__ import annotations

import typing as t

IMAGE = "quay.io/ascend/vllm-ascend:v0.23.0.post1"
ID = "sha256:" + "a" * 64
OTHER_ID = "sha256:" + "b" * 64


class ApiError(Exception):
    """As docker.errors.APIError: a status and the engine's own words."""

    def __init__(self, status: int, explanation: str) -> None:
        super().__init__("{0} Error: {1}".format(status, explanation))
        self.status_code = status
        self.explanation = explanation


class FakeDocker:
    """The calls that the adapter makes, as SDK 7 names them. ``refuse`` maps a method to what it raises."""

    def __init__(self, *images: str) -> None:
        self.images: t.Dict[str, str] = dict.fromkeys(images or (IMAGE,), ID)
        self.containers: t.Dict[str, t.Dict[str, t.Any]] = {}
        self.networks: t.Set[str] = set()
        self.runtimes: t.Dict[str, t.Any] = {"runc": {}}
        self.archives: t.Dict[bytes, t.Tuple[str, str]] = {}
        self.refuse: t.Dict[str, Exception] = {}
        self.log = b""
        self.answers: t.Dict[str, t.Tuple[int, bytes, bytes]] = {}
        self.calls: t.List[t.Tuple[t.Any, ...]] = []
        self.timeout = 60
        self.timeouts: t.List[int] = []
        self.next_pid = 41

    def _call(self, method: str, *args: t.Any) -> None:
        self.calls.append((method, *args))
        if method in self.refuse:
            raise self.refuse[method]

    def did(self, *methods: str) -> t.List[t.Tuple[t.Any, ...]]:
        return [call for call in self.calls if call[0] in methods]

    def _container(self, name: str) -> t.Dict[str, t.Any]:
        for container in self.containers.values():
            if name in (container["Name"], container["Id"]):
                return container
        raise ApiError(404, "No such container: " + name)

    def inspect_image(self, reference: str) -> t.Dict[str, t.Any]:
        self._call("inspect_image", reference)
        if reference not in self.images:
            raise ApiError(404, "No such image: " + reference)
        return {"Id": self.images[reference]}

    def inspect_network(self, name: str) -> t.Dict[str, t.Any]:
        if name not in self.networks:
            raise ApiError(404, "network {0} not found".format(name))
        return {"Name": name}

    def info(self) -> t.Dict[str, t.Any]:
        return {"Runtimes": self.runtimes}

    def load_image(self, archive: t.Any) -> t.Iterator[t.Dict[str, str]]:
        self._call("load_image")
        self.timeouts.append(self.timeout)
        name, error = self.archives[archive.read()]
        if error:
            return iter([{"stream": "Loading"}, {"error": error}])
        self.images[name] = ID
        return iter([{"stream": "Loaded image: " + name}])

    def inspect_container(self, name: str) -> t.Dict[str, t.Any]:
        self._call("inspect_container", name)
        return self._container(name)

    def create_container_from_config(self, body: t.Dict[str, t.Any], name: t.Optional[str] = None) -> t.Dict[str, t.Any]:
        """Without a name it is one that asks an image for its options."""
        if name is None:
            self._call("probe", body)
            name = "probe"
        else:
            self._call("create", name)
        assert name not in self.containers
        config = {"Image": body["Image"], "Labels": body["Labels"]}
        state = {"Status": "created", "Running": False, "Restarting": False, "Pid": 0, "ExitCode": 0, "Error": ""}
        key = "id-{0}".format(len(self.calls))
        found = {
            "Id": key,
            "Name": name,
            "Image": self.images[body["Image"]],
            "Config": config,
            "HostConfig": body["HostConfig"],
            "Cmd": body["Cmd"],
        }
        self.containers[name] = dict(found, State=state)
        return {"Id": key}

    def rename(self, key: str, name: str) -> None:
        self._call("rename", key, name)
        container = self._container(key)
        self.containers[name] = self.containers.pop(container["Name"])
        container["Name"] = name

    def start(self, name: str) -> None:
        self._call("start", name)
        self.next_pid += 0 if self._container(name)["Name"] == "probe" else 1
        self._container(name)["State"].update(Status="running", Running=True, Pid=self.next_pid)

    def stop(self, name: str, timeout: int) -> None:
        self._call("stop", name, timeout)
        self._container(name)["State"].update(Status="exited", Running=False, Restarting=False, Pid=0)

    def remove_container(self, name: str, v: bool, force: bool) -> None:
        self._call("remove", name)
        del self.containers[self._container(name)["Name"]]

    def update_container(self, name: str, restart_policy: t.Dict[str, t.Any]) -> None:
        self._call("update", name)
        self._container(name)["HostConfig"]["RestartPolicy"] = restart_policy

    def wait(self, name: str, timeout: float) -> t.Dict[str, int]:
        self._call("wait", name, timeout)
        return {"StatusCode": self._answer(name)[0]}

    def _answer(self, name: str) -> t.Tuple[int, bytes, bytes]:
        return self.answers.get(self._container(name)["Cmd"][3], (0, b"", b""))

    def logs(self, name: str, **options: t.Any) -> bytes:
        self._call("logs", name, options)
        found = self._container(name)
        if found["Name"] == "probe":
            return self._answer(name)[1 if options["stdout"] else 2]
        return self.log
