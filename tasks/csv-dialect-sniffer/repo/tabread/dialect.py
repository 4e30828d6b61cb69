"""How a text is delimited."""

from dataclasses import dataclass

DELIMITERS = ",;\t|:"
QUOTES = "\"'"


@dataclass(frozen=True)
class Dialect:
    """The two characters that make a table of a text."""

    delimiter: str = ","
    quote: str = '"'

    def __post_init__(self):
        for name in ("delimiter", "quote"):
            value = getattr(self, name)
            if len(value) != 1 or value in "\r\n":
                raise ValueError(f"{name} must be one character, not {value!r}")
        if self.delimiter == self.quote:
            raise ValueError("delimiter and quote must differ")
