# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""The files of a supervised engine: supervisord's own settings, the program, the launcher. Pure text."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._engine_spec import EngineSpec
from ansible_collections.npufleet.ascend.plugins.module_utils._service import RuntimeAdapterError, ServiceFile

SUPERVISORD_TEMPLATE = """\
; Managed by npufleet.ascend: changes made here are replaced by the next run.
[unix_http_server]
file={folder}/supervisor.sock
chmod=0700

[supervisord]
logfile={folder}/supervisord.log
logfile_maxbytes=10MB
logfile_backups=1
pidfile={folder}/supervisord.pid
childlogdir={folder}
directory={folder}
umask=027

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisorctl]
serverurl=unix://{folder}/supervisor.sock

[include]
files={folder}/conf.d/*.conf
"""

# After a crash, workers of the engine live on and hold memory (seen with kill -9 of vLLM 0.32.0); systemd ends them with the cgroup,
# supervisor does not know them. So the launcher ends what is left of the process group that it led before, then becomes the engine.
LAUNCHER = """\
#!/bin/sh
# Managed by npufleet.ascend: ends what a crashed engine left behind, then becomes the engine.
cd "$(dirname "$0")" || exit 1
folder=$(pwd -P)

group_of() { # the process group of a /proc/PID folder (proc(5), field 5 of stat)
  read -r line < "$1/stat" || return
  set -- ${line##*) }
  echo "$3"
}

old=$(cat engine.pgid 2>/dev/null)
if [ -n "$old" ]; then
  for process in /proc/[0-9]*; do
    if [ "$(readlink "$process/cwd")" = "$folder" ] && [ "$(group_of "$process")" = "$old" ]; then kill -KILL "${process#/proc/}"; fi
  done 2>/dev/null
fi
echo $$ > engine.pgid
exec "$@"
"""

PROGRAM_TEMPLATE = """\
; Managed by npufleet.ascend: changes made here are replaced by the next run.
[program:{name}]
command={command}
directory={folder}
environment={environment}
{user}autostart=true
autorestart=true
startsecs=1
startretries=3
stopsignal=TERM
stopwaitsecs={stop_seconds}
killasgroup=true
redirect_stderr=true
stdout_logfile={folder}/engine.log
stdout_logfile_maxbytes=50MB
stdout_logfile_backups=2
"""

# supervisor's files are read by configparser: a comment begins at ; or # after a blank, inside quotes too. And before anything else
# supervisor replaces this word, whether its % is doubled or not.
SPLIT = re.compile(r"(\s)(?=[;#])|(%)(?=\(here\)s)")


def quote(word: str) -> str:
    """Quote one word of ``command``, which supervisor splits like a shell and in which it expands ``%(...)s``."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"{0}"'.format(SPLIT.sub(r'\g<0>""', escaped))


def quote_env(name: str, value: str) -> str:
    """Quote one value of ``environment``. Its lexer is shlex without POSIX rules, and all quotes around a value are taken off.

    :raises RuntimeAdapterError: supervisor has no way to write this value
    """
    mark = "'" if '"' in value else '"'
    if mark in value or value.strip("'\"") != value or SPLIT.search(value):
        raise RuntimeAdapterError(
            "supervisor cannot read the value of {0}: both kinds of quotes, a quote at an end, %(here)s, or ; or # after a blank".format(
                name
            ),
            where="api_key" if name == "VLLM_API_KEY" else "env." + name,
            remedy="Write it in another way, or use systemd (vllm_engine_runtime)",
        )
    return mark + value.replace("%", "%%") + mark


def render_program(spec: EngineSpec) -> str:
    """Return the program section. It holds the secrets, so its file has mode 0600."""
    return PROGRAM_TEMPLATE.format(
        name=spec.name,
        command=" ".join(quote(word) for word in ("/bin/sh", spec.working_directory + "/launch.sh", *spec.argv)),
        folder=spec.working_directory,
        environment=",".join("{0}={1}".format(key, quote_env(key, value)) for key, value in sorted(spec.env + spec.secret_env)),
        user="user={0}\n".format(spec.user) if spec.user else "",
        stop_seconds=spec.stop_seconds,
    )


def render_files(folder: str, spec: EngineSpec) -> t.List[ServiceFile]:
    """supervisord's own configuration in ``folder``, the engine's program (mode 0600: it holds the secrets), and its launcher."""
    return [
        ServiceFile(folder + "/supervisord.conf", SUPERVISORD_TEMPLATE.format(folder=folder), 0o644),
        ServiceFile("{0}/conf.d/{1}.conf".format(folder, spec.name), render_program(spec), 0o600),
        ServiceFile(spec.working_directory + "/launch.sh", LAUNCHER, 0o644),
    ]
