"""The lines of an agent's patch that a failure touched."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from agentbench.audit.patch import FilePatch, parse_patch

_MAX_LINES = 6
_MAX_OF_PLACE = 2  # lines of one changed place, if the patch has several
_MAX_TRACEBACK = 5_000  # lines, from its end
_FRAME = re.compile(
    r"^(?:E +)?(?:(?P<path>[^\s:>][^:\n]*):(?P<line>\d{1,9}):(?= |$)"
    r'|\s*File "(?P<file>[^"\n]+)", line (?P<number>\d{1,9}))'
)
_MARKED = re.compile(r"^>\s+(?P<text>\S.*)$")  # the line that pytest marks in a frame


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchLine:
    """A line of a file that the patch changes.

    `sign` is that of the diff: `+` added, `-` removed, a space for a line that stays.
    """

    path: str
    line: int
    text: str
    sign: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame of a traceback, with the text of its line if the traceback has it."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedLines:
    """Lines of a patch: those of a traceback's frames, or else the changed ones."""

    lines: tuple[PatchLine, ...] = ()
    in_traceback: bool = False
    more: int = 0  # changed lines


def frames_of(traceback: str) -> Iterator[Frame]:
    """The frames of a traceback in any of pytest's styles, the innermost one last."""
    lines = traceback.splitlines()[-_MAX_TRACEBACK:]
    marked = ""
    for at, text in enumerate(lines):
        mark = _MARKED.match(text)
        if mark:
            marked = mark["text"]
        found = _FRAME.match(text)
        if found is None:
            continue
        path, number = found["path"] or found["file"], found["line"] or found["number"]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        below = following.removeprefix("E").strip() if following[:2] in {"  ", "E "} else ""
        is_long = found["path"] is not None and marked
        yield Frame(path=path, line=int(number), text=marked if is_long else below)
        marked = ""


def touched_lines(patch: bytes, traceback: str) -> TouchedLines:
    """The lines of a patch in a traceback's frames; the changed lines if no frame is in its files.

    Args:
        patch: The agent's patch.
        traceback: The traceback, or any output with one; may be empty.
    """
    files = [file for file in parse_patch(patch) if not file.removed]
    framed = [line for frame in frames_of(traceback) if (line := _line_of(files, frame))]
    if framed:
        innermost = list(dict.fromkeys(framed))[-_MAX_LINES:]
        return TouchedLines(lines=tuple(innermost), in_traceback=True)
    places = [place for file in files for place in _changed_places(file)]
    of_each = _MAX_OF_PLACE if len(places) > 1 else _MAX_LINES
    lines = [line for place in places for line in place[:of_each]][:_MAX_LINES]
    return TouchedLines(lines=tuple(lines), more=sum(map(len, places)) - len(lines))


def _line_of(files: Sequence[FilePatch], frame: Frame) -> PatchLine | None:
    """A frame as a line of the patch's files; None if it is in none of them."""
    for file in files:
        if frame.path == file.path or frame.path.endswith(f"/{file.path}"):
            new = (line for line in _numbered(file) if line.sign != "-")
            known = next((line for line in new if line.line == frame.line), None)
            # A frame in a changed file, but outside its hunks, is still the agent's code.
            unknown = PatchLine(path=file.path, line=frame.line, text=frame.text, sign=" ")
            return known or unknown
    return None


def _changed_places(file: FilePatch) -> Iterator[list[PatchLine]]:
    """The lines of each place that the patch changes: the added ones, or else the removed ones."""
    for is_same, group in groupby(_numbered(file), key=lambda line: line.sign == " "):
        lines = [line for line in group if line.text]
        if not is_same and lines:
            yield [line for line in lines if line.sign == "+"] or lines


def _numbered(file: FilePatch) -> Iterator[PatchLine]:
    """The lines of a file's patch, with their numbers in the new file."""
    for hunk in file.hunks:
        number = hunk.new_start
        for sign, text in hunk.signed_texts():
            yield PatchLine(path=file.path, line=number, text=text.strip(), sign=sign)
            number += sign != "-"
