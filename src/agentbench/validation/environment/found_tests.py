"""The tests of a source tree, read without running them: their paths and imports."""

import ast
import sys
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from agentbench.tasks.project_declaration import python_files, read_project_file
from agentbench.tasks.project_files import parse_python
from agentbench.validation.languages import has_tests

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
        roots: dict[str, None] = {}
        for name in self.files:
            parts = PurePosixPath(name).parts
            outermost = [at for at, part in enumerate(parts[:-1], 1) if part in _TEST_FOLDERS][:1]
            folder = [PurePosixPath(*parts[:at]).as_posix() for at in outermost]
            roots[folder[0] if folder and is_collected_by_default(name) else name] = None
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
        path = PurePosixPath(name)
        is_helper = path.name in _TEST_FILE_NAMES or not _TEST_FOLDERS.isdisjoint(path.parts[:-1])
        if not is_collected_by_default(name) and not is_helper:
            continue
        text = read_project_file(tree, name) or ""
        # pytest also finds tests in other files that it is given by name.
        if is_collected_by_default(name) or has_tests(path, text.encode()):
            files.append(name)
        if len(files) <= _MOST_READ:
            found = found.with_(_tests_in(parse_python(text)))
    # An import may mean a file of the tree, or a folder with Python files.
    own = {part for name in names for part in PurePosixPath(name).with_suffix("").parts}
    foreign = found.imports - own - sys.stdlib_module_names
    return replace(found, files=tuple(files), imports=foreign)


def is_collected_by_default(name: str) -> bool:
    """Whether pytest collects a file with this path by default."""
    last = PurePosixPath(name).name
    return last.endswith(".py") and (last.startswith("test_") or last.endswith("_test.py"))


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
    imports: set[str] = set()
    for node in module.body:
        if isinstance(node, ast.Import):
            imports.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            imports.add(node.module.partition(".")[0])
    return FoundTests(
        imports=frozenset(imports),
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
