#!/bin/sh
# Docker Engine for the scenarios that need containers.
#
#   scripts/docker_engine.sh ensure [--install]   an engine that answers: exit 0
#                                                 none, and starting one is not ours to do: exit 3, with the command that would enable it
#   scripts/docker_engine.sh stop                 stop the daemon that "ensure" started, and no other
#   scripts/docker_engine.sh status               0 when an engine answers
#
# "ensure" uses the engine that answers. Otherwise root starts an installed dockerd. The package is installed only on Debian and its
# relatives, as root, and only in CI (variable CI set) or with --install: nobody's laptop gets a daemon from a test run.
# The log and the pid of the daemon started here lie in .cache/docker-engine/.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
state="${NPUFLEET_DOCKER_STATE:-$here/.cache/docker-engine}"
log="$state/dockerd.log"
pid_file="$state/dockerd.pid"
# A first start loads kernel parts and builds its network; seen to take 2 s, so this is generous.
wait_seconds=60

say() { printf 'docker-engine: %s\n' "$*" >&2; }

answers() { command -v docker >/dev/null 2>&1 && timeout 20 docker info >/dev/null 2>&1; }

is_root() { [ "$(id -u)" -eq 0 ]; }

has_apt() { [ -e /etc/debian_version ] && command -v apt-get >/dev/null 2>&1; }

refuse() {
    cat >&2 <<TEXT
======================================================================
SKIPPED: no Docker Engine answers, and the container scenarios need one.
Reason:  $1
Enable:  $2
======================================================================
TEXT
    exit 3
}

install_engine() {
    if ! is_root; then
        refuse 'Docker Engine is not installed and this user is not root' 'sudo scripts/docker_engine.sh ensure --install'
    fi
    if ! has_apt; then
        refuse 'Docker Engine is not installed and this is not Debian' 'install Docker Engine (https://docs.docker.com/engine/install/) and start it'
    fi
    if [ -z "${CI:-}" ] && [ "$1" != '--install' ]; then
        refuse 'Docker Engine is not installed' 'scripts/docker_engine.sh ensure --install'
    fi
    say 'installing the package docker.io'
    mkdir -p "$state"
    if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends docker.io iptables; } >"$state/apt.log" 2>&1; then
        tail -n 20 "$state/apt.log" >&2
        say "the package could not be installed, see $state/apt.log"
        exit 1
    fi
}

start_daemon() {
    if [ -d /run/systemd/system ]; then
        say 'starting docker.service'
        systemctl start docker.service
        return
    fi
    mkdir -p "$state"
    say "starting dockerd, log $log"
    # A session of its own, so that the end of the test run does not take the daemon of the next one with it.
    setsid dockerd >"$log" 2>&1 </dev/null &
    echo "$!" >"$pid_file"
}

wait_until_it_answers() {
    waited=0
    while [ "$waited" -lt "$wait_seconds" ]; do
        if answers; then
            return 0
        fi
        if [ -s "$pid_file" ] && ! kill -0 "$(cat "$pid_file")" 2>/dev/null; then
            break
        fi
        sleep 1
        waited=$((waited + 1))
    done
    say "the daemon does not answer after ${waited} s; the end of its log:"
    tail -n 20 "$log" >&2 2>/dev/null || journalctl --no-pager -n 20 -u docker >&2 || true
    exit 1
}

# A daemon that is being stopped does not answer any more, and its pid file refuses the next one.
wait_for_leaving_daemon() {
    waited=0
    while [ -s /var/run/docker.pid ] && kill -0 "$(cat /var/run/docker.pid)" 2>/dev/null && [ "$waited" -lt 30 ]; do
        sleep 1
        waited=$((waited + 1))
    done
}

ensure() {
    if answers; then
        return
    fi
    if ! command -v dockerd >/dev/null 2>&1; then
        install_engine "${1:-}"
    elif ! is_root; then
        refuse 'dockerd is installed but does not answer this user' 'sudo scripts/docker_engine.sh ensure, or add this user to the group "docker" when it runs'
    fi
    if ! answers; then
        wait_for_leaving_daemon
        start_daemon
        wait_until_it_answers
    fi
}

is_our_daemon() {
    [ -s "$pid_file" ] && grep -qa dockerd "/proc/$(cat "$pid_file")/cmdline" 2>/dev/null
}

stop() {
    if ! is_our_daemon; then
        say 'no daemon of ours is running'
        rm -f "$pid_file"
        return
    fi
    pid=$(cat "$pid_file")
    say "stopping dockerd ($pid)"
    kill "$pid"
    waited=0
    while kill -0 "$pid" 2>/dev/null && [ "$waited" -lt 30 ]; do
        sleep 1
        waited=$((waited + 1))
    done
    rm -f "$pid_file"
}

case "${1:-}" in
    ensure)
        ensure "${2:-}"
        say "Docker Engine $(docker info --format '{{.ServerVersion}}, {{.Driver}}, cgroup v{{.CgroupVersion}}')"
        ;;
    stop) stop ;;
    status) answers ;;
    *)
        sed -n '2,/^set/{/^#/p;}' "$0" | sed 's/^# \{0,1\}//' >&2
        exit 2
        ;;
esac
