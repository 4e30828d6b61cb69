"""A run's model answers in a file: written as they come, and read to be given again.

JSON Lines: a head, then one answer each, with the bytes as they came and where they were cut into
chunks. Requests are there by digest alone. Several attempts write at a time, each answer in one go.
"""

import base64
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pydantic import Field, ValidationError

from agentbench.agents.gateway.redaction import Redactor
from agentbench.agents.gateway.request_digest import digest_of
from agentbench.agents.gateway.upstream import Answer, Call, Headers, Upstream, UpstreamError
from agentbench.agents.model_door import ModelErrorKind, Wire
from agentbench.errors import InputError, StorageError
from agentbench.schema import Schema

_LEFT = "when this was recorded, the client left here"


class RecordingHead(Schema):
    """The first line."""

    agentbench_recording: int = Field(default=1, ge=1, le=1)
    model: str
    wires: tuple[Wire, ...]
    started: datetime


class RecordedAnswer(Schema):
    """One answer, or its failure."""

    lane: str  # the attempt
    words: str
    outline: str
    wire: Wire
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[str, ...] = ()
    in_base64: bool = False  # where the chunks are no UTF-8
    failure: ModelErrorKind | None = None  # after the chunks
    message: str = ""

    def data(self) -> list[bytes]:
        """The chunks as they came."""
        if self.in_base64:
            return [base64.b64decode(chunk) for chunk in self.chunks]
        return [chunk.encode() for chunk in self.chunks]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A whole file."""

    head: RecordingHead
    answers: tuple[RecordedAnswer, ...]


def read_recording(path: Path) -> Recording:
    """Read a recording; a last line that is torn is left out.

    Raises:
        InputError: it cannot be read, or is something else.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as fault:
        raise InputError(f"{path}: cannot be read: {fault.strerror}") from fault
    try:
        head = RecordingHead.model_validate_json(lines[0] if lines else b"")
    except ValidationError as fault:
        raise InputError(f"{path}: is no recording made with --record") from fault
    answers = []
    for number, line in enumerate(lines[1:], 2):
        try:
            answers.append(RecordedAnswer.model_validate_json(line))
        except ValidationError as fault:
            if number == len(lines):
                break
            raise InputError(f"{path}:{number}: is no recorded answer") from fault
    return Recording(head=head, answers=tuple(answers))


class RecordingFile:
    """A recording that is being written; lines of several attempts may come at a time."""

    def __init__(self, path: Path, *, model: str, wires: tuple[Wire, ...]) -> None:
        """Begin it, or go on with one of the same model.

        Raises:
            InputError: there is another file of that name.
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
            self._put(RecordingHead(model=model, wires=wires, started=now))

    def add(self, answer: RecordedAnswer) -> None:
        """Write an answer.

        Raises:
            OSError: the disk is full, or gone.
        """
        self._put(answer)

    def close(self) -> None:
        """End the file."""
        self._file.close()

    def _put(self, line: Schema) -> None:
        self._file.write(line.model_dump_json().encode() + b"\n")


@dataclass(slots=True)
class _Kept:
    """What has come of an answer so far."""

    status: int | None = None
    headers: Headers = ()
    chunks: list[bytes] = field(default_factory=list)
    whole: bool = False
    failure: ModelErrorKind | None = None
    message: str = ""


class RecordingUpstream:
    """Hands on what another upstream says, and keeps it.

    `add` is handed what makes the record of an answer, to be called elsewhere: that takes a while.
    """

    def __init__(
        self, inner: Upstream, keys: Redactor, add: Callable[[Callable[[], RecordedAnswer]], object]
    ) -> None:
        self._inner = inner
        self._keys = keys
        self._add = add

    @property
    def wires(self) -> tuple[Wire, ...]:
        """The other one's."""
        return self._inner.wires

    @asynccontextmanager
    async def ask(self, call: Call) -> AsyncIterator[Answer]:
        """Ask the other one."""
        kept = _Kept()
        try:
            async with self._inner.ask(call) as answer:
                kept.status, kept.headers = answer.status, answer.headers
                yield replace(answer, chunks=_keeping(answer.chunks, kept))
        except UpstreamError as fault:
            kept.failure, kept.message = fault.failure.kind, fault.failure.message
            raise
        finally:
            self._add(partial(self._recorded, call, kept))

    def _recorded(self, call: Call, kept: _Kept) -> RecordedAnswer:
        digest = digest_of(call)
        if not kept.whole and kept.failure is None:
            kept.failure, kept.message = ModelErrorKind.CUT_STREAM, _LEFT
        in_base64, chunks = _written([self._keys.data(chunk) for chunk in kept.chunks])
        return RecordedAnswer(
            lane=call.lane,
            words=digest.words,
            outline=digest.outline,
            wire=call.route.wire,
            status=kept.status,
            headers=tuple((name, self._keys.text(value)) for name, value in kept.headers),
            chunks=chunks,
            in_base64=in_base64,
            failure=kept.failure,
            message=self._keys.text(kept.message),
        )


async def _keeping(chunks: AsyncIterator[bytes], kept: _Kept) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        kept.chunks.append(chunk)
        yield chunk
    kept.whole = True


def _written(chunks: Sequence[bytes]) -> tuple[bool, tuple[str, ...]]:
    """Whether the chunks are in base64, and the chunks."""
    try:
        return False, tuple(chunk.decode() for chunk in chunks)
    except UnicodeDecodeError:
        return True, tuple(base64.b64encode(chunk).decode() for chunk in chunks)
