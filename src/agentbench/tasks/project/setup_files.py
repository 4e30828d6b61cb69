"""`setup.cfg`, and `setup.py` read as text: what setuptools is told of installing and tests.

`setup.py` is never run: its `setup(...)` call is read as far as it is written in literals.
"""

import ast
from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error

from agentbench.core.python_syntax import UNPARSABLE, parse
from agentbench.tasks.project.declaration import (
    ProjectDeclaration,
    RequirementGroup,
    extra_groups,
    ini_lines,
    named_requirements,
    pythons_of,
    strings_in,
    tests_require,
)


def parse_ini(text: str | None) -> ConfigParser:
    """An ini file's sections; none where it is no ini file."""
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text or "")
    except Error:
        return ConfigParser(interpolation=None)
    return parser


def read_setup_cfg(parser: ConfigParser) -> ProjectDeclaration:
    """What a `setup.cfg` says."""
    requires = parser.get("options", "python_requires", fallback="").strip()
    return ProjectDeclaration(
        installable=parser.has_option("metadata", "name"),
        requires_python=(requires,) if requires else (),
        pythons=pythons_of(_option_lines(parser, "metadata", "classifiers")),
        requirements=named_requirements(_option_lines(parser, "options", "install_requires")),
        bundles=tuple(_setup_cfg_groups(parser)),
    )


def _setup_cfg_groups(parser: ConfigParser) -> Iterator[RequirementGroup]:
    section = "options.extras_require"
    names = parser.options(section) if parser.has_section(section) else ()
    extras = {name: _option_lines(parser, section, name) for name in names}
    yield from extra_groups(extras, "setup.cfg")
    yield from tests_require(_option_lines(parser, "options", "tests_require"), "setup.cfg")


def _option_lines(parser: ConfigParser, section: str, name: str) -> tuple[str, ...]:
    return ini_lines(parser.get(section, name, fallback=""))


_MAX_DEPTH = 20
_Assignments = Mapping[str, ast.expr]


def parse_python(text: str | None) -> ast.Module:
    """A module's syntax; an empty one where it is not this Python's."""
    try:
        return parse(text or "")
    except UNPARSABLE:
        return ast.Module(body=[], type_ignores=[])


def read_setup_py(text: str | None) -> ProjectDeclaration:
    """What a `setup.py` says; it is never run."""
    module = parse_python(text)
    known = _assigned(module)
    said = {name: _value(node, known, 0) for name, node in _arguments(module, known)}
    requires = said.get("python_requires")
    return ProjectDeclaration(
        installable=text is not None,
        requires_python=(requires,) if isinstance(requires, str) else (),
        pythons=pythons_of(strings_in(said.get("classifiers"))),
        requirements=named_requirements(strings_in(said.get("install_requires"))),
        bundles=tuple(_setup_py_groups(said)),
    )


def _setup_py_groups(said: Mapping[str, object]) -> Iterator[RequirementGroup]:
    extras = said.get("extras_require")
    items = extras.items() if isinstance(extras, dict) else ()
    named = {name: wanted for name, wanted in items if isinstance(name, str)}
    yield from extra_groups(named, "setup.py")
    yield from tests_require(strings_in(said.get("tests_require")), "setup.py")


def _assigned(module: ast.Module) -> dict[str, ast.expr]:
    return {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _arguments(module: ast.Module, known: _Assignments) -> Iterator[tuple[str, ast.expr]]:
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
                yield from _dict_items(known.get(keyword.value.id))


def _dict_items(node: ast.expr | None) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of `setup(**settings)`."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value


def _value(node: ast.expr | None, known: _Assignments, depth: int) -> object:
    """What an expression stands for, where that can be read; else None."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name() if depth < _MAX_DEPTH:
            return _value(known.get(node.id), known, depth + 1)
        case ast.List() | ast.Tuple() if depth < _MAX_DEPTH:
            return _joined(node.elts, known, depth + 1)
        case ast.BinOp(op=ast.Add()) if depth < _MAX_DEPTH:
            return _joined([node.left, node.right], known, depth + 1)
        case ast.Dict() if depth < _MAX_DEPTH:
            return _mapping(node, known, depth + 1)
    return None


def _joined(nodes: list[ast.expr], known: _Assignments, depth: int) -> list[str]:
    items: list[str] = []
    for node in nodes:
        inner = node.value if isinstance(node, ast.Starred) else node
        items.extend(strings_in(_value(inner, known, depth)))
    return items


def _mapping(node: ast.Dict, known: _Assignments, depth: int) -> dict[object, object]:
    return {
        _value(key, known, depth): _value(value, known, depth)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    }
