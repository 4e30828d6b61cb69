"""The rows of data sets, and the part of a row that an imported SWE-bench task keeps.

JSON lines and Parquet are read in parts, so that a file of any size takes little memory. A row that
cannot become a task becomes a Rejection and does not affect the others.

`swebench.json` in a task's folder holds its row, where no agent sees it. Reports need it: SWE-
bench's ids have capital letters, and its log parsers change the names of tests.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final, Literal, cast

from pydantic import Field, ValidationError

from agentbench.core.display_text import printable
from agentbench.core.extras import PARQUET, require
from agentbench.core.files import describe_read_error, refuse_special_file
from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import InputError, UsageError
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.problem import TaskId

_MAX_LINE_BYTES = 64 << 20  # the largest rows of known data sets have some megabytes
_MAX_DOCUMENT_BYTES = 512 << 20
_BOM = b"\xef\xbb\xbf"
_NO_BOM = "begins with a byte order mark; save it as UTF-8 without one"
_PARQUET_BATCH = 16  # rows of Parquet
ROW_SUFFIXES: Final = (".parquet", ".jsonl", ".ndjson", ".json")
"""The names of files of rows end in one of these."""
_NOT_IN_IDS = re.compile(r"[^a-z0-9._-]")
ORIGIN_FILE: Final = "swebench.json"
"""Its name in the task's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Why one entry of a source cannot become a task; other entries are not affected."""

    where: str  # the file, with its line if known; or the package, or the commit
    what: str  # what was expected, what was found, what to do
    instance: str = ""  # the entry's own name
    field: str = ""  # the field's own name; the parts of a path are separated by dots

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.where, self.instance, self.field, self.what)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRow:
    """One entry of a file, unchanged."""

    where: str
    value: Mapping[str, object]


def read_rows(path: Path, *, label: str = "") -> Iterator[DatasetRow | Rejection]:
    """The entries of a file in order; an invalid entry becomes a Rejection.

    Args:
        path: The file.
        label: The name of the file in rejections; default: its path.

    Raises:
        InputError: the file cannot be read.
        UsageError: its suffix is unknown, or Parquet's reader is not installed.
    """
    label = label or str(path)
    try:
        if path.exists():
            refuse_special_file(path)
        match path.suffix.lower():
            case ".jsonl" | ".ndjson":
                with path.open("rb") as source:
                    yield from _lines(label, source)
            case ".json":
                yield from _document(path, label)
            case ".parquet":
                require(f"{label}: a Parquet file", PARQUET)
                yield from _parquet(path, label)
            case _:
                raise UsageError(f"{label}: expected a name that ends in .jsonl, .json or .parquet")
    except OSError as error:
        raise InputError(f"{label}: cannot be read: {error.strerror or error}") from None


def _lines(label: str, source: BinaryIO) -> Iterator[DatasetRow | Rejection]:
    for number in count(1):
        line = source.readline(_MAX_LINE_BYTES)
        if not line:
            return
        where = f"{label}:{number}"
        if len(line) == _MAX_LINE_BYTES and not line.endswith(b"\n"):
            while (rest := source.readline(_MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield Rejection(where=where, what=f"is longer than {_MAX_LINE_BYTES >> 20} MiB")
        elif line.strip():
            yield _row(where, _parse_json(where, line))


def _parse_json(where: str, text: bytes) -> object:
    """The JSON value of a text, or a Rejection."""
    if text.startswith(_BOM):
        return Rejection(where=where, what=_NO_BOM)
    try:
        return cast("object", json.loads(text))
    except (ValueError, RecursionError) as error:
        return Rejection(where=where, what=f"is not JSON: {describe_read_error(error)}")


def _shortened_json(value: object) -> str:
    """A JSON value that is not an object, shortened."""
    return printable(json.dumps(value), limit=40)


def _row(where: str, value: object) -> DatasetRow | Rejection:
    if isinstance(value, Rejection):
        return value
    if not isinstance(value, dict):
        return Rejection(where=where, what=f"expected an object, found {_shortened_json(value)}")
    return DatasetRow(where=where, value=value)


def _document(path: Path, label: str) -> Iterator[DatasetRow | Rejection]:
    if path.stat().st_size > _MAX_DOCUMENT_BYTES:
        what = (
            f"is larger than {_MAX_DOCUMENT_BYTES >> 20} MiB; save it as .jsonl, one entry per line"
        )
        yield Rejection(where=label, what=what)
        return
    value = _parse_json(label, path.read_bytes())
    if isinstance(value, Rejection):
        yield value
        return
    if isinstance(value, dict) and not all(isinstance(each, dict) for each in value.values()):
        # The file is a single entry.
        value = [value]
    entries = value.values() if isinstance(value, dict) else value
    if not isinstance(entries, list) and not isinstance(value, dict):
        what = f"expected a list of objects, found {_shortened_json(value)}"
        yield Rejection(where=label, what=what)
        return
    for number, entry in enumerate(cast("list[object]", entries), start=1):
        yield _row(f"{label}: entry {number}", entry)


def _parquet(path: Path, label: str) -> Iterator[DatasetRow | Rejection]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    number = 0
    with path.open("rb") as file:
        try:
            for batch in ParquetFile(file).iter_batches(batch_size=_PARQUET_BATCH):
                for entry in batch.to_pylist():
                    number += 1
                    yield _row(f"{label}: row {number}", entry)
        # Which of these is raised depends on the damage.
        except (ArrowException, OSError, UnicodeDecodeError) as error:
            where = f"{label}: after row {number}" if number else label
            yield Rejection(where=where, what=f"is not Parquet: {' '.join(str(error).split())}")


def task_id_of(instance_id: str) -> TaskId:
    """The id of an instance's task: in lower case, with `-` for invalid characters."""
    return TaskId(_NOT_IN_IDS.sub("-", instance_id.lower()))


class SwebenchOrigin(Schema):
    """An instance without its patches and its problem statement."""

    schema_version: Literal[1] = 1
    instance_id: str
    repo: str
    base_commit: str | None = None
    dataset: str = ""  # the data set of the Hub that it was read from: owner/name@commit
    version: str = ""
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()  # the files of its test patch, which SWE-bench runs
    node_ids: dict[str, tuple[NodeId, ...]] = Field(default_factory=dict)
    """The node ids of shortened test names; an empty tuple: no counted test has the name."""
    left_out: dict[str, str] = Field(default_factory=dict)
    """The names in pass_to_pass that do not count here, with their outcome: failed, not run …"""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tests that the data set lists."""
        return (*self.fail_to_pass, *self.pass_to_pass)

    def ids_of(self, name: str) -> tuple[NodeId, ...]:
        """The tests that a name in fail_to_pass or pass_to_pass means."""
        return self.node_ids.get(name, (NodeId(name),))


def read_origin(folder: Path) -> SwebenchOrigin | None:
    """The instance that a task was imported from; None if there is none.

    Raises:
        InputError: the file cannot be read or is invalid.
    """
    path = folder / ORIGIN_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return SwebenchOrigin.model_validate_json(content)
    except ValidationError as error:
        faults = [
            f"{path}: {describe_validation_error(each, SwebenchOrigin)}" for each in error.errors()
        ]
        raise InputError(*faults) from None


def origin_json(origin: SwebenchOrigin) -> bytes:
    """The content of its file."""
    return f"{origin.model_dump_json(indent=1)}\n".encode()


def patch_bytes(patch: str) -> bytes:
    """A patch that ends in a line feed; git treats a patch without one as truncated."""
    return (patch if patch.endswith("\n") else f"{patch}\n").encode()
