"""What a source tree says of how its tests run, as proposals from the most specific to the least.

Read and never run: no file of the tree is imported or executed here.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path, PurePosixPath

from agentbench.curation.detection.installing import Installation, setup_commands, told_version
from agentbench.curation.detection.proposal import Proposal
from agentbench.curation.detection.pytest_settings import (
    PLAIN_COMMAND,
    PytestSettings,
    judged_command,
    read_pytest_settings,
)
from agentbench.curation.detection.python_version import WantedPython, wanted_python
from agentbench.curation.detection.test_files import FoundTests, find_tests
from agentbench.curation.detection.tox import tox_environment
from agentbench.curation.detection.ways import read_declaration, ways_to_install
from agentbench.sandbox.images import REPOSITORY
from agentbench.tasks.project.setup_cfg import parse_ini
from agentbench.tasks.project.tree_text import text_of
from agentbench.tasks.task_file import EnvironmentTable, PytestTable, SetupTable

_MOST = 12
_DATED = 2
"""How many ways are tried with the libraries of a day, before those of today are."""


def propose(
    tree: Path, *, on: date | None = None, tests_of: Path | None = None
) -> tuple[Proposal, ...]:
    """The ways in which a repository's tests may run; one at least.

    The Python that it names comes before the default one, the libraries of its time before those of
    today, and what it says of its tests before what they import.

    Args:
        tree: The repository's files.
        on: The day of that state, so that its tests meet the libraries of their time.
        tests_of: Another state of the repository, whose tests are to run there, too.
    """
    declared = read_declaration(tree)
    settings, found = read_pytest_settings(tree), find_tests(tree)
    if tests_of is not None:
        found = found.with_(find_tests(tests_of))
    ways = ways_to_install(tree, declared, settings, found)
    tests, why_tests = _tests(tree, settings, found)
    env, why_env = _environment(tree)
    proposals = [
        Proposal(
            environment=EnvironmentTable(image=_image(python), env=env),
            setup=SetupTable(commands=setup_commands(way, on=day)),
            tests=tests,
            reasons=(_why_python(python), *_why_installed(way, day), *why_tests, *why_env),
        )
        for python, day, way in _combined(wanted_python(tree, declared, on), on, ways)
    ]
    return tuple(proposals[:_MOST])


def _combined(
    wanted: WantedPython | None, on: date | None, ways: tuple[Installation, ...]
) -> Iterator[tuple[WantedPython | None, date | None, Installation]]:
    for python in dict.fromkeys((wanted, None)):
        if on is not None:
            yield from ((python, on, way) for way in ways[:_DATED])
        yield from ((python, None, way) for way in ways)


def _image(python: WantedPython | None) -> str | None:
    return None if python is None else f"{REPOSITORY}:{python.version}"


def _why_python(python: WantedPython | None) -> str:
    if python is None:
        return "the default image"
    return f"Python {python.version}: {python.why}"


def _why_installed(way: Installation, day: date | None) -> Iterator[str]:
    yield "the newest libraries" if day is None else f"libraries as of {day}"
    if way.project:
        yield "the project itself, editable"
    yield from way.reasons


def _tests(
    tree: Path, settings: PytestSettings, found: FoundTests
) -> tuple[PytestTable, tuple[str, ...]]:
    command = judged_command(settings)
    reasons = [] if command == PLAIN_COMMAND else [f"addopts of {settings.where}, less some"]
    configured = tuple(p for p in map(_plain, settings.test_paths) if p and (tree / p).exists())
    if configured:
        reasons.append(f"tests in {', '.join(configured)}: testpaths of {settings.where}")
    elif found.paths:
        reasons.append(f"tests in {', '.join(found.paths)}: where test files are")
    else:
        reasons.append("no test files found")
    paths = tuple(p for p in configured or found.paths if _plain(p) is not None)
    return PytestTable(command=command, paths=paths), tuple(reasons)


def _plain(path: str) -> str | None:
    """A path as a task may name it; None for those that leave the tree, and for patterns."""
    plain = PurePosixPath(path)
    if plain.is_absolute() or ".." in plain.parts or not plain.parts or path.startswith("-"):
        return None
    return plain.as_posix() if path.isprintable() else None


def _environment(tree: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    told = told_version(tree)
    said = tox_environment(parse_ini(text_of(tree, "tox.ini")))
    reasons = [f"{name}: the version in PKG-INFO" for name in told]
    return {**said, **told}, (*reasons, *(f"{name}: setenv of tox.ini" for name in said))
