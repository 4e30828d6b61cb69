"""Text that is safe to show: no control characters, no credentials."""

import base64
import codecs
import json
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from urllib.parse import quote

# A terminal command without an end counts as text; otherwise it would hide the rest.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)?")
# Cc: control; Cf: format (bidirectional overrides); Cs: lone surrogates; Zl, Zp: line ends.
_CONTROL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
REMOVED = b"[removed]"
_MIN_LENGTH = 8  # characters; a key such as `none` of a local server is no secret
_PACKED = re.compile(rb"H4sI[A-Za-z0-9+/_-]{12,}={0,2}")  # gzip, in base64
_UNPACKED_LIMIT = 1 << 20  # bytes
_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)S?$", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]+@")


def printable(text: str, *, limit: int | None = None, newlines: bool = False) -> str:
    """A text without escape sequences, with every other control character made visible.

    `newlines` keeps line ends and tabs; `limit` is the maximum length, including an ellipsis.
    """
    if text.isascii() and text.isprintable() and (limit is None or len(text) <= limit):
        return text  # the usual case
    allowed = {"\n", "\t"} if newlines else set()
    visible_text = "".join(
        char
        if char in allowed or unicodedata.category(char) not in _CONTROL
        else f"\\u{ord(char):04x}"
        for char in _ESCAPES.sub("", text)
    )
    if limit is not None and len(visible_text) > limit:
        return f"{visible_text[: limit - 1]}…"
    return visible_text


def one_line(text: str, *, limit: int) -> str:
    """A text as one line: every sequence of spaces and line ends is one space."""
    return printable(" ".join(text.split()), limit=limit)


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 task`, `2 tasks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def list_with_more(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are: `a, b and 7 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def secrets_in(environ: Mapping[str, str]) -> frozenset[str]:
    """The values of the variables whose names suggest secrets."""
    return frozenset(
        value for name, value in environ.items() if value and _SECRET_VARIABLE.search(name)
    )


class Redactor:
    """Removes some secrets from data. Safe to use from several threads."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {secret for secret in secrets if len(secret) >= _MIN_LENGTH}
        encoded = {form for secret in known for form in _encodings(secret)}
        self._encoded = tuple(sorted(encoded, key=len, reverse=True))

    def data(self, data: bytes) -> bytes:
        """The bytes without the secrets."""
        for form in self._encoded:
            if form in data:
                data = data.replace(form, REMOVED)
        if self._encoded and b"H4sI" in data:
            data = _PACKED.sub(self._redact_packed, data)
        return data

    def text(self, text: str) -> str:
        """The text without the secrets."""
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")

    def _redact_packed(self, found: re.Match[bytes]) -> bytes:
        data = found.group().rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        # The text around it may have added one character, which no base64 ends with.
        data = data[: len(data) - len(data) % 4] if len(data) % 4 == 1 else data
        inside = b""
        with suppress(ValueError, zlib.error):
            raw = base64.b64decode(data + b"=" * (-len(data) % 4))
            unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            inside = unpacking.decompress(raw, _UNPACKED_LIMIT)
        return REMOVED if any(form in inside for form in self._encoded) else found.group()


def _encodings(secret: str) -> Iterator[bytes]:
    for text in (secret, secret[::-1], codecs.encode(secret, "rot13")):
        data = text.encode()
        yield data
        yield from _escaped(text)
        yield from (data.hex().encode(), data.hex().upper().encode())
    data = secret.encode()
    # In base64, a secret inside a longer text has one of three forms, by its distance from the
    # start.
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).rstrip(b"=")
        start = -(-before * 4 // 3)  # the characters before depend on other bytes, too
        end = len(coded) if (before + len(data)) % 3 == 0 else len(coded) - 1
        inner = coded[start:end]
        yield from (inner, inner.translate(bytes.maketrans(b"+/", b"-_")))
    yield base64.b32encode(data).rstrip(b"=")
    yield from (base64.b85encode(data), base64.a85encode(data))


def _escaped(text: str) -> Iterator[bytes]:
    # The forms of a text in URLs, in JSON of several writers, and in HTML.
    for url in (quote(text, safe=""), quote(text), quote(text, safe="").replace("%20", "+")):
        yield from (url.encode(), re.sub(r"%..", lambda f: f.group().lower(), url).encode())
    plain = json.dumps(text)[1:-1]
    no_html = "".join(f"\\u{ord(c):04x}" if c in "<>&" else c for c in plain)
    for each in (plain, plain.replace("/", "\\/"), no_html):
        yield from (each.encode(), json.dumps(each)[1:-1].encode())
    yield text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").encode()


def without_credentials(text: str) -> str:
    """A text without the user names and passwords in its URLs."""
    return _CREDENTIALS.sub("", text)
