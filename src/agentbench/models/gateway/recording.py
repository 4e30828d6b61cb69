"""A recording of a run's model answers, and its replay.

JSON Lines: a head, then one answer per line, with its bytes in the original chunks. Requests are
identified by digests. Several attempts may write at a time; each writes whole lines.
"""

import base64
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from pydantic import Field, ValidationError

from agentbench.core.display_text import Redactor
from agentbench.core.files import read_regular_file
from agentbench.core.schema import Schema
from agentbench.errors import InputError, StorageError
from agentbench.models.gateway.upstream import (
    Headers,
    ProviderRequest,
    ProviderResponse,
    Upstream,
    UpstreamError,
)
from agentbench.models.interface import ApiFormat, ModelErrorKind

# Parts that differ between runs and do not affect the answer.
_SESSION_FIELDS = frozenset(
    {"metadata", "user", "client_metadata", "prompt_cache_key", "safety_identifier", "session_id"}
)
_VOLATILE = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"  # UUIDs
    r"|\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?[\d.,]*(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\b\d{1,2}:\d{2}:\d{2}(?:\.\d+)?"
    r"|\b\d+(?:\.\d+)?\s?(?:s|ms|seconds)\b"
    r"|\b0x[0-9a-f]+"
    r"|\b(?:call|toolu|msg|fc|rs|resp|chatcmpl|req)[_-][A-Za-z0-9_-]+"
    r"|\b[0-9a-f]{12,64}\b"
    r"|/tmp/[^\s\"'\\)]+"
    r"|127\.0\.0\.1:\d+"
)
_DISCONNECT_MESSAGE = "the client disconnected here when this was recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDigest:
    """Two digests: of a request's text, and of its structure, if the text differs."""

    words: str
    outline: str


def request_digest(call: ProviderRequest) -> RequestDigest:
    """The digests of a request, without parts that differ between runs."""
    fields = {key: value for key, value in call.request.items() if key not in _SESSION_FIELDS}
    written = _VOLATILE.sub("~", json.dumps(fields, sort_keys=True, ensure_ascii=False))
    route = call.route
    where = f"{route.api_format.value} {route.counts_only} {route.action} {call.model} "
    # The structure: lengths of lists, and all values that are not text
    shape = {
        key: len(value) if isinstance(value, list) else value
        for key, value in fields.items()
        if not isinstance(value, str | dict)
    }
    outline = json.dumps(shape, sort_keys=True)
    return RequestDigest(words=_hash(where + written), outline=_hash(where + outline))


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


class RecordingHead(Schema):
    """The first line."""

    agentbench_recording: int = Field(default=1, ge=1, le=1)
    model: str
    wires: tuple[ApiFormat, ...]
    started: datetime


