# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything came from the bundle: no packet left a host, no name was asked for, and what the bundle lacks is said before anything happens."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import subprocess

import pytest
import testinfra

EPHEMERAL = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
BUNDLE = EPHEMERAL / "bundle"
COPY = "/var/lib/npufleet/bundle"
TRAP = "/sys/class/net/trap0/statistics/tx_packets"
FIRST, SECOND, GATEWAY = "debian-a2", "debian-second", "debian-gateway"
SITE = "npufleet.ascend.site"


def left(host):
    """How many packets wanted to leave the host."""
    return int(host.file(TRAP).content_string)


def recap(text):
    """host -> changed, failed."""
    found = re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=\d+\s+failed=(\d+)", text, re.MULTILINE)
    return {name: {"changed": int(changed), "failed": int(failed)} for name, changed, failed in found}


def site(*options, prefix=()):
    """Run site.yml on the inventory of the scenario."""
    inventory = os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "inventory")
    env = dict(os.environ, ANSIBLE_NOCOLOR="true", ANSIBLE_FORCE_COLOR="false", ANSIBLE_CALLBACK_RESULT_FORMAT="json")
    argv = [*prefix, "ansible-playbook", "--inventory", inventory, SITE, *options]
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False, env=env)


@pytest.fixture(scope="module")
def names(variables):
    return [*variables["engines"]["hosts"], *variables["gateways"]["hosts"]]


def host_of(variables, name):
    return testinfra.get_host("docker://" + variables["molecule"]["hosts"][name]["ansible_host"])


def is_debian(host):
    return host.exists("apt-get")


def package_of(host):
    """One that a role wanted there."""
    return "haproxy" if host.backend.host == GATEWAY else "numactl"


def test_nothing_left_the_host_and_no_name_was_asked_for(host):
    assert left(host) == 0


def test_packages_driver_and_engine_are_there(host):
    if host.backend.host == GATEWAY:
        assert host.service("npufleet-gateway").is_running and host.exists("openssl")
        return
    for program in ("numactl", "unzip", "lspci"):
        assert host.exists(program), program
    if host.backend.host == SECOND:
        return
    assert host.exists("docker")
    if not is_debian(host):
        assert "25.5.0" in host.file("/usr/local/Ascend/driver/version.info").content_string
    assert host.file("/usr/local/Ascend/cann-8.5.0").is_directory
    assert host.check_output("curl -s http://127.0.0.1:8000/health -o /dev/null; echo done") == "done"


def test_they_came_from_the_bundle(host):
    if is_debian(host):
        policy = host.check_output("APT_CONFIG={0}/apt.conf apt-cache policy {1}".format(COPY, package_of(host)))
        assert "Installed: (none)" not in policy
        assert set(re.findall(r"(?:file|https?):\S*", policy)) == {"file:{0}/os/debian-12-{1}".format(COPY, os.uname().machine)}
    else:
        assert host.check_output("dnf -q -c {0}/dnf.conf repolist".format(COPY)).split()[-4:] == [
            "npufleet-bundle-0",
            "npufleet",
            "offline",
            "bundle",
        ]
        assert "npufleet-bundle-0" in host.check_output("dnf -q -C info --installed numactl | grep From")


def test_pip_finds_the_wheels_of_the_bundle_and_nothing_else(host):
    pip = "PIP_CONFIG_FILE={0}/pip.conf PIP_NO_INDEX=1 python3 -m pip install --quiet --target /tmp/wheels ".format(COPY)
    # Only the bundle of that host holds one.
    assert (host.run(pip + "six").rc == 0) is (host.backend.host == FIRST)
    assert host.run(pip + "requests").rc != 0
    host.run("rm -rf /tmp/wheels")
    assert left(host) == 0


def test_the_settings_of_the_host_are_its_own(host):
    if is_debian(host):
        assert "npufleet" not in host.check_output("cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null; true")
    else:
        assert "npufleet-bundle" not in host.check_output("cat /etc/yum.repos.d/* /etc/dnf/dnf.conf")


def test_a_second_run_changes_nothing_without_any_network_on_the_controller(names):
    """The namespace has no interface that is up, and Docker is a socket."""
    done = site(prefix=["unshare", "--net"])
    assert done.returncode == 0, done.stdout
    assert {name: recap(done.stdout)[name] for name in names} == {name: {"changed": 0, "failed": 0} for name in names}


def test_the_list_named_files_sizes_and_total():
    text = (EPHEMERAL / "check.log").read_text()
    assert re.search(r'"  numactl\S+ [\d.]+ KiB"', text) and re.search(r'"total: \d+ files, [\d.]+ MiB', text)
    assert re.search(r'"  haproxy_\S+ [\d.]+ MiB"', text)
    assert re.search(r'"  Ascend-hdk-910b-npu_25\.5\.0_linux-\S+\.zip [\d.]+ [KM]iB"', text)
    # Check mode fetched nothing, and said that a real run would.
    assert max(row["changed"] for row in recap(text).values()) > 0


def test_building_again_changed_nothing():
    told = recap((EPHEMERAL / "again.log").read_text())
    assert told and set(map(tuple, (row.values() for row in told.values()))) == {(0, 0)}


