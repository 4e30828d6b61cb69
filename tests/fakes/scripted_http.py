"""The HTTP of the scripted model: whole answers, streams, and every bad end of them."""

import gzip
import json
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote

from agentbench.models.interface import ApiFormat, ModelErrorKind
from tests.fakes.scripted_answers import Answer, Asked, Cut, Endless, Fail, Hang, Raw, Reset, Say
from tests.fakes.scripted_errors import error_body, error_event
from tests.fakes.scripted_openai import chat, chat_stream, output, response, response_stream
from tests.fakes.scripted_others import (
    anthropic_stop,
    anthropic_usage,
    blocks,
    candidates,
    gemini_stream,
    message,
    message_stream,
    parts,
)
from tests.fakes.scripted_reply import Chunk, Reply, reply_of


def whole(wire: ApiFormat, reply: Reply) -> dict[str, Any]:
    """The answer as one JSON object."""
    match wire:
        case ApiFormat.OPENAI_CHAT:
            return chat(reply)
        case ApiFormat.OPENAI_RESPONSES:
            return response(reply, output(reply))
        case ApiFormat.ANTHROPIC_MESSAGES:
            stop = anthropic_stop(reply)
            return message(reply, blocks(reply), stop, anthropic_usage(reply.tokens))
        case ApiFormat.GEMINI_GENERATE:
            return candidates(reply, parts(reply), last=True)


def streamed(wire: ApiFormat, reply: Reply, asked: Asked) -> Iterator[Chunk]:
    """The answer as server-sent events."""
    match wire:
        case ApiFormat.OPENAI_CHAT:
            return chat_stream(reply, asked)
        case ApiFormat.OPENAI_RESPONSES:
            return response_stream(reply)
        case ApiFormat.ANTHROPIC_MESSAGES:
            return message_stream(reply)
        case ApiFormat.GEMINI_GENERATE:
            return gemini_stream(reply)


