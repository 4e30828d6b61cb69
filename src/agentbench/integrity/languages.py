"""The languages whose tests blind runs can change, and the names of others.

The engines that change tests are imported on first use, since runs without controls do not need
them.
"""

import io
import tokenize
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import PurePosixPath
from random import Random
from typing import Protocol

from agentbench.errors import InputError
from agentbench.integrity.records import RewrittenTestFile

_PYTHON = ".py"
_JAVASCRIPT = frozenset([".js", ".jsx", ".mjs", ".cjs"])
_TYPESCRIPT = frozenset([".ts", ".tsx", ".mts", ".cts"])
_NAMES = {
    _PYTHON: "Python",
    **dict.fromkeys(_JAVASCRIPT, "JavaScript"),
    **dict.fromkeys(_TYPESCRIPT, "TypeScript"),
    **dict.fromkeys([".c", ".h"], "C"),
    **dict.fromkeys([".cc", ".cpp", ".cxx", ".hh", ".hpp"], "C++"),
    ".cs": "C#",
    ".go": "Go",
    ".java": "Java",
    ".kt": "Kotlin",
    ".php": "PHP",
    ".rb": "Ruby",
    ".rs": "Rust",
    ".scala": "Scala",
    ".swift": "Swift",
}


class TestLanguage(Protocol):
    """Reads and changes the tests of one language."""

    def decoded(self, content: bytes | None, file: str) -> tuple[str, str]:
        """The text of a file of tests, and its encoding.

        Raises:
            InputError: it is missing, or cannot be decoded.
        """

    def functions_by_tests(
        self, source: str, path: str, tests: Iterable[str]
    ) -> Mapping[str, tuple[str, ...]]:
        """The node ids of a file by the function that controls them.

        Raises:
            InputError: the text cannot be read.
        """

    def uncontrolled_reasons(
        self, source: str, path: str, tests: Iterable[str]
    ) -> Mapping[str, str | None]:
        """Why no value of each function of some tests can be changed; None if one can.

        Raises:
            InputError: the text cannot be read.
        """

    def rewrite_tests(
        self,
        source: str,
        path: str,
        tests: Iterable[str],
        rng: Random,
        uncertain: Collection[str] = (),
        *,
        listed: Iterable[str] | None = None,
    ) -> RewrittenTestFile:
        """Make selected tests of a file expect other values.

        Args:
            source: The text of the file.
            path: Its path.
            tests: Selected node ids. In each function with selected tests one expected value is
                changed, or one for each of these tests.
            rng: The only source of chance: equal states give equal texts.
            uncertain: Functions that correct code passed although a value was changed. They get a
                failing assertion.
            listed: Node ids that must be found in a run that hides its expectations.
        """


class _PythonTests:
    def decoded(self, content: bytes | None, file: str) -> tuple[str, str]:
        return decoded(content, file)

    def functions_by_tests(
        self, source: str, path: str, tests: Iterable[str]
    ) -> Mapping[str, tuple[str, ...]]:
        from agentbench.integrity.expectation_changes import engine

        return engine.functions_by_tests(source, path, tests)

    def uncontrolled_reasons(
        self, source: str, path: str, tests: Iterable[str]
    ) -> Mapping[str, str | None]:
        from agentbench.integrity.expectation_changes import engine

        known = engine.uncontrolled_reasons(source, path)
        functions = engine.functions_by_tests(source, path, tests)
        return {name: known.get(name, "the file does not define it") for name in functions}

    def rewrite_tests(
        self,
        source: str,
        path: str,
        tests: Iterable[str],
        rng: Random,
        uncertain: Collection[str] = (),
        *,
        listed: Iterable[str] | None = None,
    ) -> RewrittenTestFile:
        from agentbench.integrity.expectation_changes import engine

        return engine.rewrite_tests(source, path, tests, rng, uncertain, listed=listed)


def is_python(file: str) -> bool:
    """Whether a file of tests is sealed, and its values that stay are looked for."""
    return file.endswith(_PYTHON)


def language_of(file: str) -> TestLanguage:
    """The language of a file of tests.

    Raises:
        InputError: its tests cannot be changed.
    """
    suffix = PurePosixPath(file).suffix
    if suffix not in _NAMES or _NAMES[suffix] not in {"Python", "Go", "JavaScript", "TypeScript"}:
        raise InputError(f"{file}: {tests_in(file)} are not changed in blind runs")
    return _PythonTests() if is_python(file) else _foreign(_NAMES[suffix])


def tests_in(file: str) -> str:
    """The tests of a file, by their language, for messages."""
    suffix = PurePosixPath(file).suffix
    return f"tests in {_NAMES.get(suffix) or f'*{suffix} files' if suffix else 'such files'}"


@cache
def _foreign(name: str) -> TestLanguage:
    from agentbench.integrity.foreign_expectations.engine import ForeignTests
    from agentbench.integrity.foreign_expectations.golang import GoTests
    from agentbench.integrity.foreign_expectations.javascript import JavaScriptTests

    return ForeignTests(GoTests() if name == "Go" else JavaScriptTests())


def decoded(content: bytes | None, file: str) -> tuple[str, str]:
    """The text of a file of Python tests, and its encoding.

    Raises:
        InputError: it is missing, no Python file, or cannot be decoded.
    """
    if content is None:
        raise InputError(f"{file}: is in neither the repository nor the hidden tests")
    if not is_python(file):
        raise InputError(f"{file}: {tests_in(file)} are not sealed")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return content.decode(encoding), encoding
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise InputError(f"{file}: cannot be decoded: {error}") from error
