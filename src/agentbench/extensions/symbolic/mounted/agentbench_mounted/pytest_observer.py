"""A pytest plugin that records the values that changed tests see, instead of judging them.

The tests (extensions/symbolic/variants.py) pass them to `__agentbench__`. Each line of the file
AGENTBENCH_OBSERVED is a value that a test saw, or how it ended. Runs on Python 3.7 and later.
"""

from __future__ import annotations

import builtins
import json
import os
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from . import messages
from .foreign_code import Alarm, OutOfTimeError
from .outcomes import TIMEOUT, raised, returned

_FILE = "AGENTBENCH_OBSERVED"
_SECONDS = "AGENTBENCH_OBSERVED_SECONDS"
_LINES = 200_000
_LINE = 200_000  # characters
_ENDED = -1  # in place of the number of an assertion: how the test ended


class Observer:
    """Records the observations of the running test."""

    def __init__(self, path: str, root: str) -> None:
        """Write to a file; errors that code under the root raises on purpose are marked."""
        self._out = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - closed by the process's end
        self._root = root
        self._lines = 0
        self.test = ""

    def see(self, at: int, value: object) -> None:
        """Record a value that the test would have compared."""
        self.record(at, returned(value))

    def truth(self, at: int, value: object) -> None:
        """Record whether a condition of an assertion is true."""
        self.see(at, bool(value))

    def holds(self, at: int, assertion: Callable[[], object]) -> None:
        """Record whether an assertion of unittest holds."""
        try:
            assertion()
        except AssertionError:
            self.see(at, value=False)
        else:
            self.see(at, value=True)

    def raises(self, at: int) -> ErrorRecorder:
        """A stand-in for `pytest.raises` that accepts any error."""
        return ErrorRecorder(self, at)

    def raised(self, at: int, error: BaseException) -> None:
        """Record an error, expected or not."""
        self.record(at, raised(error, (self._root,)))

    def record(self, at: int, step: messages.Step) -> None:
        """Write a line, unless it is too long or one too many."""
        self._lines += 1
        line = {"test": self.test, "seconds": 0.0, "at": at}
        text = json.dumps({**line, **step})
        if self._lines <= _LINES and len(text) <= _LINE:
            self._out.write(text + "\n")
            self._out.flush()


class ErrorRecorder:
    """A stand-in for `pytest.raises`: records the error, and keeps it for the test."""

    def __init__(self, observer: Observer, at: int) -> None:
        self._observer = observer
        self._at = at
        self.value: BaseException | None = None

    @property
    def type(self) -> type[BaseException]:
        return type(self.value) if self.value is not None else BaseException

    @property
    def exception(self) -> BaseException | None:
        """The error, as unittest names it."""
        return self.value

    def match(self, _pattern: str) -> bool:
        """Messages are not compared."""
        return True

    def __enter__(self) -> ErrorRecorder:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if error is None:
            self._observer.see(self._at, value=None)
        elif isinstance(error, Exception):
            self.value = error
            self._observer.raised(self._at, error)
        return error is None or isinstance(error, Exception)


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests an observer."""
    root = str(getattr(config, "rootpath", None) or config.rootdir)  # type: ignore[attr-defined] # of old versions
    builtins.__agentbench__ = Observer(os.environ[_FILE], root)  # type: ignore[attr-defined] # ours


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Run a test with a time limit, and record how it ended; it never fails."""
    observer: Observer = builtins.__agentbench__  # type: ignore[attr-defined] # ours
    observer.test = item.nodeid
    seconds = float(os.environ.get(_SECONDS, "2"))
    alarm = Alarm()
    began = time.perf_counter()
    alarm.set(seconds)
    outcome = yield
    alarm.off()
    error = outcome.excinfo[1] if outcome.excinfo else _error_of_unittest(item)
    if error is None:
        seconds = time.perf_counter() - began
        observer.record(_ENDED, {**returned(None), "text": "to its end", "seconds": seconds})
    elif isinstance(error, OutOfTimeError):
        observer.record(_ENDED, {"kind": TIMEOUT, "seconds": seconds})
    else:
        observer.raised(_ENDED, error)
    outcome.force_result(None)


# Take the error of a unittest test, which pytest keeps for its report.
def _error_of_unittest(item: Any) -> BaseException | None:
    errors, item._excinfo = getattr(item, "_excinfo", None), None
    return errors[0].value if errors else None
