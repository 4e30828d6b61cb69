"""A plug-in of pytest that writes down what changed tests see, instead of judging it.

Changed tests (agentbench.symbolic.amplification) hand to `__agentbench__` what they would have
compared. Every line of the file named by AGENTBENCH_OBSERVED is JSON: what one test saw at one
place, or how it ended.
"""

from __future__ import annotations

import builtins
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from agentbench_outcome import RAISES, RETURNS, TIMEOUT
from agentbench_raised import is_meant
from agentbench_values import form_of, text_of

sys.path.pop(0)

_FILE = "AGENTBENCH_OBSERVED"
_SECONDS = "AGENTBENCH_OBSERVED_SECONDS"
_LINES = 200_000
_LINE = 200_000  # characters


class OutOfTimeError(BaseException):
    """The test's time is over; no `except Exception` catches it."""


class Observer:
    """Takes what the test that runs at present has seen."""

    def __init__(self, path: str, root: str) -> None:
        """Write to a file; errors raised by code under the root were meant."""
        self._out = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - closed by the process's end
        self._root = root
        self._lines = 0
        self.test = ""

    def see(self, at: int, value: Any) -> None:
        """A value that the test would have compared."""
        self._write({"at": at, "kind": RETURNS, "form": form_of(value), "text": text_of(value)})

    def truth(self, at: int, value: Any) -> None:
        """A condition that the test would have insisted on."""
        self.see(at, bool(value))

    def holds(self, at: int, assertion: Any) -> None:
        """Whether an assertion of unittest's held."""
        try:
            assertion()
        except AssertionError:
            self.see(at, value=False)
        else:
            self.see(at, value=True)

    def raises(self, at: int) -> Raised:
        """Stands where the test expects an error, and takes any."""
        return Raised(self, at)

    def raised(self, at: int, error: BaseException) -> None:
        """An error, expected or not."""
        kind = type(error)
        mro = [
            one.__name__ for one in kind.__mro__ if one not in (Exception, BaseException, object)
        ]
        meant = is_meant(error, (self._root,))
        text = f"{kind.__name__}: {_said(error)}"
        said = {"kind": RAISES, "type": kind.__name__, "mro": mro, "explicit": meant, "text": text}
        self._write({"at": at, **said})

    def timeout(self, seconds: float) -> None:
        """The test did not end."""
        self._write({"at": -1, "kind": TIMEOUT, "seconds": seconds})

    def ended(self, seconds: float) -> None:
        """The test came to its end."""
        none = {"kind": RETURNS, "form": ["none"], "text": "to its end"}
        self._write({"at": -1, **none, "seconds": seconds})

    def _write(self, line: dict[str, Any]) -> None:
        self._lines += 1
        text = json.dumps({"test": self.test, "seconds": 0.0, **line})
        if self._lines <= _LINES and len(text) <= _LINE:
            self._out.write(text + "\n")
            self._out.flush()


class Raised:
    """Stands for `pytest.raises`: what came is written down and kept."""

    def __init__(self, observer: Observer, at: int) -> None:
        """Take who writes it down, and where."""
        self._observer = observer
        self._at = at
        self.value: BaseException | None = None

    @property
    def type(self) -> type[BaseException]:
        """The error's class."""
        return type(self.value) if self.value is not None else BaseException

    @property
    def exception(self) -> BaseException | None:
        """The error, as unittest names it."""
        return self.value

    def match(self, _pattern: str) -> bool:
        """Messages are nobody's behaviour here."""
        return True

    def __enter__(self) -> Raised:
        """Nothing yet."""
        return self

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> bool:
        """Write down what came; the test goes on."""
        if error is None:
            self._observer.see(self._at, value=None)
        elif isinstance(error, Exception):
            self.value = error
            self._observer.raised(self._at, error)
        return error is None or isinstance(error, Exception)


def _said(error: BaseException) -> str:
    try:
        return str(error)[:160]
    except Exception:  # noqa: BLE001 - it is the agent's code that raises
        return "…"


def _ring(_signal: int, _frame: Any) -> None:
    raise OutOfTimeError


def pytest_configure(config: Any) -> None:
    """Lend the tests an observer."""
    root = str(getattr(config, "rootpath", None) or config.rootdir)
    builtins.__agentbench__ = Observer(os.environ[_FILE], root)  # type: ignore[attr-defined] # ours
    signal.signal(signal.SIGALRM, _ring)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_call(item: Any) -> Any:
    """Run a test against the clock, and write down how it ended; it never fails."""
    observer = builtins.__agentbench__  # type: ignore[attr-defined] # ours
    observer.test = item.nodeid
    seconds = float(os.environ.get(_SECONDS, "2"))
    began = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    outcome = yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    error = outcome.excinfo[1] if outcome.excinfo else _of_unittest(item)
    if error is None:
        observer.ended(time.perf_counter() - began)
    elif isinstance(error, OutOfTimeError):
        observer.timeout(seconds)
    else:
        observer.raised(-1, error)
    outcome.force_result(None)


def _of_unittest(item: Any) -> BaseException | None:
    """The error of a test of unittest's, which pytest keeps for its report."""
    kept, item._excinfo = getattr(item, "_excinfo", None), None
    return kept[0].value if kept else None