def test_the_manifest_says_where_everything_is_from():
    manifest = json.loads((BUNDLE / "manifest.json").read_text())
    rows = manifest["files"]
    assert all(row["size"] and len(row["sha256"]) == 64 and row["source"] and row["licence"] for row in rows.values())
    assert [name for name, row in rows.items() if row["source"] == "put there by hand"] == []
    driver = next(name for name in rows if name.startswith("packages/Ascend-hdk"))
    assert rows[driver]["source"].startswith("https://ascend-repo.obs.") and "Huawei" in rows[driver]["licence"]
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=BUNDLE, check=False).returncode == 0


@pytest.fixture()
def damaged():
    """A file of the bundle with another byte, and beside it what would remember the right sum, until the test is over."""
    path = sorted((BUNDLE / "packages").glob("Ascend-cann-toolkit*"))[0]
    name, content, memory = str(path.relative_to(BUNDLE)), path.read_bytes(), BUNDLE / ".npufleet" / "hashes.json"
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    stat = path.stat()
    memory.write_text(
        json.dumps({name: [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, hashlib.sha256(content).hexdigest()]})
    )
    yield name
    memory.unlink()
    path.write_bytes(content)


def test_a_damaged_bundle_is_refused_before_any_host_is_touched(damaged):
    done = site()
    assert done.returncode != 0
    assert "are missing or not what the manifest says: {0}".format(damaged) in done.stdout
    assert all(row["changed"] == 0 for row in recap(done.stdout).values())


def test_a_bundle_of_somebody_else_is_refused():
    other = EPHEMERAL / "other"
    subprocess.run(["openssl", "genrsa", "-out", str(other) + ".pem", "2048"], check=True, capture_output=True)
    subprocess.run(["openssl", "rsa", "-in", str(other) + ".pem", "-pubout", "-out", str(other) + ".pub"], check=True, capture_output=True)
    done = site("-e", "offline_bundle_trust={0}.pub".format(other))
    assert done.returncode != 0 and "the signature of the bundle is not valid" in done.stdout


def test_a_package_with_another_sum_than_the_published_one_is_refused():
    """Also from a bundle that is whole and signed: the stand-ins have the names of Huawei's packages."""
    done = site("-e", json.dumps({"ascend_package_checksums": {}}))
    assert done.returncode != 0
    assert re.search(
        r"toolkit 8\.5\.0 \(Ascend-cann-toolkit_8\.5\.0_linux-\S+\) with the SHA-256 \w{64}, since that in the bundle has", done.stdout
    )
    assert all(row["changed"] == 0 for row in recap(done.stdout).values())


def test_a_run_of_one_part_uses_the_bundle_too():
    done = site("--tags", "kunpeng_host", prefix=["unshare", "--net"])
    assert done.returncode == 0, done.stdout
    assert all(row["changed"] == 0 for row in recap(done.stdout).values())
    assert "host | Compare the files and name them to apt, dnf and pip" in done.stdout


def test_what_the_bundle_lacks_is_said_before_any_host_is_touched():
    done = site("-e", "cann_version=9.0.0")
    assert done.returncode != 0
    assert "toolkit 9.0.0 (Ascend-cann-toolkit_9.0.0_linux-" in done.stdout and "run bundle.yml with this inventory" in done.stdout
    assert all(row["changed"] == 0 for row in recap(done.stdout).values())


def test_a_copy_that_was_damaged_is_brought_again(host):
    name = host.backend.host
    path = host.check_output("ls {0}/os/*/{1}* | head -1".format(COPY, package_of(host)))
    host.check_output("truncate --size=-1 '{0}'".format(path))
    done = site("--limit", "localhost," + name)
    assert done.returncode == 0, done.stdout
    assert host.file(path).size == (BUNDLE / os.path.relpath(path, COPY)).stat().st_size
    assert recap(done.stdout)[name]["changed"] > 0


def test_hosts_pass_on_what_they_have(variables):
    """Both hosts of a platform lost their copy: one gets it from here, the other from that one."""
    first, second = host_of(variables, FIRST), host_of(variables, SECOND)
    before = [left(place) for place in (first, second)]
    for place in (first, second):
        place.check_output("rm -r {0}".format(COPY))
    done = site("--limit", "localhost,{0},{1}".format(FIRST, SECOND))
    assert done.returncode == 0, done.stdout
    assert re.search(r"TASK \[.*round \| Take\] \*+\s(skipping: .*\s)*changed: \[{0}\]".format(SECOND), done.stdout), done.stdout
    unpacked = re.findall(r"TASK \[.*copy \| Unpack the small files on the host\] \*+\s((?:(?:changed|ok|skipping): .*\s)+)", done.stdout)
    assert [line.split()[1] for line in "".join(unpacked).splitlines() if line.startswith("changed")] == ["[{0}]".format(FIRST)]
    for place in (first, second):
        assert not place.file("/run/npufleet/relay").exists and place.run("pgrep -x rsync").rc != 0
    assert [left(place) for place in (first, second)] == before


def test_the_trap_counts(host):
    """The last one for this host, since it makes the count wrong: a name, and an address."""
    before = left(host)
    host.run("timeout 3 getent hosts example.com")
    asked = left(host)
    host.run("timeout 2 python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 1)'")
    assert before < asked < left(host)
