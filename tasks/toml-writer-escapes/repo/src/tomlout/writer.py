"""Documents: tables, arrays of tables and the lines between them."""

from collections.abc import Iterator, Mapping
from typing import TextIO

from tomlout import strings
from tomlout.errors import TomlWriteError
from tomlout.layout import Style
from tomlout.scalars import scalar

Path = tuple[str, ...]


def dumps(document: Mapping[str, object], style: Style | None = None) -> str:
    """Return a mapping as a TOML document.

    Raises:
        TomlWriteError: A value in it has no form in TOML.
    """
    lines = list(_table(document, (), style or Style()))
    while lines and not lines[0]:
        del lines[0]
    return "".join(line + "\n" for line in lines)


def dump(document: Mapping[str, object], file: TextIO, style: Style | None = None) -> None:
    """Write a mapping to an open text file; nothing is written if it has no form in TOML.

    Raises:
        TomlWriteError: A value in it has no form in TOML.
    """
    file.write(dumps(document, style))


def _table(table: Mapping[str, object], path: Path, style: Style) -> Iterator[str]:
    """Yield the lines below a header: plain values, then what has a header of its own."""
    later: list[tuple[str, object]] = []
    for name, value in _items(table, path, style):
        if isinstance(value, Mapping) or _is_array_of_tables(value):
            later.append((name, value))
        else:
            yield f"{strings.key(name)} = {_value(value, _place(path, name), style)}"
    for name, value in later:
        if isinstance(value, Mapping):
            yield from _section(value, (*path, name), style)
        else:
            yield from _sections(value, (*path, name), style)


def _section(table: Mapping[str, object], path: Path, style: Style) -> Iterator[str]:
    """Yield a table with its header, which a table of nothing but tables can do without."""
    if not table or any(not isinstance(value, Mapping) for value in table.values()):
        yield ""
        yield f"[{strings.dotted(path)}]"
    yield from _table(table, path, style)


def _sections(tables: object, path: Path, style: Style) -> Iterator[str]:
    assert isinstance(tables, (list, tuple))
    for table in tables:
        yield ""
        yield f"[[{strings.dotted(path)}]]"
        yield from _table(table, path, style)


def _value(value: object, place: str, style: Style, depth: int = 1) -> str:
    """Return what stands to the right of an equals sign."""
    if not isinstance(value, (list, tuple)):
        return scalar(value, place, style, inline=False)
    flat = _inline(value, place, style)
    if len(place) + len(flat) <= style.width or not value:
        return flat
    margin = " " * (style.indent * depth)
    items = [_item(item, f"{place}[{at}]", style, depth) for at, item in enumerate(value)]
    return "[\n" + "".join(f"{margin}{item},\n" for item in items) + margin[style.indent :] + "]"


def _item(value: object, place: str, style: Style, depth: int) -> str:
    """Return one item of a list that is written one item a line."""
    if isinstance(value, (list, tuple)):
        return _value(value, place, style, depth + 1)
    return _inline(value, place, style)


def _inline(value: object, place: str, style: Style) -> str:
    """Return a value of any kind on one line."""
    if isinstance(value, Mapping):
        pairs = [
            f"{strings.key(name)} = {_inline(item, f'{place}.{name}', style)}"
            for name, item in _items(value, tuple(place.split(".")), style)
        ]
        return "{ " + ", ".join(pairs) + " }" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_inline(item, f"{place}[{at}]", style) for at, item in enumerate(value)) + "]"
    return scalar(value, place, style, inline=True)


def _is_array_of_tables(value: object) -> bool:
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(isinstance(item, Mapping) for item in value)


def _items(table: Mapping[str, object], path: Path, style: Style) -> list[tuple[str, object]]:
    for name in table:
        if not isinstance(name, str):
            raise TomlWriteError(".".join(path), f"the key {name!r} is no string")
    return sorted(table.items()) if style.sort_keys else list(table.items())


def _place(path: Path, name: str) -> str:
    return ".".join((*path, name))
