"""Poetry's tables, in the words that pip understands."""

import re
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from agentbench.tasks.project.declaration import Bundle, Declaration, Purpose, purpose_of
from agentbench.tasks.project.loose import Table, table_in, text_in, texts

_COMPARED = re.compile(r"[<>=!]")


def read_poetry(poetry: Table) -> Declaration:
    """What `[tool.poetry]` says."""
    wanted = table_in(poetry, "dependencies")
    python = specifier_of(text_in(wanted, "python"))
    return Declaration(
        installable="name" in poetry,
        requires_python=(python,) if python else (),
        requirements=tuple(_requirements(wanted)),
        bundles=tuple(_bundles(poetry)),
    )


def specifier_of(constraint: str) -> str:
    """Poetry's `^1.2`, `~1.2` and bare versions as a specifier of pip's."""
    return ",".join(filter(None, map(_one, constraint.partition("||")[0].split(","))))


def _bundles(poetry: Table) -> Iterator[Bundle]:
    for name in table_in(poetry, "extras"):
        if (purpose := purpose_of(name)) is not None:
            where = f"extra `{name}` of pyproject.toml"
            yield Bundle(where=where, purpose=purpose, extras=(name,))
    for name in table_in(poetry, "group"):
        requirements = tuple(_requirements(table_in(poetry, "group", name, "dependencies")))
        if (purpose := purpose_of(name)) is not None and requirements:
            where = f"Poetry's group `{name}` in pyproject.toml"
            yield Bundle(where=where, purpose=purpose, requirements=requirements)
    if requirements := tuple(_requirements(table_in(poetry, "dev-dependencies"))):
        where = "Poetry's dev-dependencies in pyproject.toml"
        yield Bundle(where=where, purpose=Purpose.DEVELOPMENT, requirements=requirements)


def _requirements(wanted: Table) -> Iterator[str]:
    for name, value in wanted.items():
        if name == "python":
            continue
        if isinstance(value, list):
            value = value[0] if value else "*"
        if isinstance(value, str):
            yield f"{name}{specifier_of(value)}"
        elif isinstance(value, dict) and "version" in value and not value.get("optional"):
            extras = ",".join(texts(value.get("extras")))
            bracketed = f"[{extras}]" if extras else ""
            markers = text_in(value, "markers")
            condition = f" ; {markers}" if markers else ""
            yield f"{name}{bracketed}{specifier_of(text_in(value, 'version'))}{condition}"


def _one(constraint: str) -> str:
    text = constraint.strip()
    if not text or text == "*":
        return ""
    if text[0] not in "^~" or text.startswith("~="):
        return text if _COMPARED.match(text) or text.startswith("~=") else f"=={text}"
    try:
        lowest = Version(text[1:].strip())
    except InvalidVersion:
        return ""
    return f">={lowest},<{_next(lowest, is_caret=text[0] == '^')}"


def _next(lowest: Version, *, is_caret: bool) -> str:
    """The first version that is too new."""
    release = list(lowest.release)
    if is_caret:
        at = next((i for i, part in enumerate(release) if part), len(release) - 1)
    else:
        at = min(1, len(release) - 1)
    return ".".join(map(str, [*release[:at], release[at] + 1]))
