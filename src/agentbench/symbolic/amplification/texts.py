"""Other texts, near to one that a test has: a sign put in, a word left out, another text."""

import re
from collections.abc import Iterator, Sequence
from random import Random

_EDITS = 40  # that are drawn of all
_SIGNS = 4  # of other texts, besides its own
_WORDS = 3  # of other texts, that are put in at a place
_LONGEST_NAME = 3  # characters: it is a name for something, and not in a language of its own
_PART = re.compile(r"\w+|\s+|[^\w\s]")


def other_texts(value: str, texts: Sequence[str], random: Random) -> list[str]:
    """Texts to take in exchange; every sign that the others have is put in everywhere."""
    others = random.sample(list(texts), min(2, len(texts)))
    if len(value) <= _LONGEST_NAME and value.isalnum():
        return [other for other in others if other != value]
    parts = _PART.findall(value)
    known = dict.fromkeys(part for text in (value, *texts) for part in _PART.findall(text))
    signs = [part for part in known if not part.isalnum() and not part.isspace()]
    own = [part for part in signs if part in parts]
    foreign = [part for part in signs if part not in parts]
    words = [part for part in known if part.isalnum()]
    drawn = [*own, *_some(foreign, _SIGNS, random), *_some(words, _WORDS, random)]
    edits = list(dict.fromkeys("".join(edit) for edit in _edits(parts, drawn)))
    found = random.sample(edits, min(_EDITS, len(edits))) + others[:1]
    return [other for other in dict.fromkeys(found) if other != value]


def _some(parts: Sequence[str], most: int, random: Random) -> list[str]:
    return random.sample(parts, min(most, len(parts)))


def _edits(parts: Sequence[str], drawn: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(len(parts) + 1):
        for other in drawn:
            yield (*parts[:at], other, *parts[at:])
            if at < len(parts) and parts[at].isalnum() == other.isalnum():
                yield (*parts[:at], other, *parts[at + 1 :])
        if at < len(parts):
            yield (*parts[:at], *parts[at + 1 :])
            yield (*parts[:at], parts[at], *parts[at:])
