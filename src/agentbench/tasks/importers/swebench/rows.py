"""The instances of a file, one at a time: JSON lines, a JSON document, or Parquet.

JSON lines and Parquet are read piece by piece, so that a file of any size takes little memory.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO, cast

from agentbench.errors import InputError, UsageError
from agentbench.extras import PARQUET, require
from agentbench.tasks.importers.refusal import Refusal

_LONGEST_LINE = 64 << 20  # bytes; the largest instances of the known data sets have some megabytes
_LARGEST_DOCUMENT = 512 << 20
_BOM = b"\xef\xbb\xbf"
_NO_BOM = "begins with a byte order mark; save it as UTF-8 without one"
_AT_A_TIME = 16  # rows of Parquet


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One entry of a file, as it stands there."""

    where: str
    value: Mapping[str, object]


def read_rows(path: Path) -> Iterator[Row | Refusal]:
    """The entries of a file in their order; what is none is refused, and the rest goes on.

    Raises:
        InputError: the file cannot be read.
        UsageError: its name ends in none of the known ways, or Parquet's reader is not installed.
    """
    try:
        match path.suffix.lower():
            case ".jsonl" | ".ndjson":
                with path.open("rb") as source:
                    yield from _lines(path, source)
            case ".json":
                yield from _document(path)
            case ".parquet":
                require(f"{path}: a Parquet file", PARQUET)
                yield from _parquet(path)
            case _:
                raise UsageError(f"{path}: expected a name that ends in .jsonl, .json or .parquet")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _lines(path: Path, source: BinaryIO) -> Iterator[Row | Refusal]:
    for number in count(1):
        line = source.readline(_LONGEST_LINE)
        if not line:
            return
        where = f"{path}:{number}"
        if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            _skip_line(source)
            yield Refusal(where=where, what=f"is longer than {_LONGEST_LINE >> 20} MiB")
        elif line.strip():
            yield _entry(where, line)


def _skip_line(source: BinaryIO) -> None:
    while (rest := source.readline(_LONGEST_LINE)) and not rest.endswith(b"\n"):
        pass


def _entry(where: str, text: bytes) -> Row | Refusal:
    value = _value(where, text)
    return value if isinstance(value, Refusal) else _row(where, value)


def _value(where: str, text: bytes) -> object:
    """What a text holds as JSON; `Refusal` is never that."""
    if text.startswith(_BOM):
        return Refusal(where=where, what=_NO_BOM)
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:
        return Refusal(where=where, what=f"is no JSON: {error}")


def _row(where: str, value: object) -> Row | Refusal:
    if not isinstance(value, dict):
        return Refusal(where=where, what=f"expected an object, found {type(value).__name__}")
    return Row(where=where, value=value)


def _document(path: Path) -> Iterator[Row | Refusal]:
    if path.stat().st_size > _LARGEST_DOCUMENT:
        said = f"is larger than {_LARGEST_DOCUMENT >> 20} MiB; save it as .jsonl, an entry a line"
        yield Refusal(where=str(path), what=said)
        return
    value = _value(str(path), path.read_bytes())
    if isinstance(value, Refusal):
        yield value
        return
    if isinstance(value, dict) and not all(isinstance(each, dict) for each in value.values()):
        value = [value]  # one entry alone
    entries = value.values() if isinstance(value, dict) else value
    if not isinstance(entries, list) and not isinstance(value, dict):
        said = f"expected a list of objects, found {type(value).__name__}"
        yield Refusal(where=str(path), what=said)
        return
    for number, entry in enumerate(cast("list[object]", entries), start=1):
        yield _row(f"{path}: entry {number}", entry)


def _parquet(path: Path) -> Iterator[Row | Refusal]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    number = 0
    with path.open("rb") as file:
        try:
            for batch in ParquetFile(file).iter_batches(batch_size=_AT_A_TIME):
                for entry in batch.to_pylist():
                    number += 1
                    yield _row(f"{path}: row {number}", entry)
        except (ArrowException, OSError, UnicodeDecodeError) as error:  # each for some damage
            where = f"{path}: after row {number}" if number else str(path)
            yield Refusal(where=where, what=f"is no Parquet: {' '.join(str(error).split())}")
