"""The summary of a job of GitHub Actions: Markdown appended to a file that the runner names."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agentbench.errors import UsageError

VARIABLE = "GITHUB_STEP_SUMMARY"
LIMIT = 1024 * 1024
"""Bytes that GitHub takes of one step's summary; of a larger one it shows nothing."""

_CUT = "\n\nCut here: GitHub shows 1 MiB of a step's summary and no more.\n"


def append_summary(pieces: Iterable[str], environ: Mapping[str, str]) -> bool:
    """Append Markdown to the job's summary, as much of it as fits; whether all of it did.

    Pieces are whole lines, and are written whole or not at all.

    Raises:
        UsageError: this is no job of GitHub Actions, or the file cannot be written.
    """
    named = environ.get(VARIABLE)
    if not named:
        raise UsageError(
            f"--github-summary: {VARIABLE} is not set; it is in a job of GitHub Actions. "
            "Elsewhere use --format markdown"
        )
    path = Path(named)
    try:
        with path.open("ab") as target:
            fitting = _Fitting(LIMIT - target.tell())
            target.writelines(fitting.of(pieces))
    except OSError as error:
        raise UsageError(f"--github-summary: {path}: cannot be written: {error}") from None
    return not fitting.is_cut


class _Fitting:
    """Lets through what fits into some bytes, with a word on what does not."""

    def __init__(self, room: int) -> None:
        self._room = room - len(_CUT.encode()) - 1
        self.is_cut = False

    def of(self, pieces: Iterable[str]) -> Iterator[bytes]:
        """The pieces that fit."""
        if self._room < 0:
            self.is_cut = True
            return
        yield b"\n"  # whatever was written before, a table begins on a line of its own
        for piece in pieces:
            content = piece.encode(errors="replace")
            if len(content) > self._room:
                self.is_cut = True
                yield _CUT.encode()
                return
            self._room -= len(content)
            yield content
