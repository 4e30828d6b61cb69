"""The tests of a source tree, read without running them: their paths and imports."""

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from agentbench.tasks.fix_commit import has_tests
from agentbench.tasks.project_declaration import python_files, read_project_file
from agentbench.tasks.project_files import parse_python

_TEST_FOLDERS = frozenset({"test", "tests", "testing"})
_TEST_FILE_NAMES = frozenset({"conftest.py", "test.py", "tests.py"})
_MOST_READ = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTests:
    """The test files of a tree, and the modules and fixtures that they use."""

    files: tuple[str, ...] = ()  # the test files, by their names or their content
    imports: frozenset[str] = frozenset()
    """Required modules that are neither in Python nor in the tree."""
    arguments: frozenset[str] = frozenset()  # the parameters of test functions: names of fixtures
    fixtures: frozenset[str] = frozenset()  # the fixtures that the tree defines itself
    marks: frozenset[str] = frozenset()

    def with_(self, other: "FoundTests") -> "FoundTests":
        """These files, with the modules and fixtures that they and other tests use."""
        return replace(
            self,
            imports=self.imports | other.imports,
            arguments=self.arguments | other.arguments,
            fixtures=self.fixtures | other.fixtures,
            marks=self.marks | other.marks,
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """The arguments for pytest: the outermost folders of tests, and files outside of these.

        A file with a name that pytest does not collect is always given by itself.
        """
        found = {
            name: _root_of(PurePosixPath(name)) if is_collected_by_default(name) else name
            for name in self.files
        }
        roots = dict.fromkeys(found.values())
        return tuple(
            root
            for root in roots
            if not is_collected_by_default(root)
            or not any(
                root != other and PurePosixPath(root).is_relative_to(other) for other in roots
            )
        )


def find_tests(tree: Path) -> FoundTests:
    """Read the test files of a tree, and the helper files next to them."""
    names = list(python_files(tree))
    found = FoundTests()
    files = []
    for name in names:
        if not is_collected_by_default(name) and not _is_in_test_folder(PurePosixPath(name)):
            continue
        text = read_project_file(tree, name) or ""
        # pytest also finds tests in other files that it is given by name.
        is_collected_by_name = PurePosixPath(name).name != "conftest.py" and has_tests(
            text.encode()
        )
        if is_collected_by_default(name) or is_collected_by_name:
            files.append(name)
        if len(files) <= _MOST_READ:
            found = found.with_(_tests_in(parse_python(text)))
    foreign = found.imports - _own_modules(names) - sys.stdlib_module_names
    return replace(found, files=tuple(files), imports=foreign)


def is_collected_by_default(name: str) -> bool:
    """Whether pytest collects a file with this path by default."""
    last = PurePosixPath(name).name
    return last.endswith(".py") and (last.startswith("test_") or last.endswith("_test.py"))


def _is_in_test_folder(path: PurePosixPath) -> bool:
    return path.name in _TEST_FILE_NAMES or not _TEST_FOLDERS.isdisjoint(path.parts[:-1])


def _own_modules(names: Iterable[str]) -> set[str]:
    """The names that an import may mean: files and folders of Python files."""
    own = {PurePosixPath(name).stem for name in names}
    return own | {part for name in names for part in PurePosixPath(name).parts[:-1]}


def _root_of(path: PurePosixPath) -> str:
    for at, part in enumerate(path.parts[:-1]):
        if part in _TEST_FOLDERS:
            return PurePosixPath(*path.parts[: at + 1]).as_posix()
    return path.as_posix()


def _tests_in(module: ast.Module) -> FoundTests:
    """The modules that one file uses, without optional imports, and all of its functions."""
    nodes = list(ast.walk(module))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    fixtures = [
        node
        for node in functions
        if any("fixture" in ast.dump(each) for each in node.decorator_list)
    ]
    tests = [node for node in functions if node.name.startswith("test")]
    return FoundTests(
        imports=frozenset(_imported(module.body)),
        arguments=frozenset(arg.arg for node in (*tests, *fixtures) for arg in node.args.args),
        fixtures=frozenset(node.name for node in fixtures),
        marks=frozenset(
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "mark"
        ),
    )


def _imported(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]
