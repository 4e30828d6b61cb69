"""`setup.py`, read as text: its `setup(…)` call as far as it is written in literals."""

import ast
from collections.abc import Iterator, Mapping

from agentbench.tasks.project.declaration import (
    Bundle,
    Declaration,
    Purpose,
    purpose_of,
    pythons_of,
    usable,
)
from agentbench.tasks.project.loose import texts
from agentbench.syntax import parse

_DEEPEST = 20
_Known = Mapping[str, ast.expr]


def parse_python(text: str | None) -> ast.Module:
    """A module's syntax; an empty one where it is not this Python's."""
    try:
        return parse(text or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def read_setup_py(text: str | None) -> Declaration:
    """What a `setup.py` says; it is never run."""
    module = parse_python(text)
    known = _assigned(module)
    said = {name: _value(node, known, 0) for name, node in _arguments(module, known)}
    requires = said.get("python_requires")
    return Declaration(
        installable=text is not None,
        requires_python=(requires,) if isinstance(requires, str) else (),
        pythons=pythons_of(texts(said.get("classifiers"))),
        requirements=usable(texts(said.get("install_requires"))),
        bundles=tuple(_bundles(said)),
    )


def _bundles(said: Mapping[str, object]) -> Iterator[Bundle]:
    extras = said.get("extras_require")
    for name, value in extras.items() if isinstance(extras, dict) else ():
        purpose = purpose_of(name) if isinstance(name, str) else None
        if purpose is not None:
            where = f"extra `{name}` of setup.py"
            held = usable(texts(value))
            yield Bundle(where=where, purpose=purpose, extras=(name,), held=held)
    if wanted := usable(texts(said.get("tests_require"))):
        where = "tests_require of setup.py"
        yield Bundle(where=where, purpose=Purpose.TESTS, requirements=wanted)


def _assigned(module: ast.Module) -> dict[str, ast.expr]:
    return {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _arguments(module: ast.Module, known: _Known) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(module):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name != "setup":
            continue
        for keyword in node.keywords:
            if keyword.arg is not None:
                yield keyword.arg, keyword.value
            elif isinstance(keyword.value, ast.Name):
                yield from _of_table(known.get(keyword.value.id))


def _of_table(node: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of `setup(**settings)`."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value


def _value(node: ast.expr | None, known: _Known, depth: int) -> object:
    """What an expression stands for, where that can be read; else None."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name() if depth < _DEEPEST:
            return _value(known.get(node.id), known, depth + 1)
        case ast.List() | ast.Tuple() if depth < _DEEPEST:
            return _joined(node.elts, known, depth + 1)
        case ast.BinOp(op=ast.Add()) if depth < _DEEPEST:
            return _joined([node.left, node.right], known, depth + 1)
        case ast.Dict() if depth < _DEEPEST:
            return _mapping(node, known, depth + 1)
    return None


def _joined(nodes: list[ast.expr], known: _Known, depth: int) -> list[str]:
    items: list[str] = []
    for node in nodes:
        inner = node.value if isinstance(node, ast.Starred) else node
        items.extend(texts(_value(inner, known, depth)))
    return items


def _mapping(node: ast.Dict, known: _Known, depth: int) -> dict[object, object]:
    return {
        _value(key, known, depth): _value(value, known, depth)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    }
