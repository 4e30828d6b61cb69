"""Text that is safe to print in HTML, and text that is not."""

from __future__ import annotations

_ENTITIES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
)


class Safe(str):
    """Text that is printed as it is."""

    __slots__ = ()


def as_text(value: object) -> str:
    """How a value is printed, before escaping."""
    if value is None:
        return ""
    if value is True or value is False:
        return str(value).lower()
    return value if isinstance(value, str) else str(value)


def escape(value: object) -> Safe:
    """A value as safe text; what is safe already is left alone."""
    return value if isinstance(value, Safe) else Safe(as_text(value).translate(_ENTITIES))


def concatenate(left: object, right: object) -> str:
    """Two values as one text. If one of them is safe, the other is escaped."""
    if isinstance(left, Safe) or isinstance(right, Safe):
        return Safe(escape(left) + escape(right))
    return as_text(left) + as_text(right)
