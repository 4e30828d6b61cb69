"""Really runs what a search found: each call in a fork of a process that no search has touched."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable

_MOST = 1 << 20  # bytes of an answer
_GRACE = 1.0

Json = dict[str, object]


class Replayer:
    """A process, forked when the code was loaded, that forks itself for each call."""

    def __init__(self, run: Callable[[Json], Json], call_seconds: float) -> None:
        self._call_seconds, self._asked = call_seconds, 0
        questions, self._ask = os.pipe()
        self._answers, answer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._ask)
            os.close(self._answers)
            try:
                _serve(run, questions, answer, call_seconds)
            finally:
                os._exit(0)
        os.close(questions)
        os.close(answer)

    def ask(self, question: Json) -> Json:
        """What came of a call; its `ending` is `died` where nothing came back."""
        self._asked += 1
        line = json.dumps({**question, "number": self._asked})
        try:
            os.write(self._ask, line.encode() + b"\n")
        except OSError:
            return {"ending": "died"}
        while found := _read(self._answers, self._call_seconds + 2 * _GRACE):
            if found.get("number") == self._asked:  # and not the late one of a call before
                return found
        return {"ending": "died"}

    def end(self) -> None:
        """Stop the process."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _serve(run: Callable[[Json], Json], questions: int, answer: int, seconds: float) -> None:
    for line in os.fdopen(questions):
        inner, outer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(inner)
            try:
                os.write(outer, json.dumps(run(json.loads(line))).encode() + b"\n")
            finally:
                os._exit(0)
        os.close(outer)
        found = _read(inner, seconds + _GRACE) or {"ending": "died"}
        os.close(inner)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        found["number"] = json.loads(line)["number"]
        os.write(answer, json.dumps(found).encode() + b"\n")


def _read(descriptor: int, seconds: float) -> Json | None:
    """A line of JSON, if a whole one comes in time."""
    deadline = time.monotonic() + seconds
    held = b""
    while not held.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(descriptor, 1 << 16) if ready else b""
        held += chunk
        if not chunk or len(held) > _MOST:
            return None
    try:
        found = json.loads(held)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
