"""Reads the declarations of a project's pyproject.toml, setup.cfg and setup.py.

`setup.py` is never run: only the literals in its `setup(...)` call are read.
"""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error

from packaging.dependency_groups import resolve_dependency_groups
from packaging.errors import ExceptionGroup
from packaging.version import InvalidVersion, Version

from agentbench.python_source.python_syntax import UNPARSABLE, parse
from agentbench.tasks.project_declaration import (
    ProjectDeclaration,
    ReadText,
    RequirementGroup,
    TomlTable,
    extra_groups,
    ini_lines,
    named_requirements,
    purpose_of,
    pythons_of,
    requirement_group,
    strings_in,
    table_in,
    text_in,
)

_COMPARED = re.compile(r"[<>=!]")
_FILE = "pyproject.toml"
_MAX_DEPTH = 20
_Assignments = Mapping[str, ast.expr]


def read_declaration(read: ReadText) -> ProjectDeclaration:
    """The combined declarations of pyproject.toml, setup.cfg and setup.py."""
    declared = read_pyproject(parse_toml(read("pyproject.toml")))
    declared = declared.merged_with(read_setup_cfg(parse_ini(read("setup.cfg"))))
    return declared.merged_with(read_setup_py(read("setup.py")))


def read_poetry(poetry: TomlTable) -> ProjectDeclaration:
    """The declarations of `[tool.poetry]`."""
    groups = list(extra_groups(dict.fromkeys(table_in(poetry, "extras")), _FILE))
    for name in table_in(poetry, "group"):
        requirements = tuple(_poetry_requirements(table_in(poetry, "group", name, "dependencies")))
        groups += requirement_group(f"Poetry's group `{name}` in {_FILE}", name, requirements)
    dev = tuple(_poetry_requirements(table_in(poetry, "dev-dependencies")))
    groups += requirement_group(f"Poetry's dev-dependencies in {_FILE}", "dev", dev)
    dependencies = table_in(poetry, "dependencies")
    python = pip_specifier(text_in(dependencies, "python"))
    return ProjectDeclaration(
        installable="name" in poetry,
        requires_python=(python,) if python else (),
        requirements=tuple(_poetry_requirements(dependencies)),
        bundles=tuple(groups),
    )


def pip_specifier(constraint: str) -> str:
    """Poetry's `^1.2`, `~1.2` and bare versions as a specifier for pip."""
    return ",".join(filter(None, map(_specifier_part, constraint.partition("||")[0].split(","))))


def _poetry_requirements(dependencies: TomlTable) -> Iterator[str]:
    for name, value in dependencies.items():
        if name == "python":
            continue
        if isinstance(value, list):
            value = value[0] if value else "*"
        if isinstance(value, str):
            yield f"{name}{pip_specifier(value)}"
        elif isinstance(value, dict) and "version" in value and not value.get("optional"):
            extras = ",".join(strings_in(value.get("extras")))
            bracketed = f"[{extras}]" if extras else ""
            markers = text_in(value, "markers")
            condition = f" ; {markers}" if markers else ""
            yield f"{name}{bracketed}{pip_specifier(text_in(value, 'version'))}{condition}"


def _specifier_part(constraint: str) -> str:
    text = constraint.strip()
    if not text or text == "*":
        return ""
    if text[0] not in "^~" or text.startswith("~="):
        return text if _COMPARED.match(text) or text.startswith("~=") else f"=={text}"
    try:
        lowest = Version(text[1:].strip())
    except InvalidVersion:
        return ""
    # `^` allows changes right of the first part that is not 0, `~` right of the second part.
    release = list(lowest.release)
    at = min(1, len(release) - 1)
    if text[0] == "^":
        at = next((i for i, part in enumerate(release) if part), len(release) - 1)
    too_new = ".".join(map(str, [*release[:at], release[at] + 1]))
    return f">={lowest},<{too_new}"


def parse_toml(text: str | None) -> TomlTable:
    """A file's table; an empty one if it is not TOML."""
    try:
        return tomllib.loads(text or "")
    except (ValueError, RecursionError):
        return {}


def read_pyproject(document: TomlTable) -> ProjectDeclaration:
    """The declarations of a `pyproject.toml` about installation, Python and tests."""
    project = table_in(document, "project")
    requires = text_in(project, "requires-python")
    build = strings_in(table_in(document, "build-system").get("requires"))
    own = ProjectDeclaration(
        installable=bool(project) or bool(build),
        requires_python=(requires,) if requires else (),
        pythons=pythons_of(strings_in(project.get("classifiers"))),
        requirements=named_requirements(strings_in(project.get("dependencies"))),
        bundles=tuple(_requirement_groups(document, project)),
        build_requirements=build,
    )
    return own.merged_with(read_poetry(table_in(document, "tool", "poetry")))


