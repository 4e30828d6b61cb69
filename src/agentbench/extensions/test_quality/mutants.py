"""The mutants of a reference solution: the fixed files, each with one small wrong change.

They are our own because cosmic-ray 8.7 needs SQLAlchemy and aiohttp and never removes a statement
or an argument, and mutmut 3.8 needs textual and has no public interface for its changes.
"""

import ast
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import chain
from pathlib import PurePosixPath
from types import CodeType

from agentbench.errors import InputError
from agentbench.extensions.test_quality.mutation_rewrites import (
    Rewrite,
    changeable_nodes,
    omissions_at,
    rewrites_at,
    undo_parts,
)
from agentbench.python_source import python_syntax
from agentbench.python_source.source_text import SourceText, parse_source
from agentbench.validation.mutation_results import MutantChange, MutationScope

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FEW_MUTANTS = 20
"""With fewer mutants of a fix's own lines, the whole functions around them are mutated, too."""
_MAX_CONTEXT_LINES = 6
_BYTE_ORDER_MARK = "\ufeff"
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchedLines:
    """Lines of a fixed file, counted from 1."""

    changed: frozenset[int]  # the lines that the fix added or replaced
    beside: frozenset[int] = frozenset()  # the lines next to removed ones


def touched_lines(before: str, after: str) -> TouchedLines:
    """The lines that a change between two texts touches."""
    old, new = before.splitlines(), after.splitlines()
    changed: set[int] = set()
    beside: set[int] = set()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag == "delete":
            beside |= {start, start + 1} & set(range(1, len(new) + 1))
        elif tag != "equal":
            changed.update(range(start + 1, end + 1))
    return TouchedLines(changed=frozenset(changed), beside=frozenset(beside))


