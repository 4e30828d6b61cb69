"""A model's server on the loopback of this machine that says the answers of a script in turn."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from agentbench.agents.model_door import Wire
from agentbench.agents.presets.preset import RehearsedAnswer
from agentbench.agents.rehearsal.answers import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Answer,
    Json,
    refusal,
    streamed,
    whole,
)

_PATHS = {
    "/chat/completions": Wire.OPENAI_CHAT,
    "/responses": Wire.OPENAI_RESPONSES,
    "/messages": Wire.ANTHROPIC_MESSAGES,
}
_ASIDE = RehearsedAnswer(say="ok")


class Prompter:
    """What is said, and how much of it was asked for."""

    def __init__(self, script: Sequence[RehearsedAnswer], *, refuses: bool = False) -> None:
        """Keep the script; with `refuses`, every key is wrong."""
        self.refuses = refuses
        self.answered = 0
        self.workspace = "/workspace"  # what `{workspace}` in the script stands for
        self._script = tuple(script)
        self._uses_tools = any(line.tool for line in script)
        self._line = 0
        self._lock = Lock()

    @property
    def input_tokens(self) -> int:
        """The tokens that it said it was sent."""
        return self.answered * INPUT_TOKENS

    @property
    def output_tokens(self) -> int:
        """The tokens that it said it sent."""
        return self.answered * OUTPUT_TOKENS

    def answer(self, model: str, *, with_tools: bool) -> Answer:
        """The next line of the script; its last one again, once it is over.

        A request that offers no tools, for a title or a summary, gets two letters.
        """
        with self._lock:
            self.answered += 1
            line = _ASIDE
            if with_tools or not self._uses_tools:
                line = self._script[min(self._line, len(self._script) - 1)]
                self._line += 1
            return Answer(
                number=self.answered,
                model=model,
                tool=line.tool,
                arguments=_filled(line.arguments, self.workspace),
                say=line.say or "",
            )


def _filled(arguments: Json, workspace: str) -> Json:
    return {
        name: value.replace("{workspace}", workspace) if isinstance(value, str) else value
        for name, value in arguments.items()
    }


@contextmanager
def prompting(prompter: Prompter) -> Iterator[str]:
    """Serve on a port of the loopback's; yields the base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, prompter))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, prompter: Prompter, *args: object) -> None:
        self._prompter = prompter
        super().__init__(*args)  # type: ignore[arg-type]  # whatever the server hands over

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer by the script."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send(200, {"input_tokens": INPUT_TOKENS})
            return
        wire = _wire_of(path)
        if wire is None:
            self._send(404, {"error": {"message": f"no such path: {path}"}})
        elif self._prompter.refuses:
            self._send(401, refusal(wire))
        else:
            self._say(wire, path, body)

    def _say(self, wire: Wire, path: str, body: Json) -> None:
        model = str(body.get("model") or path.rpartition("/")[2].partition(":")[0])
        answer = self._prompter.answer(model, with_tools=bool(body.get("tools")))
        if body.get("stream") or ":stream" in path:
            self._send_bytes(200, "text/event-stream", streamed(wire, answer))
        else:
            self._send(200, whole(wire, answer))

    def _send(self, status: int, body: Json) -> None:
        self._send_bytes(status, "application/json", json.dumps(body).encode())

    def _send_bytes(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _wire_of(path: str) -> Wire | None:
    if path.endswith(("generateContent", "GenerateContent")):
        return Wire.GEMINI_GENERATE
    return next((wire for end, wire in _PATHS.items() if path.endswith(end)), None)
