"""Proposals for running a source tree's tests, read from files that are never run here."""

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePosixPath

from agentbench.sandbox.python_stacks import base_image_name
from agentbench.tasks.project_declaration import read_project_file
from agentbench.tasks.project_files import parse_ini
from agentbench.tasks.task import TaskSetup
from agentbench.tasks.task_file import EnvironmentTable, TestsTable
from agentbench.validation.environment import install_strategies, project_settings
from agentbench.validation.environment.found_tests import FoundTests, find_tests

_MAX_PROPOSALS = 12
_MAX_DATED = 2
"""The number of strategies tried with the libraries of the change's day before today's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The tables of a task.toml with which a repository's tests may run."""

    environment: EnvironmentTable = field(default_factory=EnvironmentTable)
    setup: TaskSetup = field(default_factory=TaskSetup)
    tests: TestsTable = field(default_factory=TestsTable)
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
    release_env = install_strategies.version_variables(tree)
    tox_env = install_strategies.tox_environment(parse_ini(read_project_file(tree, "tox.ini")))
    why_env = [f"{name}: the version in PKG-INFO" for name in release_env]
    why_env += [f"{name}: setenv of tox.ini" for name in tox_env]

    dated = [(on, strategy) for strategy in strategies[:_MAX_DATED]] if on is not None else []
    proposals: list[Proposal] = []
    for python in dict.fromkeys((project_settings.choose_python(tree, declared, on), None)):
        for day, strategy in (*dated, *((None, strategy) for strategy in strategies)):
            reasons = (
                "the default image" if python is None else f"Python {python.version}: {python.why}",
                "the newest libraries" if day is None else f"libraries as of {day}",
                *(("the project itself, editable",) if strategy.project else ()),
                *strategy.reasons,
                *why_tests,
                *why_env,
            )
            environment = EnvironmentTable(
                image=None if python is None else base_image_name(python.version),
                env={**tox_env, **release_env},
            )
            setup = TaskSetup(commands=install_strategies.setup_commands(strategy, on=day))
            proposals.append(
                Proposal(environment=environment, setup=setup, tests=tests, reasons=reasons)
            )
    return tuple(proposals[:_MAX_PROPOSALS])


def _tests(
    tree: Path, settings: project_settings.PytestSettings, found: FoundTests
) -> tuple[TestsTable, tuple[str, ...]]:
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
    return TestsTable(command=command, paths=paths), tuple(reasons)


def _path_in_tree(path: str) -> str | None:
    """A path in the form that a task uses; None if it leaves the tree or is a pattern."""
    plain = PurePosixPath(path)
    if plain.is_absolute() or ".." in plain.parts or not plain.parts or path.startswith("-"):
        return None
    return plain.as_posix() if path.isprintable() else None
