"""The tests of a tree, read and not run: where they are, and what they use that is not theirs."""

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.curation.detection.setup_py import parse_python
from agentbench.curation.detection.tree_text import python_files, text_of

_FOLDERS = frozenset({"test", "tests", "testing"})
_NAMED = frozenset({"test.py", "tests.py"})
_MOST_READ = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTests:
    """What the test files of a tree show."""

    files: tuple[str, ...] = ()
    """Those that are tests by their names."""
    imports: frozenset[str] = frozenset()
    """Modules that they cannot do without, and that are neither Python's nor the tree's."""
    arguments: frozenset[str] = frozenset()
    """Names of what test functions take: fixtures."""
    fixtures: frozenset[str] = frozenset()
    """The fixtures that the tree defines itself."""
    marks: frozenset[str] = frozenset()

    def with_(self, other: "FoundTests") -> "FoundTests":
        """These, and what other tests use besides; the files stay these."""
        return FoundTests(
            files=self.files,
            imports=self.imports | other.imports,
            arguments=self.arguments | other.arguments,
            fixtures=self.fixtures | other.fixtures,
            marks=self.marks | other.marks,
        )

    @property
    def folders(self) -> tuple[str, ...]:
        """The outermost folders of tests; a file that is in none stands for itself."""
        roots = dict.fromkeys(_root_of(PurePosixPath(name)) for name in self.files)
        return tuple(root for root in roots if not any(_is_below(root, other) for other in roots))


def find_tests(tree: Path) -> FoundTests:
    """Read the test files of a tree, and the files beside them that they share."""
    names = list(python_files(tree))
    tests = tuple(name for name in names if is_test_file(name))
    shared = [n for n in names if _is_of_tests(PurePosixPath(n)) and n not in set(tests)]
    seen = _Seen()
    for name in [*tests, *shared][:_MOST_READ]:
        seen.read(parse_python(text_of(tree, name)))
    foreign = seen.imports - _own_modules(names) - sys.stdlib_module_names
    return FoundTests(
        files=tests,
        imports=frozenset(foreign),
        arguments=frozenset(seen.arguments),
        fixtures=frozenset(seen.fixtures),
        marks=frozenset(seen.marks),
    )


def is_test_file(name: str) -> bool:
    """Whether pytest collects a file of this path by itself, or would once it is named."""
    last = PurePosixPath(name).name
    if last in _NAMED:
        return True
    return last.endswith(".py") and (last.startswith("test_") or last.endswith("_test.py"))


def _is_of_tests(path: PurePosixPath) -> bool:
    return path.name == "conftest.py" or not _FOLDERS.isdisjoint(path.parts[:-1])


def _own_modules(names: Iterable[str]) -> set[str]:
    """Whatever a file or a folder of Python files is called may be meant by an import."""
    own = {PurePosixPath(name).stem for name in names}
    return own | {part for name in names for part in PurePosixPath(name).parts[:-1]}


def _root_of(path: PurePosixPath) -> str:
    for at, part in enumerate(path.parts[:-1]):
        if part in _FOLDERS:
            return PurePosixPath(*path.parts[: at + 1]).as_posix()
    return path.as_posix()


def _is_below(root: str, other: str) -> bool:
    return root != other and PurePosixPath(root).is_relative_to(other)


class _Seen:
    """What has been read so far."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.arguments: set[str] = set()
        self.fixtures: set[str] = set()
        self.marks: set[str] = set()

    def read(self, module: ast.Module) -> None:
        """Take in one file: the imports that it makes whenever it is imported, and all functions.

        An import in a `try`, an `if` or a function may be one that the tests can do without.
        """
        self.imports.update(_imported(module.body))
        self.marks.update(
            node.attr
            for node in ast.walk(module)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "mark"
        )
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._read_function(node)

    def _read_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        is_fixture = any("fixture" in ast.dump(each) for each in node.decorator_list)
        if is_fixture:
            self.fixtures.add(node.name)
        if is_fixture or node.name.startswith("test"):
            self.arguments.update(argument.arg for argument in node.args.args)


def _imported(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]
