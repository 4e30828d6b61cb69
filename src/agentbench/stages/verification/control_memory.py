"""What the reference solution showed about a task's controls, kept from one attempt to the next."""

import contextlib
from pathlib import Path

from pydantic import ValidationError

from agentbench.schema import Schema
from agentbench.stages.verification.blind_plan import FunctionKey, Known


class _Kept(Schema):
    """The file; pairs of a test file and a function."""

    uncertain: tuple[tuple[str, str], ...] = ()
    useless: tuple[tuple[str, str], ...] = ()


class ControlMemory:
    """Only ever added to, and only by runs in which no agent's code takes part."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is the file; None keeps it in memory alone."""
        self._path = path
        self._known = Known()

    def recall(self) -> Known:
        """All that is known; nothing where the file is torn."""
        if self._path is not None:
            with contextlib.suppress(OSError, ValidationError):
                kept = _Kept.model_validate_json(self._path.read_bytes())
                self._known = self._known.joined(
                    Known(uncertain=_keys(kept.uncertain), useless=_keys(kept.useless))
                )
        return self._known

    def remember(self, known: Known) -> None:
        """Add to it; where two do so at once, one of them finds out again."""
        self._known = self.recall().joined(known)
        if self._path is None:
            return
        kept = _Kept(uncertain=_pairs(self._known.uncertain), useless=_pairs(self._known.useless))
        scratch = self._path.with_suffix(".new")
        with contextlib.suppress(OSError):
            scratch.write_bytes(kept.model_dump_json().encode())
            scratch.replace(self._path)


def _keys(pairs: tuple[tuple[str, str], ...]) -> frozenset[FunctionKey]:
    return frozenset(FunctionKey(file, function) for file, function in pairs)


def _pairs(keys: frozenset[FunctionKey]) -> tuple[tuple[str, str], ...]:
    return tuple((key.file, key.function) for key in sorted(keys))
