"""Runs code that may raise anything or never end. All broad handling of its errors is here."""

from __future__ import annotations

import ast
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from traceback import walk_tb
from typing import Generic, TypeVar

T = TypeVar("T")

_LONGEST = 160  # characters of a text for a reader
AGAIN = 0.25  # seconds: the code may have swallowed the first ring of the alarm


@dataclass(frozen=True)
class CallResult(Generic[T]):
    """The value of a call or its error."""

    value: T | None = None
    error: BaseException | None = None


def call_foreign(
    call: Callable[[], T],
    *,
    catch: type[BaseException] | tuple[type[BaseException], ...] = Exception,
    let_through: tuple[type[BaseException], ...] = (),
) -> CallResult[T]:
    """Call code that may raise anything; returns errors to catch, also SystemExit if so wanted.

    Args:
        call: The code.
        catch: The errors that are returned; `BaseException` includes SystemExit.
        let_through: Errors that are raised all the same.
    """
    try:
        return CallResult(value=call())
    except let_through:
        raise
    except catch as error:
        return CallResult(error=error)


class OutOfTimeError(BaseException):
    """The time is over. It is not an Exception, so that few handlers swallow it."""


class Alarm:
    """Raises `OutOfTimeError` in the main thread when the time is over.

    In a callback of C code, such as z3's, the error may be replaced or lost. If the alarm `rang`,
    the code did not end by itself.
    """

    def __init__(self, *, repeat: float = 0.0) -> None:
        """The alarm is off. If it rings, it rings again every `repeat` seconds until it is off."""
        self.rang = False
        self._repeat = repeat

    def set(self, seconds: float) -> None:
        """Ring in so many seconds."""
        self.rang = False
        signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, max(0.01, seconds), self._repeat)

    def off(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        self.set(seconds)
        try:
            yield
        finally:
            self.off()

    def _ring(self, _number: int, _frame: object) -> None:
        self.rang = True
        raise OutOfTimeError


def text_of(value: object) -> str:
    """A short repr, whatever the value's own `__repr__` does."""
    result = call_foreign(lambda: repr(value))
    if result.value is None:
        return f"<{type(value).__name__} whose repr raises {type(result.error).__name__}>"
    return shorten(result.value)


def shorten(text: str) -> str:
    """A text that fits a line for a reader."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]} …"


def message_of(error: BaseException) -> str:
    """An error's message, whatever its own `__str__` does."""
    message = call_foreign(lambda: str(error)).value
    return "…" if message is None else message[:_LONGEST]


def is_explicit(error: BaseException, paths: tuple[str, ...]) -> bool:
    """Whether code in these folders raises an error by a `raise` or defines the error's class."""
    module = getattr(type(error), "__module__", "")
    if module not in ("builtins", ""):
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        if _is_in(file, paths):
            return True
    entries = list(walk_tb(error.__traceback__))
    if not entries:
        return False
    frame, line = entries[-1]
    file = frame.f_code.co_filename
    return _is_in(file, paths) and line in _raise_lines(file)


def _is_in(file: str, paths: tuple[str, ...]) -> bool:
    return file.startswith(tuple(path.rstrip("/") + "/" for path in paths))


@lru_cache(maxsize=64)
def _raise_lines(file: str) -> frozenset[int]:
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    return frozenset(
        line
        for node in statements
        # Python 3.7 does not know where a statement ends.
        for line in range(node.lineno, (getattr(node, "end_lineno", None) or node.lineno) + 1)
    )
