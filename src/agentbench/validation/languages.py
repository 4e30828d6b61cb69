"""The languages whose projects can become tasks: the names of their files, and what a test is."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType

from agentbench.tasks.test_command import parse_test_command
from agentbench.tasks.test_runner_name import RUNNER_COMMANDS, Runner
from agentbench.test_runs.runners import runner_of


class Language(StrEnum):
    """The language of a project's tests."""

    PYTHON = "Python"
    JAVASCRIPT = "JavaScript"  # and TypeScript
    GO = "Go"
    RUST = "Rust"
    JAVA = "Java"  # and Kotlin, Groovy


def _named_by(runner: Runner, report: str = "") -> Callable[[PurePosixPath], bool]:
    """The names that a runner takes for tests."""
    line = RUNNER_COMMANDS[runner].usual or "mvn test"
    return runner_of(parse_test_command(line, runner, report)).is_test_file


def _named_for_pytest(path: PurePosixPath) -> bool:
    # pytest's own defaults, and the usual ones of unittest and Django.
    return path.name in {"tests.py", "conftest.py"} or (
        path.suffix == ".py" and (path.stem.startswith("test_") or path.stem.endswith("_test"))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """How the files of a language look."""

    suffixes: frozenset[str]
    """The suffixes of its programs."""

    is_test: Callable[[PurePosixPath], bool]
    """Whether a program has the name of a test."""

    defines_test: re.Pattern[bytes]
    """What a file with tests contains."""


_FILES: Mapping[Language, _Files] = MappingProxyType(
    {
        Language.PYTHON: _Files(
            suffixes=frozenset({".py", ".pyi"}),
            is_test=_named_for_pytest,
            defines_test=re.compile(rb"^\s*(async\s+)?def test|^class \w*Test", re.MULTILINE),
        ),
        Language.JAVASCRIPT: _Files(
            suffixes=frozenset(
                {".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".vue", ".svelte"}
            ),
            is_test=_named_by(Runner.JEST),
            defines_test=re.compile(rb"\b(?:it|test|suite|describe)\s*(?:\.\s*\w+\s*)*[(`]"),
        ),
        Language.GO: _Files(
            suffixes=frozenset({".go"}),
            is_test=_named_by(Runner.GO),
            defines_test=re.compile(rb"^func (?:Test|Example|Fuzz)\w*\(", re.MULTILINE),
        ),
        Language.RUST: _Files(
            suffixes=frozenset({".rs"}),
            is_test=_named_by(Runner.CARGO),
            defines_test=re.compile(rb"#\[(?:\w+::)*test\b"),
        ),
        Language.JAVA: _Files(
            suffixes=frozenset({".java", ".kt", ".groovy"}),
            is_test=_named_by(Runner.JUNIT, report="*.xml"),
            defines_test=re.compile(rb"@(?:\w*Test\w*|Property)\b|extends \w*TestCase\b"),
        ),
    }
)


def language_of(path: PurePosixPath) -> Language | None:
    """The language of a program; None: the file is none, or of a language without a row here."""
    return next((name for name, files in _FILES.items() if path.suffix in files.suffixes), None)


def is_named_as_test(path: PurePosixPath) -> bool:
    """Whether a program has the name of a test in its language."""
    language = language_of(path)
    return language is not None and _FILES[language].is_test(path)


def has_tests(path: PurePosixPath, content: bytes) -> bool:
    """Whether the runner of its language would find tests in a file that it is given by name."""
    language = language_of(path)
    if language is None or path.name == "conftest.py":
        return False
    return _FILES[language].defines_test.search(content) is not None
