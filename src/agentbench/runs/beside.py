"""Reads the lines of a very large run in several processes, a stretch of the file at a time.

What a process finds odd (damage, a line without a digest) it leaves: whoever asked reads such a
stretch itself, so that only one place judges it.
"""

from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import msgspec

from agentbench.runs.headline import Headline, Headlines
from agentbench.runs.lines import Lines, stretch

_STRETCH = 32 * 1024 * 1024
_LEAST = 256 * 1024 * 1024
"""Bytes of a file from which on further processes are worth their start."""


class _Stretch(msgspec.Struct, array_like=True, gc=False):
    """What one stretch holds."""

    headlines: list[Headline]
    starts: list[int]
    count: int
    end: int


def read_beside(lines: Lines, processes: int) -> None:
    """Read all lines that are there now, in several processes where that is worth it.

    A last line without its end is left for later, as it may be in the making.

    Raises:
        InputError: a record is of a newer agentbench.
    """
    size = lines.path.stat().st_size if lines.path.is_file() else 0
    if processes > 1 and size >= _LEAST and not lines.whole:
        for bound, told in _told(lines.path, size, processes):
            if told is None:
                lines.read_on(whole_lines=True, until=bound)
            elif told.count:  # or one line is longer than that
                lines.take_over(told.headlines, told.starts, count=told.count, end=told.end)
    lines.read_on(whole_lines=True)


def _told(path: Path, size: int, processes: int) -> Iterator[tuple[int, _Stretch | None]]:
    import multiprocessing  # for runs alone that are very large
    from concurrent.futures import ProcessPoolExecutor

    begins = range(0, size, _STRETCH)
    bounds = [min(begin + _STRETCH, size) for begin in begins]
    decoder = msgspec.msgpack.Decoder(_Stretch)
    # Not forked: this process may have threads, and others' locks.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        answers = pool.map(_read, repeat(path), begins, bounds)
        for bound, answer in zip(bounds, answers, strict=True):
            yield bound, decoder.decode(answer) if answer else None


def _read(path: Path, begin: int, bound: int) -> bytes:
    """The lines that begin within a stretch, packed; nothing where one of them is odd."""
    headlines = Headlines()
    told = _Stretch([], [], 0, begin)
    for start, line in stretch(path, begin, bound):
        if line.strip():
            headline = headlines.of_sealed(line) if line.endswith(b"\n") else None
            if headline is None:
                return b""
            told.headlines.append(headline)
            told.starts.append(start)
        told.count += 1
        told.end = start + len(line)
    return msgspec.msgpack.encode(told)
