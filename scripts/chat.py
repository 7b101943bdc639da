# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ask an OpenAI-compatible endpoint one question and show the exchange. Usage: chat.py URL QUESTION; the key comes from OPENAI_API_KEY."""

from __future__ import annotations

import json
import os
import sys
import urllib.request


def ask(url: str, payload: dict | None = None) -> dict:
    """GET or POST JSON, around any proxy."""
    request = urllib.request.Request(
        url, data=json.dumps(payload).encode() if payload else None, headers={"Content-Type": "application/json"}
    )
    key = os.environ.get("OPENAI_API_KEY")
    if key:
        request.add_header("Authorization", "Bearer " + key)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as answer:
        return json.load(answer)


def main(url: str, question: str) -> None:
    model = ask(url + "/models")["data"][0]["id"]
    answer = ask(
        url + "/chat/completions", {"model": model, "messages": [{"role": "user", "content": question}], "max_tokens": 16, "temperature": 0}
    )
    print()
    print("you       ", question)
    print(model.ljust(10), json.dumps(answer["choices"][0]["message"]["content"], ensure_ascii=False))
    print(
        "           (a tiny model of the right architecture: the engine is real, the model knows a few sentences)"
        if model.startswith("tiny-")
        else ""
    )
    print("tokens    ", answer["usage"]["completion_tokens"])
    print("endpoint  ", url)


if __name__ == "__main__":
    main(*sys.argv[1:3])