class RecordedAnswer(Schema):
    """One answer, or its failure."""

    lane: str  # the attempt
    words: str
    outline: str
    wire: ApiFormat
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[str, ...] = ()
    in_base64: bool = False  # if the chunks are not UTF-8
    failure: ModelErrorKind | None = None  # after the chunks
    message: str = ""

    def data(self) -> list[bytes]:
        """The original chunks."""
        if self.in_base64:
            return [base64.b64decode(chunk) for chunk in self.chunks]
        return [chunk.encode() for chunk in self.chunks]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A whole file."""

    head: RecordingHead
    answers: tuple[RecordedAnswer, ...]


def read_recording(path: Path) -> Recording:
    """Read a recording; a truncated last line is skipped.

    Raises:
        InputError: it cannot be read, or is not a recording.
    """
    try:
        lines = read_regular_file(path).splitlines()
        head = RecordingHead.model_validate_json(lines[0] if lines else b"")
    except OSError as fault:
        raise InputError(f"{path}: cannot be read: {fault.strerror}") from fault
    except ValidationError as fault:
        raise InputError(f"{path}: is not a recording made with --record") from fault
    answers = []
    for number, line in enumerate(lines[1:], 2):
        try:
            answers.append(RecordedAnswer.model_validate_json(line))
        except ValidationError as fault:
            if number == len(lines):
                break
            raise InputError(f"{path}:{number}: is not a recorded answer") from fault
    return Recording(head=head, answers=tuple(answers))


class RecordingFile:
    """Writes a recording. Safe to use from several attempts."""

    def __init__(self, path: Path, *, model: str, wires: tuple[ApiFormat, ...]) -> None:
        """Create it, or continue one of the same model.

        Raises:
            InputError: another file has that name.
            StorageError: it cannot be written.
        """
        old = read_recording(path) if path.exists() and path.stat().st_size else None
        if old is not None and old.head.model != model:
            raise InputError(f"{path}: is a recording of {old.head.model}, not of {model}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
        except OSError as fault:
            raise StorageError(f"{path}: cannot be written: {fault.strerror}") from fault
        if old is None:
            now = datetime.now(UTC)
            self.add(RecordingHead(model=model, wires=wires, started=now))

    def add(self, line: RecordingHead | RecordedAnswer) -> None:
        """Write a line.

        Raises:
            OSError: the disk is full, or gone.
        """
        self._file.write(line.model_dump_json().encode() + b"\n")

    def close(self) -> None:
        self._file.close()


@dataclass(slots=True)
class _AnswerSoFar:
    status: int | None = None
    headers: Headers = ()
    chunks: list[bytes] = field(default_factory=list)
    whole: bool = False
    failure: ModelErrorKind | None = None
    message: str = ""


class RecordingUpstream:
    """Forwards another upstream's answers, and records them.

    `add` gets a function that creates the record of an answer, to call it in another thread.
    """

    def __init__(
        self, inner: Upstream, keys: Redactor, add: Callable[[Callable[[], RecordedAnswer]], object]
    ) -> None:
        self.api_formats = inner.api_formats
        self._inner = inner
        self._keys = keys
        self._add = add

    @asynccontextmanager
    async def send(self, call: ProviderRequest) -> AsyncIterator[ProviderResponse]:
        draft = _AnswerSoFar()

        async def recorded_chunks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
            async for chunk in chunks:
                draft.chunks.append(chunk)
                yield chunk
            draft.whole = True

        def recorded() -> RecordedAnswer:
            digest = request_digest(call)
            if not draft.whole and draft.failure is None:
                draft.failure, draft.message = ModelErrorKind.CUT_STREAM, _DISCONNECT_MESSAGE
            data = [self._keys.data(chunk) for chunk in draft.chunks]
            try:
                in_base64, chunks = False, tuple(chunk.decode() for chunk in data)
            except UnicodeDecodeError:
                in_base64 = True
                chunks = tuple(base64.b64encode(chunk).decode() for chunk in data)
            return RecordedAnswer(
                lane=call.lane,
                words=digest.words,
                outline=digest.outline,
                wire=call.route.api_format,
                status=draft.status,
                headers=tuple((name, self._keys.text(value)) for name, value in draft.headers),
                chunks=chunks,
                in_base64=in_base64,
                failure=draft.failure,
                message=self._keys.text(draft.message),
            )

        try:
            async with self._inner.send(call) as answer:
                draft.status, draft.headers = answer.status, answer.headers
                yield replace(answer, chunks=recorded_chunks(answer.chunks))
        except UpstreamError as fault:
            draft.failure, draft.message = fault.failure.kind, fault.failure.message
            raise
        finally:
            self._add(recorded)


class ReplayedUpstream:
    """Replays each attempt's own answers, each of them once.

    A request gets the first unused answer to the same text, else to the same structure, else in
    the same format, in the order of the recording.
    """

    def __init__(self, recording: Recording) -> None:
        self.api_formats = recording.head.wires
        self._remaining: dict[str, list[RecordedAnswer]] = defaultdict(list)
        self._lock = Lock()
        for answer in recording.answers:
            self._remaining[answer.lane].append(answer)

    @asynccontextmanager
    async def send(self, call: ProviderRequest) -> AsyncIterator[ProviderResponse]:
        digest = request_digest(call)
        fits: tuple[Callable[[RecordedAnswer], bool], ...] = (
            lambda each: each.words == digest.words,
            lambda each: each.outline == digest.outline,
            lambda each: each.wire is call.route.api_format,
        )
        with self._lock:
            remaining = self._remaining[call.lane]
            fitting = (each for fit in fits for each in remaining if fit(each))
            found = next(fitting, None)
            if found is not None:
                remaining.remove(found)
        if found is None:
            lane = f" for {call.lane}" if call.lane else ""
            message = f"not in the recording: a request of {call.model}{lane} that was not made"
            raise UpstreamError(ModelErrorKind.CONNECTION, message)
        if found.status is None:
            raise _recorded_failure(found)

        async def replayed_chunks() -> AsyncIterator[bytes]:
            for chunk in found.data():
                yield chunk
            if found.failure is not None:
                raise _recorded_failure(found)

        yield ProviderResponse(status=found.status, headers=found.headers, chunks=replayed_chunks())


def _recorded_failure(recorded: RecordedAnswer) -> UpstreamError:
    kind = recorded.failure or ModelErrorKind.CONNECTION
    return UpstreamError(kind, recorded.message)
