# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An engine that streams: the OpenAI paths that a gateway lets through, and some that it must not, with nothing but the standard library.

Each answer has ``max_tokens`` tokens, ``--token-seconds`` apart, and each token is the name of the engine. One line of JSON goes to ``--log``
when a request arrives, and one when it ends: ``done``, or ``aborted`` where the client left. The key is that of the environment variable STANDIN_KEY.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}
LIMIT = 64 * 1024 * 1024


class Engine:
    """One engine: its name, its model, the pace of its answers, and its log."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.key = os.environ.get("STANDIN_KEY")
        self.log = open(options.log, "a", encoding="utf-8", buffering=1) if options.log else None  # noqa: SIM115 - as long as the process

    def note(self, number: int, **values: object) -> None:
        if self.log:
            self.log.write(json.dumps(dict(values, number=number, time=time.time())) + "\n")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """All requests of one connection."""
        try:
            while await self.request(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; is the connection kept?"""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _version = head.split("\r\n", 1)[0].split(" ", 2)
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head.split("\r\n")[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.number = number = getattr(self, "number", 0) + 1
        self.note(number, event="begin", method=method, path=path, bytes=len(body), authorization=headers.get("authorization"))
        if path.startswith("/v1") and self.key and headers.get("authorization") != "Bearer " + self.key:
            await self.answer(writer, 401, {"error": "Unauthorized"})
        elif (method, path) == ("GET", "/v1/models"):
            await self.answer(writer, 200, {"object": "list", "data": [{"id": self.options.model, "object": "model", "owned_by": "vllm"}]})
        elif method == "POST":
            await self.complete(reader, writer, number, path, json.loads(body or b"{}"))
        else:
            await self.answer(writer, 200, {"standin": self.options.name, "path": path})
        self.note(number, event="done")
        return headers.get("connection", "").lower() != "close"

    async def complete(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int, path: str, asked: dict) -> None:
        chat, tokens = "chat" in path, int(asked.get("max_tokens") or 16)
        common = {"id": "cmpl-{0}".format(number), "created": int(time.time()), "model": asked.get("model") or self.options.model}
        if not asked.get("stream"):
            gone = asyncio.ensure_future(reader.read(1))
            done, _rest = await asyncio.wait([gone], timeout=tokens * self.options.token_seconds)
            if done:
                self.note(number, event="aborted")
                raise ConnectionResetError
            gone.cancel()
            text = " ".join([self.options.name] * tokens)
            part = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
            kind = "chat.completion" if chat else "text_completion"
            usage = {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}
            choice = dict(part, index=0, finish_reason="length")
            await self.answer(writer, 200, dict(common, object=kind, choices=[choice], usage=usage))
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for place in range(tokens):
            part = {"delta": {"content": self.options.name + " "}} if chat else {"text": self.options.name + " "}
            choice = dict(part, index=0, finish_reason="length" if place == tokens - 1 else None)
            event = dict(common, object="chat.completion.chunk" if chat else "text_completion", choices=[choice])
            await self.send(writer, number, "data: {0}\n\n".format(json.dumps(event)))
            await asyncio.sleep(self.options.token_seconds)
        await self.send(writer, number, "data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def send(self, writer: asyncio.StreamWriter, number: int, text: str) -> None:
        """One chunk of a stream; a client that left ends it."""
        if writer.transport.is_closing():
            self.note(number, event="aborted")
            raise ConnectionResetError
        data = text.encode()
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await writer.drain()

    async def answer(self, writer: asyncio.StreamWriter, status: int, body: dict) -> None:
        data = json.dumps(body, separators=(",", ":")).encode()
        head = "HTTP/1.1 {0} {1}\r\nContent-Type: application/json\r\nContent-Length: {2}\r\n\r\n"
        writer.write(head.format(status, REASONS[status], len(data)).encode() + data)
        await writer.drain()


async def main() -> None:
    parser = argparse.ArgumentParser(description="An engine that streams.")
    parser.add_argument("--name", default="standin")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--token-seconds", type=float, default=0.05)
    parser.add_argument("--log")
    options = parser.parse_args()
    server = await asyncio.start_server(Engine(options).serve, options.host, options.port, limit=LIMIT, backlog=512)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
