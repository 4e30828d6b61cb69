"""The text of a Python file with the positions of its syntax tree's nodes, and edits of it."""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from agentbench.errors import InputError
from agentbench.python_source import python_syntax

# str.splitlines knows more line ends than Python's grammar, such as a form feed.
_LINE_END = re.compile(r"\r\n|\r|\n")
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True, order=True)
class SourceSpan:
    """A range of a text in characters; `end` is the first one after it."""

    start: int
    end: int

    def overlaps(self, other: "SourceSpan") -> bool:
        """Whether two ranges share a character."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """A parsed test file."""

    path: str
    text: str
    tree: ast.Module
    _starts: list[int] = field(repr=False)

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> SourceSpan:
        """The range of a node; only valid outside of f-strings."""
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None  # the parser sets both
        assert end_column is not None
        start = self._offset(node.lineno, node.col_offset)
        return SourceSpan(start, self._offset(end_line, end_column))

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """The source text of a node."""
        span = self.span(node)
        return self.text[span.start : span.end]

    def line_end(self, line: int) -> str:
        """The end of a line, counted from 1; a line feed if the last line has none."""
        start, following = self._starts[line - 1], self._starts[min(line, len(self._starts) - 1)]
        found = _LINE_END.search(self.text, start, max(following, start))
        return found.group() if found else "\n"

    @property
    def line_count(self) -> int:
        # Includes an empty one after the last line end.
        return len(self._starts)

    def line(self, line: int) -> str:
        """A line, counted from 1, without its end."""
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return _LINE_END.sub("", self.text[start:end])

    def line_start(self, line: int) -> int:
        """The start of a line, counted from 1."""
        return self._starts[line - 1]

    def line_of(self, offset: int) -> int:
        """The line of a character, counted from 1."""
        return bisect_right(self._starts, offset)

    def _offset(self, line: int, column: int) -> int:
        start = self._starts[line - 1]
        following = self._starts[line] if line < len(self._starts) else len(self.text)
        written = self.text[start:following]
        if written.isascii():
            return start + column
        return start + len(written.encode()[:column].decode())


def parse_source(text: str, path: str) -> SourceText:
    """Parse a test file.

    Raises:
        InputError: this interpreter cannot compile the text.
    """
    # The parser does not count it, so all positions would be off by one.
    bare = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        bare.encode()
        tree = python_syntax.parse(bare, path)
        python_syntax.check(tree, path)
    except SyntaxError as error:
        raise InputError(f"{path}: line {error.lineno}: {error.msg}; give valid Python") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: cannot be parsed: {error}; give valid Python") from error
    starts = [0, *(found.end() for found in _LINE_END.finditer(bare))]
    return SourceText(path=path, text=bare, tree=tree, _starts=starts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEdit:
    """New text for a range of the old one; an empty range is an insertion."""

    span: SourceSpan
    text: str
    rank: int = 0  # if two edits have the same range, the higher rank counts


def edit_keeping_lines(
    source: SourceText, span: SourceSpan, text: str, *, rank: int = 0
) -> SourceEdit:
    """An edit that keeps the number of lines; the new text must end with a bracket."""
    missing_lines = source.text[span.start : span.end].count("\n") - text.count("\n")
    return SourceEdit(span=span, text=text[:-1] + "\n" * missing_lines + text[-1:], rank=rank)


def apply_edits(text: str, edits: Iterable[SourceEdit]) -> str:
    """The text with all edits applied; edits inside of others are skipped."""
    parts: list[str] = []
    done = 0
    for edit in sorted(
        edits, key=lambda e: (e.span.start, e.span.end > e.span.start, -e.span.end, -e.rank)
    ):
        if edit.span.start < done:
            continue
        parts += text[done : edit.span.start], edit.text
        done = edit.span.end
    return "".join([*parts, text[done:]])
