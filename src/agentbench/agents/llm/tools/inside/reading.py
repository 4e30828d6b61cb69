"""Shows a file's lines with their numbers, and what lines alone do not show."""

from __future__ import annotations

from collections.abc import Iterator

from agentbench.agents.llm.tools.inside.paths import RefusedError, content_of, shown

SHOWN_LIMIT = 30_000
"""Characters of an answer."""

_LINE_LIMIT = 2_000  # characters
_NUMBER = 8  # characters for a line's number


def read_file(root: str, path: str, start_line: int = 1, end_line: int | None = None) -> str:
    """Lines of a file, both ends included.

    Raises:
        RefusedError: there is no such line, or no such text file in the workspace.
    """
    content = content_of(root, path)
    if not content:
        return f"{shown(path)} is empty"
    lines = content.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    if start_line > len(lines):
        raise RefusedError(f"{shown(path)} ends with line {len(lines)}; no line {start_line}")
    wanted = lines[start_line - 1 : end_line]
    numbered = list(_as_many_as_fit(wanted, start_line))
    end = start_line + len(numbered) - 1
    head = [f"{shown(path)}: lines {start_line}-{end} of {len(lines)}", *_remarks(content)]
    left = len(wanted) - len(numbered)
    tail = [f"[{left} more lines; go on with start_line={end + 1}]"] if left else []
    return "\n".join([", ".join(head), *numbered, *tail])


def short(line: str) -> str:
    """A line of bearable length."""
    if len(line) <= _LINE_LIMIT:
        return line
    return f"{line[:_LINE_LIMIT]}[... {len(line) - _LINE_LIMIT} more characters]"


def _as_many_as_fit(lines: list[str], first: int) -> Iterator[str]:
    size = 0
    for number, line in enumerate(lines, first):
        text = short(line[:-1] if line.endswith("\r") else line)
        size += len(text) + _NUMBER
        if size > SHOWN_LIMIT:
            return
        yield f"{number:>6}\t{text}"


def _remarks(content: bytes) -> Iterator[str]:
    crlf = content.count(b"\r\n")
    if crlf:
        mixed = crlf != content.count(b"\n")
        yield "line endings mixed" if mixed else "CRLF line endings, which edit keeps"
    if not content.endswith(b"\n"):
        yield "no newline at the end"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"no UTF-8 from byte {error.start} on, shown as U+FFFD and kept by edit"
