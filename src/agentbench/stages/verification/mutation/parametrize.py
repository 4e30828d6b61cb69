"""The tables of `pytest.mark.parametrize`, and the ids that pytest makes of their rows."""

import ast
import builtins
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentbench.stages.verification.mutation.edits import Edit
from agentbench.stages.verification.mutation.names import FunctionNode, Scope, name_of
from agentbench.stages.verification.mutation.source_text import SourceText, Span
from agentbench.stages.verification.mutation.values import (
    NotConstantError,
    Value,
    evaluate,
)

_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
_LONGEST = 100
"""Newer versions of pytest number the rows whose ids would be longer."""
_OBJECTS = frozenset(
    [
        "Decimal",
        "Fraction",
        "date",
        "datetime",
        "time",
        "timedelta",
        "Path",
        "PurePath",
        "PurePosixPath",
        "UUID",
        "set",
        "frozenset",
        "list",
        "dict",
        "tuple",
        "bytearray",
        "OrderedDict",
        "Counter",
    ]
)
"""Makers of objects that never stand for themselves in an id."""
_SEPARATOR = re.compile(r"\s*,?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One set of parameters."""

    values: tuple[ast.expr, ...]
    id: str | None
    """The row's part of the node id, where it can be told."""
    fixed: bool
    """Whether the id is written down, and so does not change with the values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The parameters that one decorator gives to a function."""

    names: tuple[str, ...]
    rows: tuple[TableRow, ...]
    ids_at: int | None
    """Where ids can be written down that pytest would otherwise make of the values."""

    def keeps_id(self, row: int, value: ast.expr) -> bool:
        """Whether a row goes by the same id when a value of it is another."""
        fixable = self.ids_at is not None and bool(self.rows[row].id)
        return self.rows[row].fixed or fixable or isinstance(value, _DISPLAYS)

    def rows_of(self, cases: Iterable[str | None]) -> list[int]:
        """The rows that node ids are about, by their parts in brackets; none if any is unclear.

        `None` among them stands for all rows.
        """
        wanted = set(cases)
        if None in wanted:
            return list(range(len(self.rows)))
        ids: dict[str, list[int]] = {}
        for at, row in enumerate(self.rows):
            if row.id is not None:
                ids.setdefault(_escaped(row.id), []).append(at)
        found = [_row_of(case, ids) for case in wanted if case is not None]
        return [] if None in found else sorted({at for at in found if at is not None})

    def edits(self) -> list[Edit]:
        """The ids written down, so that other values do not change them."""
        if self.ids_at is None or not any(row.id for row in self.rows):
            return []
        ids = ", ".join(ascii(row.id or None) for row in self.rows)
        return [Edit(span=Span(self.ids_at, self.ids_at), text=f", ids=[{ids}]")]


def tables(source: SourceText, function: FunctionNode, module: Scope) -> list[Table]:
    """The tables of a function, as far as they are written down in its file."""
    calls = [node for node in function.decorator_list if isinstance(node, ast.Call)]
    found = [_table(source, call, module) for call in calls if _is_parametrize(call.func)]
    return [table for table in found if table is not None]


def has_cases(function: FunctionNode) -> bool:
    """Whether a decorator makes several tests of a function."""
    calls = [node for node in function.decorator_list if isinstance(node, ast.Call)]
    return any(_is_parametrize(call.func) for call in calls)


def _row_of(case: str, ids: Mapping[str, list[int]]) -> int | None:
    found = ids.get(case)
    if found is None:  # of several tables, each has a part of the id
        found = [
            at for id_, rows in ids.items() if id_ and f"-{id_}-" in f"-{case}-" for at in rows
        ]
    return found[0] if len(found) == 1 else None


def _escaped(id_: str) -> str:
    return id_.encode("unicode_escape").decode("ascii")  # as pytest writes it in a node id


def _is_parametrize(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and func.attr == "parametrize"


def _table(source: SourceText, call: ast.Call, module: Scope) -> Table | None:
    given = dict(zip(("argnames", "argvalues", "indirect", "ids"), call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if "argnames" not in given or "argvalues" not in given or "indirect" in given:
        return None
    try:
        names, wrapped = _names(given["argnames"])
    except NotConstantError:
        return None
    shape = _Shape(names=names, wrapped=wrapped, ids=given.get("ids"), module=module)
    written = _rows_of(given["argvalues"], module)
    rows = [shape.row(node, index) for index, node in enumerate(written)]
    read = tuple(row for row in rows if row is not None)
    if len(read) < len(rows) or not rows:
        return None
    return Table(names=names, rows=read, ids_at=_ids_at(source, call) if not shape.ids else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What the rows of a table have in common."""

    names: tuple[str, ...]
    wrapped: bool
    ids: ast.expr | None
    module: Scope

    def row(self, node: ast.expr, index: int) -> TableRow | None:
        values: Sequence[ast.expr] = [node]
        written = self._written_id(index)
        fixed = written is not None
        if isinstance(node, ast.Call) and name_of(node.func) == "param":
            values = node.args
            own = [keyword.value for keyword in node.keywords if keyword.arg == "id"]
            written, fixed = (_text_of(own[0]), True) if own else (written, fixed)
        elif self.wrapped:
            values = node.elts if isinstance(node, ast.Tuple | ast.List) else []
        if len(values) != len(self.names) or any(isinstance(v, ast.Starred) for v in values):
            return None
        id_ = written if fixed else self._made_id(values, index)
        return TableRow(values=tuple(values), id=id_, fixed=fixed)

    def _written_id(self, index: int) -> str | None:
        if not isinstance(self.ids, ast.List | ast.Tuple) or len(self.ids.elts) <= index:
            return None
        return _text_of(self.ids.elts[index])

    def _made_id(self, values: Sequence[ast.expr], index: int) -> str | None:
        if self.ids is not None and not isinstance(self.ids, ast.List | ast.Tuple):
            return None  # a function makes them of the values
        parts: list[str] = []
        for value, name in zip(values, self.names, strict=True):
            part = _id_of(value, name, index, self.module)
            if part is None:
                return None
            parts.append(part)
        return "-".join(parts)


def _names(node: ast.expr) -> tuple[tuple[str, ...], bool]:
    value = evaluate(node)
    if isinstance(value, str):
        names = tuple(part.strip() for part in value.split(",") if part.strip())
        return names, len(names) > 1
    if isinstance(value, list | tuple):
        return tuple(str(item) for item in value), True
    raise NotConstantError


def _rows_of(node: ast.expr, module: Scope) -> Sequence[ast.expr]:
    if isinstance(node, ast.Name) and module.loads[node.id] == 1:
        node = module.constants.get(node.id, node)
    if not isinstance(node, ast.List | ast.Tuple):
        return []
    return [] if any(isinstance(item, ast.Starred) for item in node.elts) else node.elts


def _text_of(node: ast.expr) -> str | None:
    try:
        value = evaluate(node)
    except NotConstantError:
        return None
    return value if isinstance(value, str) else None


def _id_of(node: ast.expr, name: str, index: int, module: Scope) -> str | None:
    if isinstance(node, _DISPLAYS) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OBJECTS
    ):
        return f"{name}{index}"
    if isinstance(node, ast.Name) and module.bound.get(node.id, 0) == 0:
        return node.id if isinstance(getattr(builtins, node.id, None), type) else None
    try:
        return _id_of_value(evaluate(node, module.constants), f"{name}{index}")
    except NotConstantError:
        return None


def _id_of_value(value: Value, number: str) -> str | None:
    match value:
        case list() | set() | dict() | tuple():
            return number
        case complex() if isinstance(value, complex):
            return None  # some versions number them
        case bytes():
            plain = value.isascii() and value.decode("ascii").isprintable() and b"\\" not in value
            return value.decode("ascii") if plain else None
        case _:
            text = str(value)
            return text if len(_escaped(text)) <= _LONGEST else None


def _ids_at(source: SourceText, call: ast.Call) -> int | None:
    last = max(
        [source.span(node).end for node in (*call.args, *(kw.value for kw in call.keywords))]
    )
    rest = source.text[last : source.span(call).end - 1]
    return last if _SEPARATOR.fullmatch(rest) else None
