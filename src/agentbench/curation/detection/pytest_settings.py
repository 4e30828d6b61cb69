"""What a project configures of pytest, and which of it would spoil a judged run."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentbench.tasks.project.loose import Table, lines, table_in, texts
from agentbench.tasks.project.pyproject import parse_toml
from agentbench.tasks.project.setup_cfg import parse_ini
from agentbench.tasks.project.tree_text import text_of
from agentbench.tasks.pytest_command import parse_pytest_command

PLAIN_COMMAND = "python -m pytest"

_SPOILS = (
    "--cov",  # would count lines in every run, and fail below a share of them
    "--no-cov",
    "--maxfail",
    "--exitfirst",
    "--numprocesses",
    "--dist",
    "--html",
    "--self-contained-html",
    "--junit",
    "--benchmark",
    "--reruns",
    "--black",
    "--flake8",
    "--isort",
    "--pylint",
    "--mypy",
    "--ruff",
    "--pycodestyle",
    "--pydocstyle",
    "--color",
)
_SPOILS_SHORT = ("-n", "-x")
_TAKES_NEXT = frozenset({"-n", "--numprocesses", "--dist", "--maxfail", "--cov", "--html"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestSettings:
    """The settings of the file that pytest would take them from."""

    where: str = ""
    test_paths: tuple[str, ...] = ()
    added_options: str = ""
    names: frozenset[str] = frozenset()
    """All settings that are made; some are known to plugins alone."""
    plugins: tuple[str, ...] = ()
    """What `required_plugins` asks for."""


def read_pytest_settings(tree: Path) -> PytestSettings:
    """The first file's settings, in pytest's own order of files."""
    for name in ("pytest.toml", ".pytest.toml"):
        if found := table_in(parse_toml(text_of(tree, name)), "pytest"):
            return _of_table(name, found)
    for name, section in (("pytest.ini", "pytest"), (".pytest.ini", "pytest")):
        if found := _section(tree, name, section):
            return _of_ini(name, found)
    tool = table_in(parse_toml(text_of(tree, "pyproject.toml")), "tool")
    if found := table_in(tool, "pytest", "ini_options") or table_in(tool, "pytest"):
        return _of_table("pyproject.toml", found)
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if found := _section(tree, name, section):
            return _of_ini(name, found)
    return PytestSettings()


def judged_command(settings: PytestSettings) -> str:
    """The command for judged runs: the project's options, less what would spoil them."""
    try:
        words = shlex.split(settings.added_options)
    except ValueError:
        return PLAIN_COMMAND
    kept = list(_kept(words))
    if kept == words:
        return PLAIN_COMMAND
    command = f"{PLAIN_COMMAND} -o {shlex.quote(f'addopts={shlex.join(kept)}')}"
    try:
        parse_pytest_command(command)
    except ValueError:
        return PLAIN_COMMAND
    return command


def _kept(words: list[str]) -> Iterator[str]:
    takes = False
    for word in words:
        if takes:
            takes = False
            if not word.startswith("-"):
                continue
        if word.startswith(_SPOILS) or word[:2] in _SPOILS_SHORT:
            takes = word in _TAKES_NEXT
            continue
        yield word


def _section(tree: Path, name: str, section: str) -> Mapping[str, str]:
    parser = parse_ini(text_of(tree, name))
    return dict(parser.items(section)) if parser.has_section(section) else {}


def _of_table(name: str, found: Table) -> PytestSettings:
    options = found.get("addopts")
    return PytestSettings(
        where=name,
        test_paths=_split(found.get("testpaths")),
        added_options=options if isinstance(options, str) else shlex.join(texts(options)),
        names=frozenset(found),
        plugins=_split(found.get("required_plugins")),
    )


def _of_ini(name: str, found: Mapping[str, str]) -> PytestSettings:
    return PytestSettings(
        where=name,
        test_paths=_split(found.get("testpaths", "")),
        added_options=" ".join(lines(found.get("addopts", ""))),
        names=frozenset(found),
        plugins=_split(found.get("required_plugins", "")),
    )


def _split(value: object) -> tuple[str, ...]:
    return tuple(value.split()) if isinstance(value, str) else texts(value)
