"""A worker in a process of its own: asked by lines, killed when it does not answer."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_WORKER = str(Path(__file__).parent / "agentbench_worker.py")
_GRACE = 1.5  # seconds beyond a call's own deadline, before the process is killed
_LOADING = 30.0  # seconds
_STEPS = 20


class LostError(Exception):
    """The worker is gone, could not load its tree, or said what is no answer."""


class Link:
    """Speaks with one worker, which is started when it is needed and again when it was lost."""

    def __init__(self, place: dict[str, Any], *, hashes: int = 0) -> None:
        """Take where the worker loads from, and the seed of its hashes: the order in its sets."""
        self._place = place
        self._hashes = str(hashes)
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def __enter__(self) -> Link:
        """Nothing yet."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the worker and all that it started."""
        self.end()

    def end(self) -> None:
        """End the worker; the next question starts another."""
        process, self._process, self._rest = self._process, None, b""
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def describe(self) -> dict[str, Any]:
        """What the worker says of its callable."""
        return self._ask({"do": "describe"}, _LOADING)

    def run(self, program: list[str], seconds: float) -> dict[str, Any]:
        """What a program does; a worker that dies of it is an outcome too."""
        limit = seconds * min(len(program), _STEPS) + _GRACE
        return self._ask({"do": "run", "program": program, "seconds": seconds}, limit)

    def _ask(self, question: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._process is None:
            self._start()
        return self._exchange(question, seconds)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-W", "ignore", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**_environment(), "PYTHONHASHSEED": self._hashes},
        )
        self._exchange(self._place, _LOADING)

    def _exchange(self, question: dict[str, Any], seconds: float) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            said = json.loads(self._line(process, seconds))
        except (OSError, ValueError) as error:
            self.end()
            raise LostError(f"its process ended or gave no answer ({error})") from None
        if not isinstance(said, dict) or "error" in said:
            self.end()
            raise LostError(
                said["error"] if isinstance(said, dict) else "what it said is no answer"
            )
        return said

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        assert process.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise TimeoutError("out of time")
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise OSError("closed")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _environment() -> dict[str, str]:
    """This process's own, but for what would change the interpreter."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1"}
