"""Lines of limited width."""

from colwrap.columns import cut, text_width
from colwrap.pieces import pieces


def wrap(text: str, columns: int, indent: str = "", hanging: str = "") -> list[str]:
    """Break a text into lines that take no more than so many columns.

    Args:
        text: The text; each line feed in it ends a line.
        columns: The width of a line, at least 1.
        indent: What the first line of all begins with.
        hanging: What all other lines begin with.

    Raises:
        ValueError: There is no column left beside an indent.
    """
    if columns - max(text_width(indent), text_width(hanging)) < 1:
        raise ValueError(f"no room for text: {columns} columns and an indent of {max(len(indent), len(hanging))}")
    lines: list[str] = []
    for paragraph in text.split("\n"):
        _wrap_line(paragraph, columns, indent, hanging, lines)
    return lines


def fill(text: str, columns: int, indent: str = "", hanging: str = "") -> str:
    """Return the lines of `wrap` joined by line feeds."""
    return "\n".join(wrap(text, columns, indent, hanging))


def truncate(text: str, columns: int, ellipsis: str = "…") -> str:
    """Return the text if it fits, else as much of its beginning as fits beside an ellipsis."""
    if text_width(text) <= columns:
        return text
    room = columns - text_width(ellipsis)
    if room < 0:
        return cut(ellipsis, columns)[0]
    return cut(text, room)[0] + ellipsis


def _wrap_line(line: str, columns: int, indent: str, hanging: str, lines: list[str]) -> None:
    """Append the lines that one line of the text becomes."""
    prefix = hanging if lines else indent
    current = ""
    for piece in pieces(line):
        room = columns - text_width(prefix) - text_width(current)
        if text_width(piece.text) <= room:
            current += piece.text
            continue
        if current.strip():
            lines.append((prefix + current).rstrip())
            prefix = hanging
        current = ""
        if piece.is_space:
            continue
        *full, current = _broken(piece.text, columns - text_width(prefix), columns - text_width(hanging))
        for part in full:
            lines.append(prefix + part)
            prefix = hanging
    if current.strip() or not line.strip():
        lines.append((prefix + current).rstrip())


def _broken(word: str, first: int, others: int) -> list[str]:
    """Cut a word into parts that fit; a character wider than a line is a part of its own."""
    parts: list[str] = []
    room = first
    while text_width(word) > room:
        part, rest = cut(word, room)
        if not part:
            part, rest = cut(word, text_width(word[0]))
        parts.append(part)
        word, room = rest, others
    return [*parts, word] if word or not parts else parts