def lines_of_functions(tree: ast.Module, touched: TouchedLines) -> frozenset[int]:
    """All lines of the innermost functions that a fix touches."""
    spans = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, FunctionNode)
    ]
    return frozenset().union(
        *(
            min((span for span in spans if line in span), key=len, default=range(0))
            for line in touched.changed | touched.beside
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedFile:
    """A file before and after the reference solution; empty before: it is new."""

    path: PurePosixPath
    before: bytes
    after: bytes
    in_package: bool = False  # whether its folder has an `__init__.py`


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One file of the fixed tree with a small wrong change."""

    path: PurePosixPath
    content: bytes | None  # None: the file is as it was before the fix
    change: MutantChange
    is_partial: bool = False  # whether a part of the fix is left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutants:
    """All mutants of a fix."""

    scope: MutationScope
    groups: tuple[tuple[Mutant, ...], ...]
    """The most plausible wrong fixes first: parts left out, the fix's own lines, its functions."""
    equivalent: int = 0  # the number of skipped mutants that compile to the same code
    unread: tuple[str, ...] = ()
    """The files that this interpreter cannot compile, each with the reason."""

    @property
    def found(self) -> tuple[Mutant, ...]:
        """The mutants of all groups."""
        return tuple(chain.from_iterable(self.groups))

    def drawn(self, most: int, *, seed: int) -> tuple[Mutant, ...]:
        """At most so many mutants, in order; a sample of the first group that is too large."""
        drawn: list[Mutant] = []
        for mutants in self.groups:
            number = min(len(mutants), most - len(drawn))
            chosen = random.Random(seed).sample(range(len(mutants)), number)
            drawn += (mutants[at] for at in sorted(chosen))
        return tuple(drawn)


def mutants_of(files: Sequence[FixedFile], others: Sequence[FixedFile] = ()) -> Mutants:
    """The mutants of a fix's own lines, or of the functions around them if those are few.

    Args:
        files: The Python files of the fix.
        others: Its other files, of which only parts are left out.
    """
    read: list[ParsedFile] = []
    unread: list[str] = []
    for file in files:
        try:
            read.append(ParsedFile.of(file))
        except InputError as error:
            unread.append(str(error))
    scope = MutationScope.LINES
    own = {one: _rewrites_within(one.source, one.touched.changed) for one in read}
    found, equivalent = _make_mutants(own)
    around: list[Mutant] = []
    if len(found) < FEW_MUTANTS:
        scope = MutationScope.FUNCTIONS
        # A fix of a line or two gives too few mutants for a share of them to say something.
        wider = {one: _rewrites_within(one.source, one.wider) for one in read}
        around, equivalent = _make_mutants(wider)
    code = [one for one in others if not _is_documentation(one.path)]
    undone: list[Mutant] = []
    places: dict[PurePosixPath, int] = {}
    for one in (each for each in read if each.before):
        parts = tuple(undo_parts(one.before, one.source.text))
        made, without_effect = _make_mutants({one: parts})
        undone += made
        equivalent += without_effect
        places[one.file.path] = len(parts) - without_effect
    for file in code:
        made = _undone_parts(file)
        undone += made if len(made) > 1 else ()  # a single part is the file, which follows
        places[file.path] = len(made)
    changed = [*(one.file for one in read), *code]
    if len(changed) > 1:
        one_part = {one.file.path for one in read if places.get(one.file.path) == 1}
        undone += (_left_out(file) for file in changed if file.path not in one_part)
    elif sum(places.values()) == 1:
        undone = []  # it would be the whole fix
    omitted, _ = _make_mutants(
        {one: _rewrites_within(one.source, one.touched.changed, omissions_at) for one in read}
    )
    partial = [replace(one, is_partial=True) for one in (*undone, *omitted)]
    known: set[tuple[PurePosixPath, bytes | None]] = set()
    groups: list[tuple[Mutant, ...]] = []
    for mutants in (partial, found, around):
        unique = {(one.path, one.content): one for one in mutants}
        groups.append(tuple(one for key, one in unique.items() if key not in known))
        known |= unique.keys()
    return Mutants(
        scope=scope,
        groups=tuple(groups),
        equivalent=equivalent,
        unread=tuple(unread),
    )


# Tests do not read these.
def _is_documentation(path: PurePosixPath) -> bool:
    is_text = path.suffix in {".md", ".rst"} or path.stem.isupper()
    return is_text or not {"doc", "docs"}.isdisjoint(path.parts)


# A file that is not Python, with one part of its change undone.
def _undone_parts(file: FixedFile) -> list[Mutant]:
    try:
        before, after = file.before.decode(), file.after.decode()
    except UnicodeDecodeError:
        return []
    return [
        Mutant(
            path=file.path,
            content=f"{after[: one.span.start]}{one.text}{after[one.span.end :]}".encode(),
            change=MutantChange(
                path=file.path.as_posix(),
                line=after.count("\n", 0, one.span.start) + 1,
                what=one.what,
                removed=_context_lines(after[one.span.start : one.span.end]),
                added=_context_lines(one.text),
            ),
        )
        for one in undo_parts(before, after)
    ]


def _left_out(file: FixedFile) -> Mutant:
    what = "the change to this file left out"
    change = MutantChange(path=file.path.as_posix(), line=1, what=what, removed="", added="")
    return Mutant(path=file.path, content=None, change=change)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ParsedFile:
    """A Python file of a fix."""

    file: FixedFile
    before: str
    source: SourceText
    touched: TouchedLines

    @classmethod
    def of(cls, file: FixedFile) -> "ParsedFile":
        """Parse a file.

        Raises:
            InputError: This interpreter cannot compile it, or it is not UTF-8.
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
        """The mutants of the functions around the fix."""
        return self.touched.changed | lines_of_functions(self.source.tree, self.touched)

    def with_rewrite(self, rewrite: Rewrite) -> str:
        """The text of the fixed file with one more change."""
        text = self.source.text
        return f"{text[: rewrite.span.start]}{rewrite.text}{text[rewrite.span.end :]}"


# The mutants, and how many others compile to the same code.
def _make_mutants(rewrites: Mapping[ParsedFile, Iterable[Rewrite]]) -> tuple[list[Mutant], int]:
    found: list[Mutant] = []
    equivalent = 0
    for read, file_rewrites in rewrites.items():
        source = read.source.text
        original = comparable_code(source)
        known_texts = {source}
        for rewrite in file_rewrites:
            text = read.with_rewrite(rewrite)
            if text in known_texts:
                continue
            known_texts.add(text)
            try:
                code = comparable_code(text)
            except python_syntax.UNPARSABLE:
                continue
            if code == original:
                equivalent += 1
            else:
                has_mark = read.file.after.startswith(_BYTE_ORDER_MARK.encode())
                mark = _BYTE_ORDER_MARK if has_mark else ""
                found.append(
                    Mutant(
                        path=read.file.path,
                        content=f"{mark}{text}".encode(),
                        change=change_of(read.source, rewrite, text),
                    )
                )
    return found, equivalent


def _rewrites_within(
    source: SourceText,
    lines: frozenset[int],
    rewrites: Callable[[ast.AST, SourceText], Iterator[Rewrite]] = rewrites_at,
) -> Iterator[Rewrite]:
    for node in changeable_nodes(source.tree):
        for rewrite in rewrites(node, source):
            if source.line_of(rewrite.span.start) in lines:
                yield rewrite


def change_of(source: SourceText, rewrite: Rewrite, text: str) -> MutantChange:
    """A change for a reader; `text` is the whole file after it."""
    start = source.line_of(rewrite.span.start)
    end = source.line_of(max(rewrite.span.start, rewrite.span.end - 1))
    first = source.line_start(start)
    stop = source.line_start(end) + len(source.line(end))
    grown = len(text) - len(source.text)
    return MutantChange(
        path=source.path,
        line=start,
        what=rewrite.what,
        removed=_context_lines(source.text[first:stop]),
        added=_context_lines(text[first : stop + grown]),
    )


def _context_lines(text: str) -> str:
    lines = text.splitlines()
    context = [line.strip() for line in lines[:_MAX_CONTEXT_LINES]]
    return "\n".join([*context, "…"] if len(lines) > _MAX_CONTEXT_LINES else context)


def comparable_code(source: str) -> CodeType:
    """The code object of a source without docstrings and line numbers; raises what `parse` raises.

    Two of these objects are equal if they do the same: 1, 1.0 and True are different constants.
    """
    tree = python_syntax.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body[:1] = [] if node.body[1:] else [ast.copy_location(ast.Pass(), node.body[0])]
    return _without_lines(python_syntax.code_of(tree))


def _without_lines(code: CodeType) -> CodeType:
    constants = (_without_lines(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_firstlineno=1, co_linetable=b"", co_consts=tuple(constants))
