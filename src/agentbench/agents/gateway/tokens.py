"""How many tokens an answer took, by the rate that each kind is paid at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What a provider said of one answer; `input` counts all, whatever the cache did with it."""

    input: int = 0
    output: int = 0  # reasoning included
    cached: int = 0  # of the input, read from the provider's cache
    cache_written: int = 0  # of the input, written to the cache
    cache_written_1h: int = 0  # of those, the ones that stay for an hour


def counted(value: object) -> int:
    """A number of tokens as a provider wrote it; what is none counts nothing."""
    return value if type(value) is int and 0 <= value <= 1_000_000_000 else 0
