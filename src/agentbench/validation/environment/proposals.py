"""Proposals for running a source tree's tests, read from files that are never run here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePosixPath

from agentbench.sandbox.python_stacks import base_image_name
from agentbench.tasks.project_declaration import read_project_file
from agentbench.tasks.project_files import parse_ini
from agentbench.tasks.project_versions import RequestedPython
from agentbench.tasks.task import TaskSetup
from agentbench.tasks.task_file import EnvironmentTable, PytestTable
from agentbench.validation.environment import install_strategies, project_settings
from agentbench.validation.environment.found_tests import FoundTests, find_tests
from agentbench.validation.environment.install_strategies import InstallStrategy

_MAX_PROPOSALS = 12
_MAX_DATED = 2
"""The number of strategies tried with the libraries of the change's day before today's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The tables of a task.toml with which a repository's tests may run."""

    environment: EnvironmentTable = field(default_factory=EnvironmentTable)
    setup: TaskSetup = field(default_factory=TaskSetup)
    tests: PytestTable = field(default_factory=PytestTable)
    reasons: tuple[str, ...] = ()
    """The sources of its parts, such as "extra `test`: pyproject.toml"."""


def propose(
    tree: Path, *, on: date | None = None, tests_of: Path | None = None
) -> tuple[Proposal, ...]:
    """Proposals for running a repository's tests, at least one.

    The Python that the repository names comes before the default one, the libraries of the
    change's day before today's, and declared requirements before imported modules. The tests of
    `tests_of`, another state of the repository, must run there, too.

    Args:
        tree: The repository's files.
        on: The day of that state, to install the libraries of that time.
        tests_of: Another state of the repository, whose tests must run there, too.
    """
    declared = install_strategies.read_declarations(tree)
    settings, found = project_settings.read_pytest_settings(tree), find_tests(tree)
    if tests_of is not None:
        found = found.with_(find_tests(tests_of))
    strategies = install_strategies.install_strategies(tree, declared, settings, found)
    tests, why_tests = _tests(tree, settings, found)
    env, why_env = _environment(tree)
    requested = project_settings.choose_python(tree, declared, on)
    proposals = [
        Proposal(
            environment=EnvironmentTable(
                image=None if python is None else base_image_name(python.version), env=env
            ),
            setup=TaskSetup(commands=install_strategies.setup_commands(strategy, on=day)),
            tests=tests,
            reasons=(*_install_reasons(python, day, strategy), *why_tests, *why_env),
        )
        for python, day, strategy in _combinations(requested, on, strategies)
    ]
    return tuple(proposals[:_MAX_PROPOSALS])


def _combinations(
    requested: RequestedPython | None, on: date | None, strategies: tuple[InstallStrategy, ...]
) -> Iterator[tuple[RequestedPython | None, date | None, InstallStrategy]]:
    for python in dict.fromkeys((requested, None)):
        if on is not None:
            yield from ((python, on, strategy) for strategy in strategies[:_MAX_DATED])
        yield from ((python, None, strategy) for strategy in strategies)


def _install_reasons(
    python: RequestedPython | None, day: date | None, strategy: InstallStrategy
) -> Iterator[str]:
    yield "the default image" if python is None else f"Python {python.version}: {python.why}"
    yield "the newest libraries" if day is None else f"libraries as of {day}"
    if strategy.project:
        yield "the project itself, editable"
    yield from strategy.reasons


def _tests(
    tree: Path, settings: project_settings.PytestSettings, found: FoundTests
) -> tuple[PytestTable, tuple[str, ...]]:
    command = project_settings.judged_command(settings)
    changed = command != project_settings.PLAIN_COMMAND
    reasons = [f"addopts of {settings.where}, less some"] if changed else []
    configured = tuple(
        p for p in map(_path_in_tree, settings.test_paths) if p and (tree / p).exists()
    )
    if configured:
        reasons.append(f"tests in {', '.join(configured)}: testpaths of {settings.where}")
    elif found.paths:
        reasons.append(f"tests in {', '.join(found.paths)}: where test files are")
    else:
        reasons.append("no test files found")
    paths = tuple(p for p in configured or found.paths if _path_in_tree(p) is not None)
    return PytestTable(command=command, paths=paths), tuple(reasons)


def _path_in_tree(path: str) -> str | None:
    """A path in the form that a task uses; None if it leaves the tree or is a pattern."""
    plain = PurePosixPath(path)
    if plain.is_absolute() or ".." in plain.parts or not plain.parts or path.startswith("-"):
        return None
    return plain.as_posix() if path.isprintable() else None


def _environment(tree: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    version_variables = install_strategies.version_variables(tree)
    tox_variables = install_strategies.tox_environment(
        parse_ini(read_project_file(tree, "tox.ini"))
    )
    reasons = [f"{name}: the version in PKG-INFO" for name in version_variables]
    return {**tox_variables, **version_variables}, (
        *reasons,
        *(f"{name}: setenv of tox.ini" for name in tox_variables),
    )
