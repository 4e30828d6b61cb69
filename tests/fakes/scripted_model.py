"""A model's server over real HTTP that answers by a script, on all four wires.

with ScriptedModel([Call("read_file", {"path": "a.py"}), Say("done")]) as model:
    client = openai.OpenAI(base_url=f"{model.base_url}/v1", api_key=model.key)

A script is a list, used up in the order of the requests (what comes after its end is told 400 'the
script is over'), or a function of the request: `for_ever(Fail(429))`, `by_turn([...])`. Answers may
also be given by name of the model, or whatever else the function looks at.
"""

import secrets
import threading
from collections.abc import Sequence
from functools import partial

from tests.fakes.scripted_answers import (
    NO_TOKENS,
    Answer,
    Asked,
    Call,
    Calls,
    Cut,
    Endless,
    Fail,
    Hang,
    Huge,
    Raw,
    Reset,
    Say,
    Script,
    Tokens,
    by_turn,
    for_ever,
)
from tests.fakes.scripted_http import Handler, Server

__all__ = [
    "Answer", "Asked", "Call", "Calls", "Cut", "Endless", "Fail", "Hang", "Huge", "Raw", "Reset",
    "Say", "ScriptedModel", "Tokens", "by_turn", "for_ever",
]  # fmt: skip

_OVER = Fail(400, message="the script is over")


class ScriptedModel:
    """The server, and what it was asked; runs as long as its `with` block."""

    def __init__(
        self,
        script: Script,
        *,
        key: str | None = None,
        models: Sequence[str] | None = None,  # others are unknown; None: any is known
        zipped: bool = False,  # whole answers come in gzip
        echo_key: bool = False,  # the answers' headers and errors' messages show the key
    ) -> None:
        self.key = key or f"sk-canary-{secrets.token_hex(16)}"
        self.requests: list[Asked] = []
        self.models = models
        self.zipped = zipped
        self.echo_key = echo_key
        self._script = script
        self._used = 0
        self._lock = threading.Lock()
        self.stopping = threading.Event()
        self._server = Server(("127.0.0.1", 0), partial(Handler, self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> "ScriptedModel":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        """Without any path; OpenAI's clients want `/v1` behind it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def asked(self) -> list[Asked]:
        """The requests that got an answer of the script."""
        return [each for each in self.requests if each.answer is not None]

    @property
    def told(self) -> Tokens:
        """The sum of all that was said to clients about tokens."""
        return sum((each.told for each in list(self.requests)), NO_TOKENS)

    def next_answer(self, asked: Asked) -> Answer:
        """What the script says now."""
        if callable(self._script):
            return self._script(asked)
        with self._lock:
            at, self._used = self._used, self._used + 1
        return self._script[at] if at < len(self._script) else _OVER
