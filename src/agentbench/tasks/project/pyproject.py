"""`pyproject.toml`: the project's table, dependency groups, and those of the usual tools."""

import tomllib
from collections.abc import Iterator

from packaging.dependency_groups import resolve_dependency_groups
from packaging.errors import ExceptionGroup

from agentbench.tasks.project.declaration import (
    Bundle,
    Declaration,
    purpose_of,
    pythons_of,
    usable,
)
from agentbench.tasks.project.loose import Table, table_in, text_in, texts
from agentbench.tasks.project.poetry import read_poetry

_FILE = "pyproject.toml"


def parse_toml(text: str | None) -> Table:
    """A file's table; an empty one where it is no TOML."""
    try:
        return tomllib.loads(text or "")
    except (ValueError, RecursionError):
        return {}


def read_pyproject(document: Table) -> Declaration:
    """What a `pyproject.toml` says of installing, of Python and of tests."""
    project = table_in(document, "project")
    requires = text_in(project, "requires-python")
    build = texts(table_in(document, "build-system").get("requires"))
    own = Declaration(
        installable=bool(project) or bool(build),
        requires_python=(requires,) if requires else (),
        pythons=pythons_of(texts(project.get("classifiers"))),
        requirements=usable(texts(project.get("dependencies"))),
        bundles=tuple(_bundles(document, project)),
        build_requirements=build,
    )
    return own.with_(read_poetry(table_in(document, "tool", "poetry")))


def _bundles(document: Table, project: Table) -> Iterator[Bundle]:
    for name, value in table_in(project, "optional-dependencies").items():
        if (purpose := purpose_of(name)) is not None:
            where = f"extra `{name}` of {_FILE}"
            said = usable(texts(value))
            yield Bundle(where=where, purpose=purpose, extras=(name,), held=said)
    yield from _groups(table_in(document, "dependency-groups"), "dependency group")
    yield from _groups(table_in(document, "tool", "pdm", "dev-dependencies"), "PDM's group")
    for name, table in table_in(document, "tool", "hatch", "envs").items():
        wanted = table_in({"env": table}, "env")
        said = (*texts(wanted.get("dependencies")), *texts(wanted.get("extra-dependencies")))
        yield from _bundle(f"Hatch's environment `{name}`", name, usable(said))
    dev = usable(texts(table_in(document, "tool", "uv").get("dev-dependencies")))
    yield from _bundle("uv's dev-dependencies", "dev", dev)


def _groups(groups: Table, kind: str) -> Iterator[Bundle]:
    for name in groups:
        if purpose_of(name) is None:
            continue
        try:
            said = resolve_dependency_groups(groups, name)  # type: ignore[arg-type]  # it checks
        except (ValueError, LookupError, TypeError, ExceptionGroup):
            said = texts(groups[name])
        yield from _bundle(f"{kind} `{name}`", name, usable(said))


def _bundle(where: str, name: str, requirements: tuple[str, ...]) -> Iterator[Bundle]:
    purpose = purpose_of(name)
    if purpose is not None and requirements:
        yield Bundle(where=f"{where} of {_FILE}", purpose=purpose, requirements=requirements)
