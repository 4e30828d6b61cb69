"""`pyproject.toml`: the project's table, dependency groups, and those of the usual tools."""

import re
import tomllib
from collections.abc import Iterator

from packaging.dependency_groups import resolve_dependency_groups
from packaging.errors import ExceptionGroup
from packaging.version import InvalidVersion, Version

from agentbench.tasks.project.declaration import (
    ProjectDeclaration,
    RequirementGroup,
    RequirementPurpose,
    TomlTable,
    extra_groups,
    named_requirements,
    purpose_of,
    pythons_of,
    strings_in,
    table_in,
    text_in,
)

_COMPARED = re.compile(r"[<>=!]")


def read_poetry(poetry: TomlTable) -> ProjectDeclaration:
    """What `[tool.poetry]` says."""
    wanted = table_in(poetry, "dependencies")
    python = pip_specifier(text_in(wanted, "python"))
    return ProjectDeclaration(
        installable="name" in poetry,
        requires_python=(python,) if python else (),
        requirements=tuple(_poetry_requirements(wanted)),
        bundles=tuple(_poetry_groups(poetry)),
    )


def pip_specifier(constraint: str) -> str:
    """Poetry's `^1.2`, `~1.2` and bare versions as a specifier of pip's."""
    return ",".join(filter(None, map(_specifier_part, constraint.partition("||")[0].split(","))))


def _poetry_groups(poetry: TomlTable) -> Iterator[RequirementGroup]:
    yield from extra_groups(dict.fromkeys(table_in(poetry, "extras")), _FILE)
    for name in table_in(poetry, "group"):
        requirements = tuple(_poetry_requirements(table_in(poetry, "group", name, "dependencies")))
        if (purpose := purpose_of(name)) is not None and requirements:
            where = f"Poetry's group `{name}` in pyproject.toml"
            yield RequirementGroup(where=where, purpose=purpose, requirements=requirements)
    if requirements := tuple(_poetry_requirements(table_in(poetry, "dev-dependencies"))):
        where = "Poetry's dev-dependencies in pyproject.toml"
        yield RequirementGroup(
            where=where, purpose=RequirementPurpose.DEVELOPMENT, requirements=requirements
        )


def _poetry_requirements(wanted: TomlTable) -> Iterator[str]:
    for name, value in wanted.items():
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
    return f">={lowest},<{_upper_bound(lowest, is_caret=text[0] == '^')}"


def _upper_bound(lowest: Version, *, is_caret: bool) -> str:
    """The first version that is too new."""
    release = list(lowest.release)
    if is_caret:
        at = next((i for i, part in enumerate(release) if part), len(release) - 1)
    else:
        at = min(1, len(release) - 1)
    return ".".join(map(str, [*release[:at], release[at] + 1]))


_FILE = "pyproject.toml"


def parse_toml(text: str | None) -> TomlTable:
    """A file's table; an empty one where it is not TOML."""
    try:
        return tomllib.loads(text or "")
    except (ValueError, RecursionError):
        return {}


def read_pyproject(document: TomlTable) -> ProjectDeclaration:
    """What a `pyproject.toml` says of installing, of Python and of tests."""
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
        wanted = table_in({"env": table}, "env")
        said = (
            *strings_in(wanted.get("dependencies")),
            *strings_in(wanted.get("extra-dependencies")),
        )
        yield from _requirement_group(
            f"Hatch's environment `{name}`", name, named_requirements(said)
        )
    dev = named_requirements(strings_in(table_in(document, "tool", "uv").get("dev-dependencies")))
    yield from _requirement_group("uv's dev-dependencies", "dev", dev)


def _tool_groups(groups: TomlTable, kind: str) -> Iterator[RequirementGroup]:
    for name in groups:
        if purpose_of(name) is None:
            continue
        try:
            said = resolve_dependency_groups(groups, name)  # type: ignore[arg-type]  # it checks
        except (ValueError, LookupError, TypeError, ExceptionGroup):
            said = strings_in(groups[name])
        yield from _requirement_group(f"{kind} `{name}`", name, named_requirements(said))


def _requirement_group(
    where: str, name: str, requirements: tuple[str, ...]
) -> Iterator[RequirementGroup]:
    purpose = purpose_of(name)
    if purpose is not None and requirements:
        yield RequirementGroup(
            where=f"{where} of {_FILE}", purpose=purpose, requirements=requirements
        )