_ENDINGS = (Cut, Hang, Reset, Endless)


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = False
    block_on_close = True

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else is shown with its traceback."""

        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def hang_up(self) -> None:
        with self._open_lock:
            for request in self._open:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024

    def __init__(self, model: Any, *args: Any) -> None:
        self.model = model
        super().__init__(*args)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def handle(self) -> None:
        with suppress(ConnectionError, TimeoutError, ValueError):
            super().handle()

    def finish(self) -> None:
        with suppress(OSError, ValueError):
            super().finish()

    def do_GET(self) -> None:
        asked = self._record()
        if asked.path.rstrip("/").endswith("/models"):
            names = self.model.models or ["scripted"]
            self._json(
                200, {"object": "list", "data": [{"id": n, "object": "model"} for n in names]}
            )
        else:
            self._json(404, error_body(None, Fail(404, message="no such path")))

    def do_POST(self) -> None:
        asked = self._record()
        asked.wire = _wire(asked.path)
        refusal = self._refusal(asked)
        if refusal is not None:
            self._fail(asked.wire, refusal)
        elif asked.path.endswith(("/count_tokens", ":countTokens")):
            self._json(200, {"input_tokens": 7, "totalTokens": 7})
        else:
            asked.answer = self.model.next_answer(asked)
            self._answer(asked, asked.answer)

    def _record(self) -> Asked:
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, unquote(path), query, headers, self._body())
        self.model.requests.append(asked)
        return asked

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _refusal(self, asked: Asked) -> Fail | None:
        if asked.wire is None:
            return Fail(404, message=f"no such path: {asked.path}")
        if _key(asked) != self.model.key:
            status = 400 if asked.wire is ApiFormat.GEMINI_GENERATE else 401
            return Fail(status, ModelErrorKind.AUTH)
        if self.model.models is not None and asked.model not in self.model.models:
            return Fail(404)
        return None

    def _answer(self, asked: Asked, answer: Answer) -> None:
        if isinstance(answer, Raw):
            self._send(answer.status, answer.body, dict(answer.headers))
        elif isinstance(answer, Fail) and not (asked.stream and answer.after_chunks is not None):
            self._fail(asked.wire, answer)
        elif asked.stream or isinstance(answer, _ENDINGS):
            self._stream(asked, answer)
        else:
            reply = reply_of(asked.model, answer)
            asked.told = reply.tokens
            self._json(200, whole(asked.wire, reply))

    def _stream(self, asked: Asked, answer: Answer) -> None:
        early = isinstance(answer, Hang | Reset) and answer.after_chunks == 0
        if not early:
            kind = "text/event-stream; charset=utf-8" if asked.stream else "application/json"
            self._head(200, {"content-type": kind, "transfer-encoding": "chunked"})
        held = answer.hold if isinstance(answer, Say) else None
        for at, chunk in enumerate(self._chunks(asked, answer)):
            if getattr(answer, "after_chunks", None) == at:
                break
            self._chunk(chunk.data)
            asked.told = chunk.told or asked.told
            if isinstance(answer, Say) and held and answer.begins_in(chunk.data):
                held.wait()
                held = None
        self._end(asked, answer)

    def _chunks(self, asked: Asked, answer: Answer) -> Iterator[Chunk]:
        if isinstance(answer, Endless):
            yield from self._endlessly()
        reply = reply_of(asked.model, answer)
        if asked.stream:
            yield from streamed(asked.wire, reply, asked)
        else:
            text = json.dumps(whole(asked.wire, reply))
            yield from (Chunk(text[at : at + 20].encode()) for at in range(0, 100, 20))

    def _endlessly(self) -> Iterator[Chunk]:
        while not self.model.stopping.is_set():
            yield Chunk(b": " + b"x" * 16384 + b"\n\n")

    def _end(self, asked: Asked, answer: Answer) -> None:
        if isinstance(answer, Hang):
            self._wait_for_the_end()
        if isinstance(answer, Reset):
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        if isinstance(answer, _ENDINGS):
            self.close_connection = True
            return
        if isinstance(answer, Fail):
            self._chunk(error_event(asked.wire, answer).data)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _wait_for_the_end(self) -> None:
        with suppress(OSError):
            self.wfile.flush()
            self.connection.recv(1)  # until the client hangs up, or `hang_up` does

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _fail(self, wire: ApiFormat | None, fail: Fail) -> None:
        retry = {} if fail.retry_after is None else {"retry-after": f"{fail.retry_after:g}"}
        if self.model.echo_key:
            fail = Fail(fail.status, fail.kind, f"you sent the key {self.model.key}, and it failed")
        self._json(fail.status, error_body(wire, fail), retry)

    def _json(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        headers = {"content-type": "application/json", **(headers or {})}
        self._send(status, json.dumps(value).encode(), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        if self.model.zipped and "gzip" in self.headers.get("accept-encoding", ""):
            body, headers = gzip.compress(body), {**headers, "content-encoding": "gzip"}
        self._head(status, {**headers, "content-length": str(len(body))})
        self.wfile.write(body)
        self.wfile.flush()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        echo = {"x-your-key": self.model.key} if self.model.echo_key else {}
        for name, value in {**headers, **echo, "x-request-id": "req_1"}.items():
            self.send_header(name, value)
        self.end_headers()


def _wire(path: str) -> ApiFormat | None:
    if path.endswith("/chat/completions"):
        return ApiFormat.OPENAI_CHAT
    if path.endswith("/responses"):
        return ApiFormat.OPENAI_RESPONSES
    if path.endswith(("/messages", "/messages/count_tokens")):
        return ApiFormat.ANTHROPIC_MESSAGES
    return ApiFormat.GEMINI_GENERATE if "/models/" in path else None


def _key(asked: Asked) -> str | None:
    bearer = asked.headers.get("authorization", "").removeprefix("Bearer ")
    in_query = parse_qs(asked.query).get("key", [None])[0]
    named = asked.headers.get("x-api-key") or asked.headers.get("x-goog-api-key")
    return bearer or named or in_query
