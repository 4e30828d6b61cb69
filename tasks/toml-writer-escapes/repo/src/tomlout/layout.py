"""Choices of layout."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How a document is laid out; none of it changes what the document says."""

    width: int = 88
    indent: int = 4
    multiline: bool = True
    sort_keys: bool = False

    def __post_init__(self) -> None:
        if self.indent < 0:
            raise ValueError(f"indent is {self.indent}; give 0 or more")
