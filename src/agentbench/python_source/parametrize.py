"""Reads the tables of pytest.mark.parametrize, and pytest's ids for their rows."""

import ast
import builtins
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentbench.python_source import scopes
from agentbench.python_source.constants import LiteralValue, NotConstant, evaluate
from agentbench.python_source.python_syntax import name_of
from agentbench.python_source.scopes import FunctionNode, NameScope
from agentbench.python_source.source_text import SourceEdit, SourceSpan, SourceText

_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
_LONGEST = 100  # newer versions of pytest number rows with longer ids
_OBJECTS = frozenset([
    "Decimal", "Fraction", "date", "datetime", "time", "timedelta", "Path", "PurePath",
    "PurePosixPath", "UUID", "set", "frozenset", "list", "dict", "tuple", "bytearray",
    "OrderedDict", "Counter"
])  # fmt: skip
"""Calls whose results never appear in an id."""
_UNREADABLE_ID = ast.Name(id="")  # represents an id that cannot be read in the file
_SEPARATOR = re.compile(r"\s*,?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One set of parameters."""

    values: tuple[ast.expr, ...]
    parts: tuple[str | None, ...]  # the row's parts of the node id, if they are known
    fixed: bool  # whether the id is explicit, so that it does not change with the values
    own_id: ast.expr | None = None  # the position of the id in its own `pytest.param`

    @property
    def escaped_parts(self) -> tuple[str | None, ...]:
        """The parts in pytest's form."""
        return tuple(None if part is None else escaped(part) for part in self.parts)

    @property
    def id(self) -> str | None:
        """The row's part of the node id, if all of it is known."""
        known = [part for part in self.parts if part is not None]
        return "-".join(known) if len(known) == len(self.parts) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterTable:
    """The parameters of one decorator."""

    names: tuple[str, ...]
    rows: tuple[TableRow, ...]
    ids_at: int | None  # where explicit ids can replace those of pytest
    call: ast.Call
    ids: ast.expr | None  # the decorator's `ids` argument

    def keeps_id(self, row: int, value: ast.expr) -> bool:
        """Whether a row keeps its id if one of its values changes."""
        fixable = self.ids_at is not None and bool(self.rows[row].id)
        return self.rows[row].fixed or fixable or isinstance(value, _DISPLAYS)

    def rows_of(self, cases: Iterable[str | None]) -> list[int]:
        """The rows of bracketed parts of node ids (`None`: all rows); empty if one is unclear."""
        requested = set(cases)
        if None in requested:
            return list(range(len(self.rows)))
        ids: dict[str, list[int]] = {}
        for at, row in enumerate(self.rows):
            if row.id is not None:
                ids.setdefault(escaped(row.id), []).append(at)
        found = [_row_of(case, ids) for case in requested if case is not None]
        return [] if None in found else sorted({at for at in found if at is not None})

    def edits(self) -> list[SourceEdit]:
        """Explicit ids, so that changed values do not change them."""
        if self.ids_at is None or not any(row.id for row in self.rows):
            return []
        ids = ", ".join(ascii(row.id or None) for row in self.rows)
        return [SourceEdit(span=SourceSpan(self.ids_at, self.ids_at), text=f", ids=[{ids}]")]


def tables(source: SourceText, function: FunctionNode, module: NameScope) -> list[ParameterTable]:
    """The tables of a function that are literals in its file."""
    found = [_table(source, call, module) for call in parametrized(function)]
    return [table for table in found if table is not None]


def parametrized(function: FunctionNode) -> list[ast.Call]:
    """The parametrizing decorators of a function."""
    calls = [node for node in function.decorator_list if isinstance(node, ast.Call)]
    return [call for call in calls if getattr(call.func, "attr", "") == "parametrize"]


def last_argument_end(source: SourceText, call: ast.Call) -> int:
    """The position after the last argument of a call."""
    arguments = (*call.args, *(keyword.value for keyword in call.keywords))
    return max(source.span(node).end for node in arguments)


def escaped(id_: str) -> str:
    """An id in pytest's form."""
    return id_.encode("unicode_escape").decode("ascii")


def _row_of(case: str, ids: Mapping[str, list[int]]) -> int | None:
    found = ids.get(case)
    if found is None:  # with several tables, each has a part of the id
        found = [
            at for id_, rows in ids.items() if id_ and f"-{id_}-" in f"-{case}-" for at in rows
        ]
    return found[0] if len(found) == 1 else None


def _table(source: SourceText, call: ast.Call, module: NameScope) -> ParameterTable | None:
    arguments = dict(zip(("argnames", "argvalues", "indirect", "ids"), call.args, strict=False))
    arguments |= {keyword.arg or "**": keyword.value for keyword in call.keywords}
    if not {"argnames", "argvalues"} <= arguments.keys() or arguments.keys() & {"indirect", "**"}:
        return None
    names, wrapped = _names(arguments["argnames"])
    written = _rows_of(arguments["argvalues"], module)
    if names is None or not written:
        return None
    shape = _TableShape(names=names, wrapped=wrapped, ids=arguments.get("ids"), module=module)
    rows = [shape.row(node, index) for index, node in enumerate(written)]
    read = tuple(row for row in rows if row is not None)
    if len(read) < len(rows):
        return None
    last = last_argument_end(source, call)
    rest = source.text[last : source.span(call).end - 1]
    ids_at = last if not shape.ids and _SEPARATOR.fullmatch(rest) else None
    return ParameterTable(names=names, rows=read, ids_at=ids_at, call=call, ids=shape.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableShape:
    """The properties that all rows of a table share."""

    names: tuple[str, ...]
    wrapped: bool
    ids: ast.expr | None
    module: NameScope

    def row(self, node: ast.expr, index: int) -> TableRow | None:
        """The row of one expression."""
        values: Sequence[ast.expr] = [node]
        written, own = _written_id(self.ids, index), None
        if isinstance(node, ast.Call) and name_of(node.func) == "param":
            values = node.args
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            own = named.get("id")
            written = _UNREADABLE_ID if None in named else own or written
        elif self.wrapped:
            values = node.elts if isinstance(node, ast.Tuple | ast.List) else []
        if len(values) != len(self.names) or scopes.has_starred(values):
            return None
        parts: tuple[str | None, ...]
        if written is None:
            pairs = zip(values, self.names, strict=True)
            parts = tuple(_id_of(value, name, index, self.module) for value, name in pairs)
        else:
            text = evaluate(written)
            parts = (text if isinstance(text, str) else None,)
        fixed = own is not None or (written is not None and None not in parts)
        return TableRow(values=tuple(values), parts=parts, fixed=fixed, own_id=own)


def _written_id(ids: ast.expr | None, index: int) -> ast.expr | None:
    """The explicit ids of rows; `None` if pytest creates one."""
    if ids is None:
        return None
    if not isinstance(ids, ast.List | ast.Tuple) or scopes.has_starred(ids.elts):
        return _UNREADABLE_ID
    id_ = ids.elts[index] if index < len(ids.elts) else None
    return None if isinstance(id_, ast.Constant) and id_.value is None else id_


def _names(node: ast.expr) -> tuple[tuple[str, ...] | None, bool]:
    """The names, if they are constant, and whether each row wraps its values."""
    value = evaluate(node)
    if isinstance(value, str):
        names = tuple(part.strip() for part in value.split(",") if part.strip())
        return names, len(names) > 1
    if isinstance(value, list | tuple):
        return tuple(str(item) for item in value), True
    return None, False


def _rows_of(node: ast.expr, module: NameScope) -> Sequence[ast.expr]:
    if isinstance(node, ast.Name) and module.loads[node.id] == 1:
        node = module.constants.get(node.id, node)
    if not isinstance(node, ast.List | ast.Tuple) or scopes.has_starred(node.elts):
        return []
    return node.elts


def _id_of(node: ast.expr, name: str, index: int, module: NameScope) -> str | None:
    if isinstance(node, _DISPLAYS) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OBJECTS
    ):
        return f"{name}{index}"
    if isinstance(node, ast.Name) and module.bound.get(node.id, 0) == 0:
        return node.id if isinstance(getattr(builtins, node.id, None), type) else None
    return _id_of_value(evaluate(node, module.constants), f"{name}{index}")


def _id_of_value(value: LiteralValue | NotConstant, number: str) -> str | None:
    match value:
        case NotConstant():
            return None
        case list() | set() | dict() | tuple():
            return number
        case complex() if isinstance(value, complex):
            return None  # some versions of pytest number them
        case bytes():
            text = value.decode("latin-1")
            plain = value.isascii() and text.isprintable() and "\\" not in text
            return text if plain and len(text) <= _LONGEST else None
        case _:
            text = str(value)
            return text if len(escaped(text)) <= _LONGEST else None
