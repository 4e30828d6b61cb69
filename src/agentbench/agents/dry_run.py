"""A dry run of a client: a tiny task, and a model server that gives scripted answers."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

from agentbench.agents import dry_run_answers
from agentbench.agents.preset import ScriptedReply
from agentbench.models.formats.registry import route_of
from agentbench.models.interface import ApiFormat, ModelErrorKind

_TASK_FILES = {
    "task.toml": """\
schema_version = 1
id = "rehearsal"
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


def write_dry_run_task(folder: Path) -> Path:
    """Write the task into a folder, and return that."""
    for name, text in _TASK_FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


_SHORT_ANSWER = ScriptedReply(say="ok")


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
        """The input tokens that it reported."""
        return self.answered * dry_run_answers.INPUT_TOKENS

    @property
    def output_tokens(self) -> int:
        """The output tokens that it reported."""
        return self.answered * dry_run_answers.OUTPUT_TOKENS

    def answer(self, model: str, *, with_tools: bool) -> dry_run_answers.ScriptedAnswer:
        """The next line of the script; after the end, its last one.

        A request without tools, for a title or a summary, gets two letters.
        """
        with self._lock:
            self.answered += 1
            line = _SHORT_ANSWER
            if with_tools or not self._uses_tools:
                line = self._script[min(self._line, len(self._script) - 1)]
                self._line += 1
            return dry_run_answers.ScriptedAnswer(
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
            self._send(200, {"input_tokens": dry_run_answers.INPUT_TOKENS})
        elif self._prompter.refuses:
            message = "this rehearsal refuses every key"
            self._send(401, route.format.error_body(ModelErrorKind.AUTH, 401, message))
        else:
            self._say(route.api_format, path, body)

    def _say(self, api_format: ApiFormat, path: str, body: dry_run_answers.JsonMapping) -> None:
        model = str(body.get("model") or path.rpartition("/")[2].partition(":")[0])
        answer = self._prompter.answer(model, with_tools=bool(body.get("tools")))
        if body.get("stream") or ":stream" in path:
            self._send_bytes(
                200, "text/event-stream", dry_run_answers.answer_stream(api_format, answer)
            )
        else:
            self._send(200, dry_run_answers.answer_body(api_format, answer))

    def _send(self, status: int, body: dry_run_answers.JsonMapping) -> None:
        self._send_bytes(status, "application/json", json.dumps(body).encode())

    def _send_bytes(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
