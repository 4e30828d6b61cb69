"""Real calls of a function, each in a fork of a process that no search has touched."""

from __future__ import annotations

import copy
import importlib
import inspect
import itertools
import json
import os
import re
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING

from .contract import Behaviour, Contract, behave
from .foreign_code import AGAIN, Alarm, OutOfTimeError, call_foreign
from .messages import Json
from .side_effects import BlockedError
from .submitted_code import cut, error_line, line_of

if TYPE_CHECKING:
    from _typeshed import TraceFunction

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_MOST_MEMORY = 800 << 20  # bytes: a MemoryError here, before the sandbox kills all processes
_MOST_INPUTS = 50  # arguments of a call that are shown
_WRONG_TYPE = (TypeError, AttributeError)
_MOST_BYTES = 1 << 20  # of an answer
_GRACE = 1.0  # seconds
_DIED: Json = {"ending": "died"}


@dataclass(frozen=True)
class Caller:
    """Makes calls of one function from the text of their arguments."""

    module: ModuleType
    path: Path
    contract: Contract
    kind: type[BaseException]  # the exception that is looked for
    seconds: float  # for each call
    taken: set[int]  # the marked branches that were taken

    def run(self, question: Json) -> Json:
        """Make the call in question, or several to test types."""
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        if "probe" in question:
            return {"fits": all(map(self._fits, question["probe"]))}
        bound = call_foreign(lambda: self._bind(question["arguments"], question["references"]))
        bound_arguments = bound.value
        if bound_arguments is None:  # the text may name a thing that cannot be made
            assert bound.error is not None
            return {"ending": "unmade", "said": error_line(bound.error)}
        first = itertools.islice(bound_arguments.arguments.items(), _MOST_INPUTS)
        inputs = {cut(name): _repr_text(value) for name, value in first}
        seconds = min(self.seconds, question.get("seconds", 60))
        with _record_lines(self.path) as lines:
            behaviour = self._behaviour(bound_arguments, seconds)
        observed = {"inputs": inputs, "lines": sorted(lines), "went": sorted(self.taken)}
        fault = behaviour.fault
        answer: Json = {"ending": behaviour.ending, "what": cut(behaviour.what)}
        if fault is not None:
            answer["type"] = cut(type(fault).__qualname__)
            answer["matches"] = isinstance(fault, self.kind)
            answer["line"] = line_of(fault, self.path)
            answer["said"] = f"raises {error_line(fault)}"
        elif behaviour.ending in ("returned", "broken", "changed"):
            answer["said"] = f"returns {_repr_text(behaviour.value)}"
        return {**answer, **observed}

    def _fits(self, text: str) -> bool:
        bound_arguments = call_foreign(lambda: self._bind(text, [])).value
        if bound_arguments is None:
            return False
        return not isinstance(self._behaviour(bound_arguments, self.seconds).fault, _WRONG_TYPE)

    # The arguments of a call, whose text a search has made.
    def _bind(self, text: str, references: list[list[str]]) -> inspect.BoundArguments:
        names = {**vars(self.module), "__given__": lambda *args, **named: (args, named)}
        for module, name in references:
            top = name.partition(".")[0]
            if module != self.module.__name__:
                names[top] = getattr(importlib.import_module(module), top)
        args, named = eval(f"__given__({text})", names)
        return self.contract.signature.bind(*args, **named)

    def _behaviour(self, bound_arguments: inspect.BoundArguments, seconds: float) -> Behaviour:
        def call() -> Behaviour:
            old = copy.deepcopy(bound_arguments.arguments)
            with Alarm(repeat=AGAIN).within(seconds):
                return behave(self.contract, bound_arguments, old)

        result = call_foreign(call, catch=BaseException)
        if isinstance(result.error, OutOfTimeError):
            return Behaviour("hung")
        if isinstance(result.error, BlockedError):
            return Behaviour("blocked", str(result.error))
        return result.value or Behaviour("raised", fault=result.error)


def _repr_text(value: object) -> str:
    result = call_foreign(lambda: cut(_ADDRESS.sub("", repr(value))), catch=BaseException)
    return f"<no repr: {type(result.error).__name__}>" if result.value is None else result.value


# Collect the lines of the code that run in the block.
@contextmanager
def _record_lines(path: Path) -> Iterator[set[int]]:
    name, lines = str(path), set[int]()

    def trace(frame: FrameType, event: str, _argument: object) -> TraceFunction | None:
        if frame.f_code.co_filename != name:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return trace

    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(None)


class ForkServer:
    """A process, forked after the code was loaded, that forks itself for each call."""

    def __init__(self, run: Callable[[Json], Json], call_seconds: float) -> None:
        self._call_seconds, self._asked = call_seconds, 0
        questions, self._ask = os.pipe()
        self._answers, answer = os.pipe()
        if os.fork() == 0:
            os.close(self._ask)
            os.close(self._answers)
            try:
                _serve(run, questions, answer, call_seconds)
            finally:
                os._exit(0)
        os.close(questions)
        os.close(answer)

    def ask(self, question: Json) -> Json:
        """The answer of a call; its `ending` is `died` if there is none."""
        self._asked += 1
        line = json.dumps({**question, "number": self._asked})
        try:
            os.write(self._ask, line.encode() + b"\n")
        except OSError:
            return _DIED
        while True:
            found = _read_line(self._answers, self._call_seconds + 2 * _GRACE)
            if found is None:
                return _DIED
            if found.get("number") == self._asked:  # not the late answer of an earlier call
                return found


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
        found = _read_line(inner, seconds + _GRACE) or _DIED
        os.close(inner)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        numbered = {**found, "number": json.loads(line)["number"]}
        os.write(answer, json.dumps(numbered).encode() + b"\n")


def _read_line(descriptor: int, seconds: float) -> Json | None:
    deadline = time.monotonic() + seconds
    buffer = b""
    while not buffer.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(descriptor, 1 << 16) if ready else b""
        buffer += chunk
        if not chunk or len(buffer) > _MOST_BYTES:
            return None
    try:
        found = json.loads(buffer)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