def _requirement_groups(document: TomlTable, project: TomlTable) -> Iterator[RequirementGroup]:
    yield from extra_groups(table_in(project, "optional-dependencies"), _FILE)
    yield from _tool_groups(table_in(document, "dependency-groups"), "dependency group")
    yield from _tool_groups(table_in(document, "tool", "pdm", "dev-dependencies"), "PDM's group")
    for name, table in table_in(document, "tool", "hatch", "envs").items():
        environment = table_in({"env": table}, "env")
        requirements = [
            *strings_in(environment.get("dependencies")),
            *strings_in(environment.get("extra-dependencies")),
        ]
        where = f"Hatch's environment `{name}` of {_FILE}"
        yield from requirement_group(where, name, named_requirements(requirements))
    dev = named_requirements(strings_in(table_in(document, "tool", "uv").get("dev-dependencies")))
    yield from requirement_group(f"uv's dev-dependencies of {_FILE}", "dev", dev)


def _tool_groups(groups: TomlTable, kind: str) -> Iterator[RequirementGroup]:
    for name in groups:
        if purpose_of(name) is None:
            continue
        try:
            members = resolve_dependency_groups(groups, name)  # type: ignore[arg-type]  # it checks
        except (ValueError, LookupError, TypeError, ExceptionGroup):
            members = strings_in(groups[name])
        where = f"{kind} `{name}` of {_FILE}"
        yield from requirement_group(where, name, named_requirements(members))


def parse_ini(text: str | None) -> ConfigParser:
    """An ini file's sections; none if it is not an ini file."""
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text or "")
    except Error:
        return ConfigParser(interpolation=None)
    return parser


def read_setup_cfg(parser: ConfigParser) -> ProjectDeclaration:
    """The declarations of a `setup.cfg`."""
    section = "options.extras_require"
    names = parser.options(section) if parser.has_section(section) else ()
    extras = {name: option_lines(parser, section, name) for name in names}
    tests = named_requirements(option_lines(parser, "options", "tests_require"))
    requires = parser.get("options", "python_requires", fallback="").strip()
    return ProjectDeclaration(
        installable=parser.has_option("metadata", "name"),
        requires_python=(requires,) if requires else (),
        pythons=pythons_of(option_lines(parser, "metadata", "classifiers")),
        requirements=named_requirements(option_lines(parser, "options", "install_requires")),
        bundles=(
            *extra_groups(extras, "setup.cfg"),
            *requirement_group("tests_require of setup.cfg", "tests", tests),
        ),
    )


def option_lines(parser: ConfigParser, section: str, name: str) -> tuple[str, ...]:
    """The lines of an option; none if it is missing."""
    return ini_lines(parser.get(section, name, fallback=""))


def parse_python(text: str | None) -> ast.Module:
    """A module's syntax tree; an empty one if this Python cannot parse it."""
    try:
        return parse(text or "")
    except UNPARSABLE:
        return ast.Module(body=[], type_ignores=[])


def read_setup_py(text: str | None) -> ProjectDeclaration:
    """The declarations of a `setup.py`, which is never run."""
    module = parse_python(text)
    known = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    arguments: dict[str, object] = {}
    for node in ast.walk(module):
        called = node.func if isinstance(node, ast.Call) else None
        if getattr(called, "id", getattr(called, "attr", "")) != "setup":
            continue
        assert isinstance(node, ast.Call)
        for keyword in node.keywords:
            if keyword.arg is not None:
                arguments[keyword.arg] = _value(keyword.value, known, 0)
                continue
            # `setup(**settings)` of a table in the module
            settings = keyword.value
            table = known.get(settings.id) if isinstance(settings, ast.Name) else None
            if isinstance(table, ast.Dict):
                for key, value in zip(table.keys, table.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        arguments[key.value] = _value(value, known, 0)
    extras = arguments.get("extras_require")
    items = extras.items() if isinstance(extras, dict) else ()
    named = {name: requirements for name, requirements in items if isinstance(name, str)}
    tests = named_requirements(strings_in(arguments.get("tests_require")))
    requires = arguments.get("python_requires")
    return ProjectDeclaration(
        installable=text is not None,
        requires_python=(requires,) if isinstance(requires, str) else (),
        pythons=pythons_of(strings_in(arguments.get("classifiers"))),
        requirements=named_requirements(strings_in(arguments.get("install_requires"))),
        bundles=(
            *extra_groups(named, "setup.py"),
            *requirement_group("tests_require of setup.py", "tests", tests),
        ),
    )


def _value(node: ast.expr | None, known: _Assignments, depth: int) -> object:
    """The value of an expression if it is a readable literal; else None."""
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
            return {
                _value(key, known, depth + 1): _value(value, known, depth + 1)
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant)
            }
    return None


def _joined(nodes: list[ast.expr], known: _Assignments, depth: int) -> list[str]:
    items: list[str] = []
    for node in nodes:
        inner = node.value if isinstance(node, ast.Starred) else node
        items.extend(strings_in(_value(inner, known, depth)))
    return items
