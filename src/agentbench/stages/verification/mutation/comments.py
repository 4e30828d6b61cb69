"""Comments without their text, as people write down there what a test should find."""

import re
import tokenize
from collections.abc import Iterator

from agentbench.errors import InputError
from agentbench.stages.verification.mutation.edits import Edit, apply_edits
from agentbench.stages.verification.mutation.source_text import SourceText, Span

_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")
_NO_CODE = re.compile(r"[ \t\f]*(?:#|$)")


def without_comments(source: SourceText) -> str:
    """The text with nothing but `#` of each comment, and all code in its place.

    Raises:
        InputError: The text cannot be taken apart.
    """
    kept = _read_by_the_interpreter(source)
    return apply_edits(
        source.text,
        [Edit(span=span, text="#") for line, span in _comments(source) if line not in kept],
    )


def _comments(source: SourceText) -> Iterator[tuple[int, Span]]:
    lines = (f"{source.line(number)}\n" for number in range(1, source.line_count + 1))
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                start = source.line_start(line) + column
                yield line, Span(start, start + len(token.string))
    except (tokenize.TokenError, SyntaxError) as error:
        raise InputError(
            f"{source.path}: its comments cannot be told: {error}; give valid Python"
        ) from error


def _read_by_the_interpreter(source: SourceText) -> set[int]:
    """The lines with a shebang or the file's encoding, if it has any."""
    first = source.line(1)
    kept = {1} if first.startswith("#!") or _COOKIE.match(first) else set()
    if source.line_count > 1 and _NO_CODE.match(first) and _COOKIE.match(source.line(2)):
        kept.add(2)
    return kept
