"""One request to a model with its result, and `llm.jsonl`, which has one exchange per line.

Clients repeat the whole conversation in each request. The log has its beginning only once: a line
with `same_as` shares the first `same_turns` turns and the fields in `same_fields` with that line.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from pathlib import Path

from pydantic import Field, ValidationError

from agentbench.core.display_text import Redactor
from agentbench.core.schema import JsonObject, Schema
from agentbench.core.untrusted_json import text
from agentbench.models.formats.interface import FormatAdapter
from agentbench.models.formats.registry import ApiRoute
from agentbench.models.interface import ApiFormat, ModelErrorKind, ModelFailure, TokenCounts

MAX_LOGGED_ANSWER = 4 << 20
"""The most bytes of an answer in the log; the rest is only forwarded."""
REQUEST_LIMIT = 4 << 20
"""The most characters of a request, without what earlier lines have."""
FILE_LIMIT = 256 << 20
"""The most bytes of a log; later lines have no bodies."""
_TURNS = ("messages", "input", "contents")
_MAX_BASE_LINES = 16  # lines that a new one may refer to


@dataclass(slots=True, kw_only=True)
class ModelExchange:
    """A request and its result so far."""

    time: datetime
    started: float  # on the gateway's clock, seconds
    route: ApiRoute
    path: str
    model: str
    request: JsonObject
    status: int | None = None  # of HTTP, as the client got it
    first_byte_s: float | None = None
    seconds: float | None = None
    tokens: TokenCounts | None = None
    cost_usd: float | None = None
    failure: ModelFailure | None = None
    note: str = ""  # why it was not forwarded
    abandoned: bool = False  # by the client, or at the end of the attempt
    answer: bytearray = field(default_factory=bytearray)
    left_out: int = 0  # bytes of the answer

    @property
    def format(self) -> FormatAdapter:
        """The adapter of its format."""
        return self.route.format

    def log_answer(self, data: bytes) -> None:
        """Add a part of the answer, up to the limit."""
        logged = data[: MAX_LOGGED_ANSWER - len(self.answer)]
        self.answer += logged
        self.left_out += len(data) - len(logged)


class LoggedTokens(Schema):
    """The tokens of an exchange; `input` counts all of the input."""

    input: int
    output: int
    cached: int
    cache_written: int


class LoggedExchange(Schema):
    """One request and its result."""

    line: int  # from 1
    time: datetime  # of its arrival
    wire: ApiFormat
    model: str
    path: str
    counts_only: bool = False  # only counted tokens
    status: int | None = None  # of HTTP, as the client got it
    seconds: float | None = None
    first_byte_s: float | None = None  # from its arrival to the first byte of the answer
    tokens: LoggedTokens | None = None
    cost_usd: float | None = None
    error: ModelErrorKind | None = None
    message: str = ""  # the error's, or why it was not forwarded
    abandoned: bool = False  # the client left before the end
    same_as: int | None = None  # a line
    same_turns: int = 0
    same_fields: tuple[str, ...] = ()
    request: JsonObject = Field(default_factory=dict)
    request_cut: str = ""  # instead of `request`, if that was too long
    answer: str = ""  # unchanged: JSON, or events
    answer_left_out: int = 0  # bytes


@dataclass(frozen=True, slots=True)
class _LineDigests:
    """The digests of an earlier line's content."""

    line: int
    wire: ApiFormat
    turns: tuple[bytes, ...]
    fields: dict[str, bytes]


class ExchangeLog:
    """Writes the log of one attempt; used by one thread at a time."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._redactor = redactor
        self._lines = 0
        self._bytes = 0
        self._known: list[_LineDigests] = []

    def write(self, exchange: ModelExchange) -> None:
        """Add a line.

        Raises:
            OSError: the disk is full, or gone.
        """
        self._lines += 1
        line = self._logged(exchange).model_dump_json(exclude_defaults=True)
        data = self._redactor.data(line.encode("utf-8", "replace")) + b"\n"
        self._bytes += len(data)
        self._file.write(data)

    def close(self) -> None:
        """End the file."""
        self._file.close()

    def _logged(self, exchange: ModelExchange) -> LoggedExchange:
        failure, tokens = exchange.failure, exchange.tokens
        logged = LoggedExchange(
            line=self._lines,
            time=exchange.time,
            wire=exchange.route.api_format,
            model=text(exchange.model, 200),
            path=text(exchange.path, 1000),
            counts_only=exchange.route.counts_only,
            status=exchange.status,
            seconds=_rounded(exchange.seconds),
            first_byte_s=_rounded(exchange.first_byte_s),
            tokens=LoggedTokens.model_validate(tokens, from_attributes=True) if tokens else None,
            cost_usd=exchange.cost_usd,
            error=failure.kind if failure else None,
            message=failure.message if failure else exchange.note,
            abandoned=exchange.abandoned,
        )
        if self._bytes > FILE_LIMIT:
            return logged
        answer = exchange.answer.decode("utf-8", "replace")
        bodies = {"answer": answer, "answer_left_out": exchange.left_out}
        return logged.replace(**bodies, **self._shared(exchange))

    def _shared(self, exchange: ModelExchange) -> dict[str, object]:
        """The request without what an earlier line has."""
        request = exchange.request
        name, turns = _turns_of(request)
        known = _LineDigests(
            line=self._lines,
            wire=exchange.route.api_format,
            turns=tuple(map(_digest, turns)),
            fields={key: _digest(value) for key, value in request.items() if key != name},
        )
        base = max(
            (each for each in self._known if each.wire is known.wire),
            key=lambda each: _common_prefix(each.turns, known.turns),
            default=None,
        )
        if base is None:
            return self._capped(request, known)
        count = _common_prefix(base.turns, known.turns)
        same = tuple(key for key, value in known.fields.items() if base.fields.get(key) == value)
        rest = {key: value for key, value in request.items() if key not in same}
        if name:
            rest[name] = turns[count:]
        reference = {"same_as": base.line, "same_turns": count, "same_fields": same}
        return {**reference, **self._capped(rest, known)}

    def _capped(self, request: JsonObject, known: _LineDigests) -> dict[str, object]:
        written = json.dumps(request)
        if len(written) > REQUEST_LIMIT:
            return {"request": {}, "request_cut": text(written, REQUEST_LIMIT)}
        self._known = [*self._known[1 - _MAX_BASE_LINES :], known]
        return {"request": request}


def read_exchanges(path: Path) -> Iterator[LoggedExchange]:
    """The exchanges of a log with their whole requests; truncated lines are skipped."""
    requests: dict[int, JsonObject] = {}
    with path.open("rb") as lines:
        for line in lines:
            try:
                logged = LoggedExchange.model_validate_json(line)
            except ValidationError:
                continue
            requests[logged.line] = _full_request(logged, requests.get(logged.same_as or 0, {}))
            yield logged.replace(request=requests[logged.line])


def _full_request(logged: LoggedExchange, base: JsonObject) -> JsonObject:
    fields = {key: base[key] for key in logged.same_fields if key in base}
    name, rest = _turns_of(logged.request)
    if logged.same_turns and name:
        fields[name] = [*_turns_of(base)[1][: logged.same_turns], *rest]
    return {**logged.request, **fields}


def _turns_of(request: JsonObject) -> tuple[str, list[object]]:
    for name in _TURNS:
        turns = request.get(name)
        if isinstance(turns, list):
            return name, turns
    return "", []


def _common_prefix(one: tuple[bytes, ...], other: tuple[bytes, ...]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _digest(value: object) -> bytes:
    written = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(written.encode("utf-8", "replace"), digest_size=16).digest()


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
