"""The Python version for a project's tests, and the pytest options that are kept."""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from agentbench.tasks.project_declaration import (
    ProjectDeclaration,
    TomlTable,
    read_project_file,
    strings_in,
    table_in,
)
from agentbench.tasks.project_files import option_lines, parse_ini, parse_toml
from agentbench.tasks.project_versions import RequestedPython, valid_specifiers
from agentbench.tasks.test_command import parse_test_command

# First releases; https://devguide.python.org/versions/
_RELEASE_DATES = {
    "3.7": date(2018, 6, 27),
    "3.8": date(2019, 10, 14),
    "3.9": date(2020, 10, 5),
    "3.10": date(2021, 10, 4),
    "3.11": date(2022, 10, 24),
    "3.12": date(2023, 10, 2),
    "3.13": date(2024, 10, 7),
    "3.14": date(2025, 10, 7),
}
PLAIN_COMMAND = "python -m pytest"
_UNWANTED_OPTIONS = (
    "--cov",  # would measure coverage in every run, and fail if it is too low
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
_UNWANTED_SHORT_OPTIONS = ("-n", "-x")
_TAKES_NEXT = frozenset({"-n", "--numprocesses", "--dist", "--maxfail", "--cov", "--html"})


def choose_python(
    tree: Path, declared: ProjectDeclaration, on: date | None
) -> RequestedPython | None:
    """The version that a tree requests; None: it requests none."""
    pinned = (read_project_file(tree, ".python-version") or "").strip()
    if match := re.match(r"(?:cpython-)?(3\.\d+)", pinned):
        return RequestedPython(version=match.group(1), why=".python-version")
    specifiers = valid_specifiers(declared.requires_python)
    classified = _newest(v for v in declared.pythons if _admitted(v, specifiers))
    if classified is not None:
        return RequestedPython(version=classified, why="the newest that its classifiers name")
    known = [v for v, released in _RELEASE_DATES.items() if on is None or released <= on]
    admitted = _newest(v for v in known if _admitted(v, specifiers))
    if admitted is None or (on is None and admitted == _newest(_RELEASE_DATES)):
        return None
    why = "the newest that Requires-Python admits" if on is None else f"the newest on {on}"
    return RequestedPython(version=admitted, why=why)


def _admitted(version: str, specifiers: Iterable[SpecifierSet]) -> bool:
    return all(specifier.contains(f"{version}.99") for specifier in specifiers)


def _newest(versions: Iterable[str]) -> str | None:
    return max(versions, key=Version, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestSettings:
    """The settings of the configuration file that pytest would use."""

    where: str = ""
    test_paths: tuple[str, ...] = ()
    added_options: str = ""
    names: frozenset[str] = frozenset()  # all settings; only plugins know some of them
    plugins: tuple[str, ...] = ()  # the plugins in `required_plugins`


def read_pytest_settings(tree: Path) -> PytestSettings:
    """The settings of the first configuration file, in pytest's order."""
    for name in ("pytest.toml", ".pytest.toml"):
        if found := table_in(parse_toml(read_project_file(tree, name)), "pytest"):
            return _settings(name, found)
    for name in ("pytest.ini", ".pytest.ini"):
        if found := _section(tree, name, "pytest"):
            return _settings(name, found)
    tool = table_in(parse_toml(read_project_file(tree, "pyproject.toml")), "tool")
    if found := table_in(tool, "pytest", "ini_options") or table_in(tool, "pytest"):
        return _settings("pyproject.toml", found)
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if found := _section(tree, name, section):
            return _settings(name, found)
    return PytestSettings()


def judged_command(settings: PytestSettings) -> str:
    """The command for judged runs: the project's options, except disturbing ones."""
    try:
        words = shlex.split(settings.added_options)
    except ValueError:
        return PLAIN_COMMAND
    options = list(_requested_options(words))
    if options == words:
        return PLAIN_COMMAND
    command = f"{PLAIN_COMMAND} -o {shlex.quote(f'addopts={shlex.join(options)}')}"
    try:
        parse_test_command(command)
    except ValueError:
        return PLAIN_COMMAND
    return command


def _requested_options(words: list[str]) -> Iterator[str]:
    takes = False
    for word in words:
        if takes:
            takes = False
            if not word.startswith("-"):
                continue
        if word.startswith(_UNWANTED_OPTIONS) or word[:2] in _UNWANTED_SHORT_OPTIONS:
            takes = word in _TAKES_NEXT
            continue
        yield word


def _section(tree: Path, name: str, section: str) -> TomlTable:
    parser = parse_ini(read_project_file(tree, name))
    found = dict(parser.items(section)) if parser.has_section(section) else {}
    if "addopts" in found:
        found["addopts"] = " ".join(option_lines(parser, section, "addopts"))
    return found


def _settings(name: str, found: TomlTable) -> PytestSettings:
    options = found.get("addopts")
    return PytestSettings(
        where=name,
        test_paths=_split(found.get("testpaths")),
        added_options=options if isinstance(options, str) else shlex.join(strings_in(options)),
        names=frozenset(found),
        plugins=_split(found.get("required_plugins")),
    )


def _split(value: object) -> tuple[str, ...]:
    return tuple(value.split()) if isinstance(value, str) else strings_in(value)
