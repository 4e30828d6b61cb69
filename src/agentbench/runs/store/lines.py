"""The lines of attempts.jsonl, in memory as summaries and positions.

A very large file is read in several processes.

A process skips a chunk with damage, or with a line without a digest. The reader that started it
then reads the chunk itself, so that the rules for damage are in one place.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

import msgspec
from pydantic import ValidationError

from agentbench.attempt.record import AttemptRecord
from agentbench.runs.store.configuration import why_refused
from agentbench.runs.store.summaries import AttemptSummary, SummaryReader

ATTEMPTS = "attempts.jsonl"
_BUFFER = 1024 * 1024  # bytes: lines are longer than the usual buffer
_CHUNK_BYTES = 32 * 1024 * 1024
_PARALLEL_FROM = 256 * 1024 * 1024
"""The size of a file, in bytes, from which on more processes are worth their start."""


@dataclass(slots=True, kw_only=True)
class RecordLines:
    """Summaries of a run's lines; a whole record is read again on request."""

    path: Path
    whole: bool = False  # check every field of every record, not only digests and summaries
    summaries: list[AttemptSummary] = field(default_factory=list)
    starts: "array[int]" = field(default_factory=lambda: array("q"))  # in bytes, of each summary
    set_aside: list[str] = field(default_factory=list)  # why each bad line is no record
    count: int = 0  # of all lines that were read
    end: int = 0  # bytes that were read
    _shared: SummaryReader = field(default_factory=SummaryReader)

    def read_on(self, *, whole_lines: bool = False, until: int | None = None) -> None:
        """Read the rest of the file.

        Args:
            whole_lines: Leave an incomplete last line, which may still be being written, for later.
            until: Leave the lines that begin at this byte, or after it, for later.

        Raises:
            InputError: a record is of a newer agentbench.
        """
        for _, line in lines_between(self.path, self.end, until, aligned=True):
            if whole_lines and not line.endswith(b"\n"):
                break
            self.count += 1
            if line.strip():
                self._take(line)
            self.end += len(line)

    def take_over(self, chunk: "_Chunk") -> None:
        """Take over the next lines from another reader."""
        self.summaries.extend(map(self._shared.share, chunk.summaries))
        self.starts.extend(chunk.starts)
        self.count += chunk.count
        self.end = chunk.end

    def _take(self, line: bytes) -> None:
        summary = None if self.whole else self._shared.of_sealed(line)
        if summary is None:
            where = f"{self.path}:{self.count}"
            record = record_of(line, where)
            if isinstance(record, str):
                self.set_aside.append(record)
                return
            summary = AttemptSummary.of(record)
        self.summaries.append(summary)
        self.starts.append(self.end)


def lines_between(
    path: Path, begin: int, bound: int | None = None, *, aligned: bool = False
) -> Iterator[tuple[int, bytes]]:
    """The lines that begin within some bytes of a file, and where; none if there is not a file.

    Args:
        path: The file.
        begin: The first byte.
        bound: The byte after the last one; None: the end of the file.
        aligned: Whether a line is known to begin at the first byte.
    """
    if not path.is_file():
        return
    with path.open("rb", buffering=_BUFFER) as source:
        if begin and not aligned:
            source.seek(begin - 1)
            begin += len(source.readline()) - 1
        source.seek(begin)
        for line in source:
            if bound is not None and begin >= bound:
                return
            yield begin, line
            begin += len(line)


def read_lines(folder: Path) -> tuple[list[AttemptRecord], list[str]]:
    """The complete records in the lines of a run, and a sentence for each line without one.

    Raises:
        InputError: a record is of a newer agentbench.
    """
    path = folder / ATTEMPTS
    records: list[AttemptRecord] = []
    set_aside: list[str] = []
    for number, (_, line) in enumerate(lines_between(path, 0), start=1):
        if not line.strip():
            continue
        record = record_of(line, f"{path}:{number}")
        if isinstance(record, str):
            set_aside.append(record)
        else:
            records.append(record)
    return records, set_aside


def record_of(line: bytes, where: str) -> AttemptRecord | str:
    """The record of a line, or a sentence that says why it has none.

    Raises:
        InputError: it is of a newer agentbench.
    """
    try:
        return AttemptRecord.model_validate_json(line)
    except ValidationError as error:
        return f"{where}: set aside: {why_refused(error, where, line)}"


class _Chunk(msgspec.Struct, array_like=True, gc=False):
    """The lines of one chunk."""

    summaries: list[AttemptSummary]
    starts: list[int]
    count: int
    end: int


def read_lines_in_parallel(lines: RecordLines, processes: int) -> None:
    """Read all current lines, in several processes if that is worth it.

    An incomplete last line is left for later, since it may still be being written.

    Raises:
        InputError: a record is of a newer agentbench.
    """
    size = lines.path.stat().st_size if lines.path.is_file() else 0
    if processes > 1 and size >= _PARALLEL_FROM and not lines.whole:
        for bound, chunk in _read_chunks(lines.path, size, processes):
            if chunk is None:
                lines.read_on(whole_lines=True, until=bound)
            elif chunk.count:  # or one line is longer than that
                lines.take_over(chunk)
    lines.read_on(whole_lines=True)


def _read_chunks(path: Path, size: int, processes: int) -> Iterator[tuple[int, _Chunk | None]]:
    import multiprocessing  # only for very large runs
    from concurrent.futures import ProcessPoolExecutor

    begins = range(0, size, _CHUNK_BYTES)
    bounds = [min(begin + _CHUNK_BYTES, size) for begin in begins]
    decoder = msgspec.msgpack.Decoder(_Chunk)
    # Not forked: this process may have threads, and others' locks.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        answers = pool.map(_read_chunk, repeat(path), begins, bounds)
        for bound, answer in zip(bounds, answers, strict=True):
            yield bound, decoder.decode(answer) if answer else None


def _read_chunk(path: Path, begin: int, bound: int) -> bytes:
    """The lines that begin within a chunk, packed; empty if one of them is unusual."""
    summaries = SummaryReader()
    chunk = _Chunk([], [], 0, begin)
    for start, line in lines_between(path, begin, bound):
        if line.strip():
            summary = summaries.of_sealed(line) if line.endswith(b"\n") else None
            if summary is None:
                return b""
            chunk.summaries.append(summary)
            chunk.starts.append(start)
        chunk.count += 1
        chunk.end = start + len(line)
    return msgspec.msgpack.encode(chunk)
