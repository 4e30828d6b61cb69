"""Records as one Parquet data set: each column has one type, whatever the records contain.

A reader of JSON guesses the types from the values, so it cannot load a column that is null in one
run and text in another. Here the columns follow from the fields of AttemptRecord: tables are
structs, a map is a list of `key` and `value`, and a field that takes values of several types is
text: a string as it is, everything else in JSON.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal, NewType, Union, get_args, get_origin

from agentbench.attempt.record import AttemptRecord
from agentbench.core.schema import Schema
from agentbench.errors import InputError
from agentbench.report.attempt_files import files_in
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.store import RunStore

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 256  # records in memory
_PATCH_TEXT = "patch_text"


def write_parquet(runs: Iterable[ReportedRun], target: BinaryIO) -> None:
    """Write every attempt's last record as a row, with the text of its patch.

    Raises:
        InputError: a record was changed since, is invalid, or has a number above 64 bits.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    schema = arrow_schema()
    with ParquetWriter(target, schema, compression="zstd") as writer:
        rows = _rows(runs, schema)
        while batch := list(islice(rows, _BATCH)):
            try:
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
            except (pa.ArrowException, OverflowError) as error:
                raise InputError(f"a record does not fit its columns: {error}") from None


def arrow_schema() -> "pa.Schema":
    """The columns of the data set: the fields of a record, and the patch."""
    import pyarrow as pa

    return pa.schema([*columns_of(AttemptRecord), (_PATCH_TEXT, pa.string())])


def _rows(runs: Iterable[ReportedRun], schema: "pa.Schema") -> Iterator[dict[str, object]]:
    for run in runs:
        store = RunStore(run.folder)
        for record in run.records():
            values = record.model_dump()
            row = {field.name: cell(values.get(field.name), field.type) for field in schema}
            # The record has only the path and the size of the agent's change.
            patch = files_in(store.folder_of(record)).patch() if record.patch else None
            text = None if patch is None else patch.decode("utf-8", "replace")
            yield row | {_PATCH_TEXT: text}


def columns_of(table: type[Schema]) -> "list[tuple[str, pa.DataType]]":
    """The name and the type of a column for each field."""
    fields = table.model_fields.items()
    return [(name, _arrow_type(field.annotation)) for name, field in fields]


def _arrow_type(annotation: object) -> "pa.DataType":
    """The Arrow type for the values of a field: text, unless it has an equivalent."""
    import pyarrow as pa

    annotation = _without_wrappers(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        return pa.list_(_arrow_type(arguments[0]))
    if origin is dict:
        return pa.list_(pa.struct([("key", pa.string()), ("value", _arrow_type(arguments[1]))]))
    if isinstance(annotation, type) and issubclass(annotation, Schema):
        return pa.struct(columns_of(annotation))
    kinds: dict[object, pa.DataType] = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        timedelta: pa.float64(),
        datetime: pa.timestamp("us", "UTC"),
    }
    return kinds.get(annotation, pa.string())


def _without_wrappers(annotation: object) -> object:
    """A type without its annotations, name and null; for a Literal, the type of its values."""
    arguments = [each for each in get_args(annotation) if each is not NoneType]
    origin = get_origin(annotation)
    if isinstance(annotation, NewType):
        return _without_wrappers(annotation.__supertype__)
    if origin is Annotated or (origin in (Union, UnionType) and len(arguments) == 1):
        return _without_wrappers(arguments[0])
    return type(arguments[0]) if origin is Literal else annotation


def cell(value: object, kind: "pa.DataType") -> object:
    """A value in the form that Arrow requires for a column of a type."""
    import pyarrow.types as is_a

    if value is None:
        return None
    if is_a.is_struct(kind):
        assert isinstance(value, Mapping)
        return {field.name: cell(value.get(field.name), field.type) for field in kind}
    if is_a.is_list(kind):
        # A map as a struct would have a column for each key of any record.
        items = (
            [{"key": str(key), "value": each} for key, each in value.items()]
            if isinstance(value, Mapping)
            else value
        )
        assert isinstance(items, (list, tuple))
        return [cell(item, kind.value_type) for item in items]
    if isinstance(value, timedelta):
        return value.total_seconds()
    if is_a.is_string(kind):
        return str(value) if isinstance(value, str) else json.dumps(value)
    return value
