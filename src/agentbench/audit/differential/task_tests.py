"""What a task's tests say of its code: what they import, the literals and the calls in them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench.audit.differential.tree_difference import is_test_path
from agentbench.audit.task_facts import TaskFacts
from agentbench.core import python_syntax

_MAX_CHARACTERS = 2_000  # characters of a literal or a call
_MOST_LITERALS = 500
_WORD = re.compile(r"[^\s.,;:|/]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTests:
    """The visible and the hidden tests, read."""

    __test__ = False

    imported: frozenset[str]  # names that they import
    trees: tuple[ast.Module, ...]

    def calls_of(self, name: str) -> tuple[str, ...]:
        """Calls by a name whose arguments are literals."""
        own = name.rpartition(".")[2]
        found = (
            ast.unparse(node)
            for tree in self.trees
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and _name_of(node) == own and _is_literal(node)
        )
        return tuple(dict.fromkeys(call for call in found if len(call) <= _MAX_CHARACTERS))

    def literals(self) -> tuple[str, ...]:
        """Numbers and texts in them as source, and the pieces that texts are made of."""
        values = (
            node.value
            for tree in self.trees
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str)
        )
        found = dict.fromkeys(repr(one) for value in values for one in (value, *_words(value)))
        return tuple(one for one in found if len(one) <= _MAX_CHARACTERS)[:_MOST_LITERALS]

    def mentions(self, name: str) -> bool:
        """Whether they call or read something by this name."""
        own = name.rpartition(".")[2]
        return any(_mentions(node, own) for tree in self.trees for node in ast.walk(tree))


def read_task_tests(facts: TaskFacts) -> TaskTests:
    """Read the tests of a task, as far as they are Python."""
    trees = tuple(_trees(facts))
    imported = {
        alias.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return TaskTests(imported=frozenset(imported), trees=trees)


def _trees(facts: TaskFacts) -> Iterator[ast.Module]:
    for _path, source in sources_of_tests(facts):
        try:
            yield python_syntax.parse(source)
        except python_syntax.UNPARSABLE:
            continue


def sources_of_tests(facts: TaskFacts) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The Python files of a task's tests: the hidden ones, then the base's own."""
    hidden = facts.hidden
    for path, file in hidden.items():
        if file is not None and path.suffix == ".py":
            yield path, file.content
    for path, content in facts.base.contents.items():
        is_own = path not in hidden and path.suffix == ".py"
        if is_own and is_test_path(path, facts.task.problem.test_paths):
            yield path, content


def _name_of(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""


def _is_literal(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Name):
        return False
    try:
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            python_syntax.literal(ast.unparse(argument))
    except (*python_syntax.UNPARSABLE, TypeError):
        return False
    return True


def _words(value: object) -> list[str]:
    return _WORD.findall(value) if isinstance(value, str) else []


def _mentions(node: ast.AST, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (
        isinstance(node, ast.Attribute) and node.attr == name
    )
