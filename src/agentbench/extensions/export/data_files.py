"""Files of rows, written row by row: JSON Lines and Parquet."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agentbench.core.schema import Schema
from agentbench.errors import InputError
from agentbench.report.data_set import cell, columns_of

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 256
_BATCH_CHARACTERS = 32 * 1024 * 1024
# Characters that some readers regard as the end of a line.
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class RowFile(Protocol):
    """A file that takes rows."""

    def write(self, row: Mapping[str, object]) -> None:
        """Add a row.

        Raises:
            InputError: it does not fit the columns.
        """


class _JsonLines:
    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def write(self, row: Mapping[str, object]) -> None:
        line = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
        self._file.write(line.translate(_LINE_ENDS).encode("utf-8", "replace") + b"\n")

    def close(self) -> None:
        self._file.close()


class _Parquet:
    """Keeps rows until there are enough for a group."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        from pyarrow.parquet import ParquetWriter

        self._schema = schema
        self._writer = ParquetWriter(path, schema, compression="zstd")
        self._rows: list[dict[str, object]] = []
        self._characters = 0

    def write(self, row: Mapping[str, object]) -> None:
        self._rows.append({each.name: cell(row.get(each.name), each.type) for each in self._schema})
        self._characters += len(json.dumps(row, default=str))
        if len(self._rows) >= _BATCH_ROWS or self._characters >= _BATCH_CHARACTERS:
            self._flush()

    def close(self) -> None:
        try:
            self._flush()
        finally:
            self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        rows, self._rows, self._characters = self._rows, [], 0
        try:
            self._writer.write_table(pa.Table.from_pylist(rows, schema=self._schema))
        except (pa.ArrowException, OverflowError) as error:
            raise InputError(f"a row does not fit its columns: {error}") from None


@contextmanager
def json_lines(path: Path) -> Iterator[RowFile]:
    """A file with one JSON object per line."""
    file = _JsonLines(path)
    try:
        yield file
    finally:
        file.close()


@contextmanager
def parquet(path: Path, row: type[Schema]) -> Iterator[RowFile]:
    """A Parquet file whose columns are the fields of a row."""
    import pyarrow as pa

    file = _Parquet(path, pa.schema(columns_of(row)))
    try:
        yield file
    finally:
        file.close()
