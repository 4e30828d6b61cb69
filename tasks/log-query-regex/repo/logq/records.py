"""Lines of ``key=value`` pairs."""

import re

_PAIR = re.compile(r'(?P<key>[^\s="]+)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]*))(?=\s|$)')
_ESCAPE = re.compile(r"\\(.)")
_CONTROLS = {"n": "\n", "t": "\t"}

Record = dict[str, str]


def parse_record(line: str) -> Record:
    """Return the pairs of a line; anything else on it is passed over. The last of equal keys counts."""
    return {pair["key"]: _value(pair) for pair in _PAIR.finditer(line)}


def _value(pair: re.Match[str]) -> str:
    if pair["quoted"] is None:
        return pair["bare"]
    return unescape(pair["quoted"])


def unescape(quoted: str) -> str:
    r"""Return what stands between quotes, with ``\"``, ``\n`` and the like resolved."""
    return _ESCAPE.sub(lambda found: _CONTROLS.get(found[1], found[1]), quoted)
