# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.
"""The probe of an exported engine: one short completion, as _readiness.py asks for it, in a script that the container runs itself. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.npufleet.ascend.plugins.module_utils._readiness import COMPLETION_TOKENS, PROMPT

# The address is that of the pod where the first word is empty, since Kubernetes replaces variables in commands of containers, and not in those
# of probes. A model without a chat template answers 400, and then has to complete plain text.
SCRIPT = """\
import json, os, sys, urllib.error, urllib.request
host, port, model, key_file = sys.argv[1:]
host = host or os.environ["POD_IP"]
base = "http://%s:%s/v1/" % ("[%s]" % host if ":" in host else host, port)
headers = {"Content-Type": "application/json"}
if key_file:
    headers["Authorization"] = "Bearer " + open(key_file).read().strip()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def ask(path, **body):
    body.update(model=model, max_tokens=%TOKENS%, temperature=0)
    return opener.open(urllib.request.Request(base + path, json.dumps(body).encode(), headers))
try:
    try:
        answer = ask("chat/completions", messages=[{"role": "user", "content": "%PROMPT%"}])
    except urllib.error.HTTPError as error:
        if error.code != 400:
            raise
        answer = ask("completions", prompt="%PROMPT%")
    tokens = json.load(answer)["usage"]["completion_tokens"]
except Exception as error:
    sys.exit("no completion yet: %s" % error)
sys.exit(0 if tokens > 0 else "an empty completion")
"""


def probe_command(host: str, port: int, model: str, key_file: t.Optional[str]) -> t.List[str]:
    """Return the command, which ends with 0 when one completion came back.

    :param host: address that the engine listens on; empty for that of the pod, in the variable POD_IP
    """
    script = SCRIPT.replace("%TOKENS%", str(COMPLETION_TOKENS)).replace("%PROMPT%", PROMPT)
    return ["python3", "-c", script, host, str(port), model, key_file or ""]
