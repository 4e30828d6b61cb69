"""A dry run of a client: a tiny task, and a model server that gives scripted answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import assert_never

from agentbench.agents.preset import ScriptedReply
from agentbench.models.formats.registry import route_of
from agentbench.models.interface import ApiFormat, ModelErrorKind

JsonMapping = Mapping[str, object]

INPUT_TOKENS = 100
OUTPUT_TOKENS = 10
_TOTAL = INPUT_TOKENS + OUTPUT_TOKENS
_CHAT_USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": _TOTAL,
}
_TASK_FILES = {
    "task.toml": """\
schema_version = 1
id = "dry-run"
title = "add() subtracts"

[repo]
path = "repo"

[tests]
command = "python -m pytest"
timeout_s = 60
fail_to_pass = ["test_calc.py::test_two_numbers_are_added"]

[agent]
timeout_s = 300
max_steps = 20
""",
    "instruction.md": "`add` in calc.py subtracts. It should add.\n",
    "repo/calc.py": "def add(a, b):\n    return a - b\n",
    "tests.patch": """\
diff --git a/test_calc.py b/test_calc.py
new file mode 100644
--- /dev/null
+++ b/test_calc.py
@@ -0,0 +1,5 @@
+from calc import add
+
+
+def test_two_numbers_are_added():
+    assert add(2, 3) == 5
""",
    "solution.patch": """\
diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
""",
}
_SHORT_ANSWER = ScriptedReply(say="ok")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """A tool call or a text."""

    number: int  # for unique ids
    model: str
    tool: str | None = None
    arguments: JsonMapping
    say: str = ""

    @property
    def written(self) -> str:
        """The arguments as JSON."""
        return json.dumps(self.arguments)

    @property
    def chat_finish_reason(self) -> str:
        """Why an answer ends in the format of chat completions."""
        return "stop" if self.tool is None else "tool_calls"


def answer_body(api_format: ApiFormat, answer: ScriptedAnswer) -> JsonMapping:
    """The body of an answer that is not streamed."""
    match api_format:
        case ApiFormat.OPENAI_CHAT:
            reason = answer.chat_finish_reason
            choice = {"index": 0, "message": _chat(answer), "finish_reason": reason}
            return {**_chat_head(answer, ""), "choices": [choice], "usage": _CHAT_USAGE}
        case ApiFormat.OPENAI_RESPONSES:
            return _response(answer)
        case ApiFormat.ANTHROPIC_MESSAGES:
            return _message(answer)
        case ApiFormat.GEMINI_GENERATE:
            return _candidates(answer)
        case _:
            assert_never(api_format)


def answer_stream(api_format: ApiFormat, answer: ScriptedAnswer) -> bytes:
    """An answer as a stream of server-sent events."""
    match api_format:
        case ApiFormat.OPENAI_CHAT:
            return b"".join([*map(_data, _chat_chunks(answer)), b"data: [DONE]\n\n"])
        case ApiFormat.OPENAI_RESPONSES:
            return b"".join(map(_event, _response_events(answer)))
        case ApiFormat.ANTHROPIC_MESSAGES:
            return b"".join(map(_event, _message_events(answer)))
        case ApiFormat.GEMINI_GENERATE:
            return _data(_candidates(answer))
        case _:
            assert_never(api_format)


def _data(body: JsonMapping) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()


def _event(body: JsonMapping) -> bytes:
    return f"event: {body['type']}\n".encode() + _data(body)


def _chat_head(answer: ScriptedAnswer, suffix: str) -> dict[str, object]:
    head = {"id": f"chatcmpl-{answer.number}", "object": f"chat.completion{suffix}"}
    return {**head, "created": 1, "model": answer.model}


def _chat(answer: ScriptedAnswer) -> dict[str, object]:
    if answer.tool is None:
        return {"role": "assistant", "content": answer.say}
    function = {"name": answer.tool, "arguments": answer.written}
    call = {"id": f"call_{answer.number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _chat_chunks(answer: ScriptedAnswer) -> Iterator[JsonMapping]:
    head = _chat_head(answer, ".chunk")
    delta = _chat(answer)
    calls = delta.get("tool_calls")
    if isinstance(calls, list):
        delta["tool_calls"] = [{"index": 0, **call} for call in calls]
    for part, reason in ((delta, None), ({}, answer.chat_finish_reason)):
        yield {**head, "choices": [{"index": 0, "delta": part, "finish_reason": reason}]}
    yield {**head, "choices": [], "usage": _CHAT_USAGE}


def _response_item(answer: ScriptedAnswer) -> dict[str, object]:
    if answer.tool is None:
        text = {"type": "output_text", "text": answer.say, "annotations": []}
        kind = {"type": "message", "id": f"msg_{answer.number}", "role": "assistant"}
        return {**kind, "status": "completed", "content": [text]}
    return {
        "type": "function_call",
        "id": f"fc_{answer.number}",
        "call_id": f"call_{answer.number}",
        "name": answer.tool,
        "arguments": answer.written,
        "status": "completed",
    }


def _response(answer: ScriptedAnswer) -> dict[str, object]:
    usage = {
        "input_tokens": INPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": _TOTAL,
    }
    head = {"id": f"resp_{answer.number}", "object": "response", "created_at": 1}
    body = {"model": answer.model, "output": [_response_item(answer)], "usage": usage}
    return {**head, "status": "completed", **body}


def _response_events(answer: ScriptedAnswer) -> Iterator[JsonMapping]:
    done, item = _response(answer), _response_item(answer)
    started = {**done, "status": "in_progress", "output": [], "usage": None}
    added = {**item, "status": "in_progress"}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.output_item.added", "output_index": 0, "item": added}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": done}


def _message_block(answer: ScriptedAnswer, *, begun: bool = False) -> JsonMapping:
    if answer.tool is None:
        return {"type": "text", "text": "" if begun else answer.say}
    name = {"type": "tool_use", "id": f"toolu_{answer.number}", "name": answer.tool}
    return {**name, "input": {} if begun else answer.arguments}


def _message(answer: ScriptedAnswer) -> dict[str, object]:
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
    return {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [_message_block(answer)],
        "stop_reason": "end_turn" if answer.tool is None else "tool_use",
        "stop_sequence": None,
        "usage": usage,
    }


def _message_events(answer: ScriptedAnswer) -> Iterator[JsonMapping]:
    done = _message(answer)
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": 1}
    begun = {**done, "content": [], "stop_reason": None, "usage": usage}
    delta: JsonMapping = {"type": "text_delta", "text": answer.say}
    if answer.tool is not None:
        delta = {"type": "input_json_delta", "partial_json": answer.written}
    end = {"stop_reason": done["stop_reason"], "stop_sequence": None}
    block = _message_block(answer, begun=True)
    yield {"type": "message_start", "message": begun}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": OUTPUT_TOKENS}}
    yield {"type": "message_stop"}


def _candidates(answer: ScriptedAnswer) -> JsonMapping:
    part: JsonMapping = {"text": answer.say}
    if answer.tool is not None:
        part = {"functionCall": {"name": answer.tool, "args": answer.arguments}}
    content = {"role": "model", "parts": [part]}
    usage = {
        "promptTokenCount": INPUT_TOKENS,
        "candidatesTokenCount": OUTPUT_TOKENS,
        "totalTokenCount": _TOTAL,
    }
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": answer.model,
    }


def write_dry_run_task(folder: Path) -> Path:
    """Write the task into a folder, and return that.

    Raises:
        OSError: it cannot be written.
    """
    for name, text in _TASK_FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


class ScriptedModel:
    """A scripted model: its answers, and the requests that it got."""

    def __init__(self, script: Sequence[ScriptedReply], *, refuses: bool = False) -> None:
        """Start the script; with `refuses`, every key is invalid."""
        self.refuses = refuses
        self.answered = 0
        self.workspace = "/workspace"  # replaces `{workspace}` in the script
        self._script = tuple(script)
        self._uses_tools = any(line.tool for line in script)
        self._line = 0
        self._lock = Lock()

    @property
    def input_tokens(self) -> int:
        return self.answered * INPUT_TOKENS

    @property
    def output_tokens(self) -> int:
        return self.answered * OUTPUT_TOKENS

    def answer(self, model: str, *, with_tools: bool) -> ScriptedAnswer:
        """The next line of the script, or its last one; a short text if there are no tools."""
        with self._lock:
            self.answered += 1
            line = _SHORT_ANSWER
            if with_tools or not self._uses_tools:
                line = self._script[min(self._line, len(self._script) - 1)]
                self._line += 1
            return ScriptedAnswer(
                number=self.answered,
                model=model,
                tool=line.tool,
                arguments={
                    name: value.replace("{workspace}", self.workspace)
                    if isinstance(value, str)
                    else value
                    for name, value in line.arguments.items()
                },
                say=line.say or "",
            )


@contextmanager
def serve_scripted_model(prompter: ScriptedModel) -> Iterator[str]:
    """Serve on a loopback port; yields the base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_ScriptedModelHandler, prompter))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _ScriptedModelHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, prompter: ScriptedModel, *args: object) -> None:
        self._prompter = prompter
        super().__init__(*args)  # type: ignore[arg-type]  # whatever the server hands over

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        route = route_of(path)
        if route is None:
            self._send(404, {"error": {"message": f"no such path: {path}"}})
        elif route.counts_only:
            self._send(200, {"input_tokens": INPUT_TOKENS})
        elif self._prompter.refuses:
            message = "this dry run refuses every key"
            self._send(401, route.format.error_body(ModelErrorKind.AUTH, 401, message))
        else:
            model = str(body.get("model") or path.rpartition("/")[2].partition(":")[0])
            answer = self._prompter.answer(model, with_tools=bool(body.get("tools")))
            if body.get("stream") or ":stream" in path:
                stream = answer_stream(route.api_format, answer)
                self._send_bytes(200, "text/event-stream", stream)
            else:
                self._send(200, answer_body(route.api_format, answer))

    def _send(self, status: int, body: JsonMapping) -> None:
        self._send_bytes(status, "application/json", json.dumps(body).encode())

    def _send_bytes(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
