"""Changes to a text by position, where an outer change takes the place of those within it."""

from collections.abc import Iterable
from dataclasses import dataclass

from agentbench.stages.verification.mutation.source_text import SourceText, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New text in the place of a piece of the old; a piece of no length is an insertion."""

    span: Span
    text: str
    rank: int = 0
    """Of two edits of one piece, the higher rank counts."""


def replaced(source: SourceText, span: Span, text: str, *, rank: int = 0) -> Edit:
    """An edit that keeps the number of lines: the new text must end with a bracket."""
    lost = source.text[span.start : span.end].count("\n") - text.count("\n")
    return Edit(span=span, text=text[:-1] + "\n" * lost + text[-1:], rank=rank)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; one that lies within another is left out."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=_order):
        if edit.span.start < done:
            continue
        parts += text[done : edit.span.start], edit.text
        done = edit.span.end
    return "".join([*parts, text[done:]])


def _order(edit: Edit) -> tuple[int, bool, int, int]:
    return edit.span.start, edit.span.end > edit.span.start, -edit.span.end, -edit.rank
