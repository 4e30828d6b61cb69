"""A worker in a process of its own: asked by lines, killed when it does not answer.

As a program it answers a `ReplayRequest` on stdin: see agentbench.extensions.symbolic.analysis.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import cast

from . import messages
from .outcomes import words

_PACKAGE = str(Path(__file__).parent)
_GRACE = 1.5  # seconds beyond a call's own deadline, before the process is killed
_LOADING = 30.0  # seconds
_STEPS = 20
_FIRST_SEED = 10  # none of the seeds that the search uses


class WorkerDiedError(Exception):
    """The worker ended, could not load its tree, or gave a malformed answer."""


class WorkerProcess:
    """Speaks with one worker, which is started when it is needed, and again after it was lost."""

    def __init__(self, location: messages.Location, *, hash_seed: int = 0) -> None:
        """Take the location of the callable; the seed determines the order in sets."""
        self._location = location
        self._hash_seed = str(hash_seed)
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def close(self) -> None:
        """End the worker and all that it started; the next question starts another."""
        process, self._process, self._rest = self._process, None, b""
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            kill_group(process)

    def describe(self) -> messages.Description:
        return cast("messages.Description", self._ask({"do": "describe"}, _LOADING))

    def run(self, program: list[str], seconds: float) -> messages.ProgramResult:
        """The outcome of a program. A worker that dies of it is an outcome, too."""
        limit = seconds * min(len(program), _STEPS) + _GRACE
        answer = self._ask({"do": "run", "program": program, "seconds": seconds}, limit)
        return cast("messages.ProgramResult", answer)

    def _ask(self, question: dict[str, object], seconds: float) -> dict[str, object]:
        process = self._process
        if process is None:
            # Without variables that change the interpreter.
            env = {name: text for name, text in os.environ.items() if name[:6] != "PYTHON"}
            env |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": self._hash_seed}
            process = self._process = start_program("worker", env=env)
            self._exchange(process, dict(self._location), _LOADING)
        return self._exchange(process, question, seconds)

    def _exchange(
        self, process: subprocess.Popen[bytes], question: dict[str, object], seconds: float
    ) -> dict[str, object]:
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(self._line(process, seconds))
        except (OSError, ValueError) as error:
            self.close()
            raise WorkerDiedError(f"its process ended or gave no answer ({error})") from None
        if not isinstance(answer, dict):
            self.close()
            raise WorkerDiedError("its answer is malformed")
        if "error" in answer:
            self.close()
            raise WorkerDiedError(answer["error"])
        return answer

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        assert process.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            remaining = until - time.monotonic()
            if remaining <= 0 or not select.select([process.stdout], [], [], remaining)[0]:
                raise TimeoutError("out of time")
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise OSError("closed")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def start_program(*arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a program of this package in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-s", "-W", "ignore", _PACKAGE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=env,
    )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its group, and wait for it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def replay(request: messages.Json) -> messages.Json:
    """The outcomes of all runs, each in a new process with another order in sets."""
    outcomes: list[str] = []
    values: list[str] = []
    location: messages.Location = {"paths": request["paths"], "module": None, "name": None}
    for number in range(request.get("times", 2)):
        try:
            with closing(WorkerProcess(location, hash_seed=_FIRST_SEED + number)) as worker:
                result = worker.run(request["program"], request.get("call_seconds", 2.0))
        except WorkerDiedError as error:
            return {"outcomes": outcomes, "values": values, "why": str(error)}
        last = result["steps"][-1]
        outcomes.append(words(last))
        values.append(json.dumps([last.get("form"), last.get("type"), result["after"]]))
    return {"outcomes": outcomes, "values": values, "why": ""}


def main() -> None:
    """Answer the request on stdin."""
    sys.stdout.write(json.dumps(replay(json.loads(sys.stdin.read()))) + "\n")
