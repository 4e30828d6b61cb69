"""Strings and keys as TOML writes them."""

import re

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

_SHORT = {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}
_SPECIAL = re.compile(r'[\x00-\x1f\x7f"\\]')
_QUOTE_RUN = re.compile(r'"{3,}|"+$')


def key(name: str) -> str:
    """Return one key, quoted where it has to be."""
    return name if _BARE_KEY.fullmatch(name) else one_line(name)


def dotted(path: tuple[str, ...]) -> str:
    """Return the keys of a table's header."""
    return ".".join(key(name) for name in path)


def one_line(text: str) -> str:
    """Return a basic string, such as ``"C:\\\\temp"``."""
    return '"' + _SPECIAL.sub(_escaped, text) + '"'


def many_lines(text: str) -> str:
    """Return a multi-line basic string. Its line feeds stand for themselves.

    A parser drops a line feed that comes right after the opening quotes, so one is always written there:
    the text's own first line feed is then safe, and its lines begin at the left margin.
    """
    body = text.replace("\\", "\\\\")
    body = _QUOTE_RUN.sub(lambda run: '\\"' * len(run[0]), body)
    return '"""\n' + body + '"""'


def _escaped(special: re.Match[str]) -> str:
    character = special[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"
