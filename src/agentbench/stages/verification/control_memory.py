"""What the reference solution showed about a task's controls, kept from one attempt to the next."""

import contextlib
from pathlib import Path

from pydantic import ValidationError

from agentbench.seals.document import Sealed
from agentbench.seals.whole_file import write_whole
from agentbench.stages.verification.known import FunctionKey, Known


class _Kept(Sealed):
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
        """All that is known; nothing where the file is torn or damaged."""
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
        with contextlib.suppress(OSError):
            write_whole(self._path, kept.sealed_json().encode())


def _keys(pairs: tuple[tuple[str, str], ...]) -> frozenset[FunctionKey]:
    return frozenset(FunctionKey(file, function) for file, function in pairs)


def _pairs(keys: frozenset[FunctionKey]) -> tuple[tuple[str, str], ...]:
    return tuple((key.file, key.function) for key in sorted(keys))
