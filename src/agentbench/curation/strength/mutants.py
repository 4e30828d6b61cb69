"""The mutants of a reference solution: the fixed files, each with one small wrong change.

Ours and not a tool's: cosmic-ray 8.7 brings SQLAlchemy and aiohttp and has no change that leaves a
statement or an argument out; mutmut 3.8 brings textual, and what it changes is no public interface.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import CodeType

from agentbench.curation.strength.results import Change, Scope
from agentbench.curation.strength.rewrites import Rewrite, rewrites_at
from agentbench.curation.strength.same_code import comparable_code, is_same
from agentbench.curation.strength.sites import sites
from agentbench.curation.strength.touched import Touched, lines_of_functions, touched_lines
from agentbench.curation.strength.undone import undone
from agentbench.errors import InputError
from agentbench.stages.verification.mutation.source_text import SourceText, parse_source

FEW = 20
"""With fewer mutants of a fix's own lines, the functions around them are changed as well."""
_LINES_SHOWN = 6
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedFile:
    """A file of Python as it was, and as the reference solution leaves it."""

    path: PurePosixPath
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One file of the fixed tree with a small wrong change."""

    path: PurePosixPath
    content: bytes
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutants:
    """All mutants of a fix."""

    scope: Scope
    found: tuple[Mutant, ...]
    equivalent: int = 0
    """How many were left out since they compile to the same."""
    unread: tuple[str, ...] = ()
    """The files that are no Python that this interpreter can compile, each with the reason."""

    def drawn(self, most: int, *, seed: int) -> tuple[Mutant, ...]:
        """At most so many of them, in their order."""
        if len(self.found) <= most:
            return self.found
        chosen = random.Random(seed).sample(range(len(self.found)), most)
        return tuple(self.found[at] for at in sorted(chosen))


def mutants_of(files: Sequence[FixedFile]) -> Mutants:
    """All mutants of a fix's own lines, or of the functions that it touches where those are few."""
    read: list[_Read] = []
    unread: list[str] = []
    for file in files:
        try:
            read.append(_Read.of(file))
        except InputError as error:
            unread.append(str(error))
    made = _made({one: _within(one.source, one.touched.changed) for one in read})
    scope = Scope.LINES
    if len(made.found) < FEW:
        scope = Scope.FUNCTIONS
        made = _made({one: _within(one.source, one.wider) for one in read})
    halves = _made(_halves(read))
    return Mutants(
        scope=scope,
        found=(*halves.found, *made.found),
        equivalent=halves.equivalent + made.equivalent,
        unread=tuple(unread),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Read:
    file: FixedFile
    before: str
    source: SourceText
    touched: Touched

    @classmethod
    def of(cls, file: FixedFile) -> "_Read":
        """Read a fixed file.

        Raises:
            InputError: it is no Python that this interpreter can compile.
        """
        try:
            text = file.after.decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{file.path}: expected UTF-8, found {error.reason}") from None
        before = file.before.decode("utf-8", "replace")
        source = parse_source(text, file.path.as_posix())
        before = before.removeprefix(_BYTE_ORDER_MARK)
        touched = touched_lines(before, source.text)
        return cls(file=file, before=before, source=source, touched=touched)

    @property
    def wider(self) -> frozenset[int]:
        return self.touched.changed | lines_of_functions(self.source.tree, self.touched)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    found: tuple[Mutant, ...]
    equivalent: int


def _made(rewrites: Mapping[_Read, Iterable[Rewrite]]) -> _Made:
    found: list[Mutant] = []
    equivalent = 0
    for read, wanted in rewrites.items():
        original = comparable_code(read.source.text)
        for rewrite, text in _texts(read.source, wanted):
            code = _compiled(text)
            if code is None:
                continue
            if is_same(original, code):
                equivalent += 1
            else:
                found.append(_mutant(read, rewrite, text))
    return _Made(found=tuple(found), equivalent=equivalent)


def _compiled(text: str) -> CodeType | None:
    try:
        return comparable_code(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _halves(read: Iterable[_Read]) -> Mapping[_Read, tuple[Rewrite, ...]]:
    """Each part of the fix undone; one that has a single part would be no fix at all."""
    parts = {one: tuple(undone(one.before, one.source)) for one in read if one.before}
    return parts if sum(map(len, parts.values())) > 1 else {}


def _within(source: SourceText, lines: frozenset[int]) -> Iterator[Rewrite]:
    for node in sites(source.tree):
        for rewrite in rewrites_at(node, source):
            if source.line_of(rewrite.span.start) in lines:
                yield rewrite


def _texts(source: SourceText, rewrites: Iterable[Rewrite]) -> Iterator[tuple[Rewrite, str]]:
    """The whole text with each rewrite made; each text once."""
    seen = {source.text}
    for rewrite in rewrites:
        before, after = source.text[: rewrite.span.start], source.text[rewrite.span.end :]
        text = f"{before}{rewrite.text}{after}"
        if text not in seen:
            seen.add(text)
            yield rewrite, text


def _mutant(read: _Read, rewrite: Rewrite, text: str) -> Mutant:
    mark = _BYTE_ORDER_MARK if read.file.after.startswith(_BYTE_ORDER_MARK.encode()) else ""
    return Mutant(
        path=read.file.path,
        content=f"{mark}{text}".encode(),
        change=_change(read.source, rewrite, text),
    )


def _change(source: SourceText, rewrite: Rewrite, text: str) -> Change:
    start = source.line_of(rewrite.span.start)
    end = source.line_of(max(rewrite.span.start, rewrite.span.end - 1))
    first = source.line_start(start)
    stop = source.line_start(end) + len(source.line(end))
    grown = len(text) - len(source.text)
    return Change(
        path=source.path,
        line=start,
        what=rewrite.what,
        removed=_shown(source.text[first:stop]),
        added=_shown(text[first : stop + grown]),
    )


def _shown(text: str) -> str:
    lines = text.splitlines()
    kept = [line.strip() for line in lines[:_LINES_SHOWN]]
    return "\n".join([*kept, "…"] if len(lines) > _LINES_SHOWN else kept)
