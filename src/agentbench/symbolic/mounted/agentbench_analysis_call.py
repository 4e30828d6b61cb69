"""One real call of a function, in a process of its own: what it came to."""

from __future__ import annotations

import copy
import importlib
import inspect
import itertools
import re
import resource
import signal
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agentbench_alarm import OverError
from agentbench_analysis_code import cut, line_of, said
from agentbench_analysis_contract import Behaviour, Contract, behave
from agentbench_analysis_wall import BlockedError

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_MOST_MEMORY = 800 << 20  # bytes: a MemoryError here, where the sandbox would end all of it
_MOST_INPUTS = 50  # arguments of a call that are shown
_WRONG_TYPE = (TypeError, AttributeError)

Json = dict[str, object]


@dataclass(frozen=True)
class Caller:
    """Makes calls of one function from the text of their arguments."""

    module: types.ModuleType
    path: Path
    contract: Contract
    kind: type[BaseException]  # that is looked for
    seconds: float  # for each call
    went: set[int]  # the marked ways that were gone

    def run(self, question: Json) -> Json:
        """Make the call that is asked for, or try some for a sign of a wrong type."""
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        if "probe" in question:
            return {"fits": all(self._fits(text) for text in question["probe"])}
        references = [tuple(each) for each in question["references"]]
        try:
            given = self._bound(question["arguments"], references)
        except Exception as fault:  # noqa: BLE001 - the text may name what cannot be made
            return {"ending": "unmade", "said": said(fault)}
        lines: set[int] = set()
        first = itertools.islice(given.arguments.items(), _MOST_INPUTS)
        inputs = {cut(name): _shown(value) for name, value in first}
        with _lines_into(lines, self.path):
            behaviour = self._behaviour(given, min(self.seconds, question.get("seconds", 60)))
        told = self._told(behaviour)
        return {**told, "inputs": inputs, "lines": sorted(lines), "went": sorted(self.went)}

    def _fits(self, text: str) -> bool:
        try:
            given = self._bound(text, [])
        except Exception:  # noqa: BLE001 - so it does not fit
            return False
        return not isinstance(self._behaviour(given, self.seconds).fault, _WRONG_TYPE)

    def _bound(self, text: str, references: list[tuple[str, str]]) -> inspect.BoundArguments:
        names = {**vars(self.module), "__given__": lambda *args, **named: (args, named)}
        for module, name in references:
            top = name.partition(".")[0]
            if module != self.module.__name__:
                names[top] = getattr(importlib.import_module(module), top)
        args, named = eval(
            f"__given__({text})", names
        )  # a call's arguments, of the search's making
        return self.contract.signature.bind(*args, **named)

    def _behaviour(self, given: inspect.BoundArguments, seconds: float) -> Behaviour:
        try:
            old = copy.deepcopy(given.arguments)
            with _within(seconds):
                return behave(self.contract, given, old)
        except OverError:
            return Behaviour("hung")
        except BlockedError as fault:
            return Behaviour("blocked", str(fault))
        except BaseException as fault:  # noqa: BLE001 - what is looked for
            return Behaviour("raised", fault=fault)

    def _told(self, behaviour: Behaviour) -> Json:
        fault = behaviour.fault
        told: Json = {"ending": behaviour.ending, "what": cut(behaviour.what)}
        if fault is not None:
            told["type"] = cut(type(fault).__qualname__)
            told["matches"] = isinstance(fault, self.kind)
            told["line"] = line_of(fault, self.path)
            told["said"] = f"raises {said(fault)}"
        elif behaviour.ending in ("returned", "broken", "changed"):
            told["said"] = f"returns {_shown(behaviour.value)}"
        return told


def _shown(value: object) -> str:
    try:
        return cut(_ADDRESS.sub("", repr(value)))
    except BaseException as fault:  # noqa: BLE001 - a class of the code's own
        return f"<no repr: {type(fault).__name__}>"


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def over(_number: int, _frame: object) -> None:
        raise OverError

    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def _lines_into(lines: set[int], path: Path) -> Iterator[None]:
    """Keep the lines of the code that run meanwhile."""
    name = str(path)

    def trace(frame: types.FrameType, event: str, _argument: object) -> object:
        if frame.f_code.co_filename != name:
            return None
        if event == "line":
            lines.add(frame.f_lineno)
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)
