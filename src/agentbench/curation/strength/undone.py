"""Half a fix: what a reference solution would be without one of its parts."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from agentbench.curation.strength.rewrites import Rewrite
from agentbench.stages.verification.mutation.source_text import SourceText, Span

_WHAT = "a part of the fix undone"
_IMPORT = re.compile(r"\s*(import|from)\s|\s*$")


def undone(before: str, source: SourceText) -> Iterator[Rewrite]:
    """For each part that a fix changed of a file: the fixed file, with that part as it was.

    Imports alone are no part: one that is missing breaks everything, one too many nothing.
    """
    old, new = before.splitlines(keepends=True), source.text.splitlines(keepends=True)
    starts = [0]
    for line in new:
        starts.append(starts[-1] + len(line))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag != "equal" and not _only_imports([*old[first:last], *new[start:end]]):
            span = Span(starts[start], starts[end])
            yield Rewrite(span=span, text="".join(old[first:last]), what=_WHAT)


def _only_imports(lines: Sequence[str]) -> bool:
    return all(_IMPORT.match(line) for line in lines)
