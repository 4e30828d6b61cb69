"""What a call does beside what it returns: what it prints, leaves changed, and reaches for."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from typing import Any

from agentbench_analysis_wall import leaves_process
from agentbench_values import Form, form_of, text_of

_PRINTED = 20_000  # bytes of a stream
_GLOBALS = 200  # of a module
_STATES = (list, dict, set, bytearray, bool, int, float, str, bytes, type(None))


class Effects:
    """Watches a process: one each, since what watches it cannot be taken away again."""

    def __init__(self) -> None:
        """Begin to listen; nothing is noted before `watched`."""
        self._on = False
        self._reached = ""
        sys.addaudithook(self._look)

    def _look(self, event: str, args: tuple[object, ...]) -> None:
        if self._on and not self._reached and leaves_process(event, args):
            self._reached = event

    @contextlib.contextmanager
    def watched(self, into: dict[str, Any]) -> Iterator[None]:
        """Note what is printed meanwhile, and the first thing outside that is reached for."""
        out, err = _Stream(), _Stream()
        self._reached, self._on = "", True
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                yield
        finally:
            self._on = False
            printed = {"stdout": out.text(), "stderr": err.text()}
            into |= {name: text for name, text in printed.items() if text}
            if self._reached:
                into["reached"] = self._reached


class _Stream(io.TextIOWrapper):
    """Keeps the first part of what is written to it, in memory."""

    def __init__(self) -> None:
        self._kept = _Kept()
        super().__init__(self._kept, "utf-8", errors="backslashreplace", write_through=True)

    def text(self) -> str:
        """What was written, also where the code has closed it."""
        return self._kept.held.decode("utf-8", "backslashreplace")


class _Kept(io.RawIOBase):
    def __init__(self) -> None:
        self.held = b""

    def writable(self) -> bool:
        """Nothing else."""
        return True

    def write(self, data: Any) -> int:
        """Keep it, as far as there is room."""
        self.held += bytes(data)[: _PRINTED - len(self.held)]
        return len(data)


def states(module: Any) -> dict[str, tuple[Form, str]]:
    """A module's public variables of plain kinds: what is compared of them, and for a reader."""
    if module is None:
        return {}
    public = [name for name in vars(module) if not name.startswith("_")][:_GLOBALS]
    found = {name: vars(module).get(name) for name in public}
    return {
        f"{module.__name__}.{name}": (form_of(value), text_of(value))
        for name, value in found.items()
        if type(value) in _STATES
    }
