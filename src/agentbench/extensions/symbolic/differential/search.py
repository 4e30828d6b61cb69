"""A search for a difference: its limits and results, and the project's tests in a sandbox."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath

from agentbench.attempt.context import limits_of
from agentbench.attempt.preparing import prepare_task
from agentbench.attempt.resources import RunResources
from agentbench.audit.rule import RuleHit
from agentbench.audit.task_facts import TaskFacts
from agentbench.errors import SandboxError
from agentbench.extensions.symbolic.differential.tree_difference import (
    NotCompared,
    TreeDifference,
    is_test_path,
)
from agentbench.extensions.symbolic.differential.trees import AttemptTrees, SourceTree
from agentbench.extensions.symbolic.libraries import program_argv, python_of, symbolic_mounts
from agentbench.python_source import python_syntax
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox, SnapshotId
from agentbench.scoring.evidence import CommandResult
from agentbench.tasks.task import Task

_WRITE_TIMEOUT = timedelta(minutes=5)
_MAX_CHARACTERS = 200  # characters of a program's error message
_MAX_LITERAL_CHARACTERS = 2_000  # characters of a literal or a call
_MOST_LITERALS = 500
_WORD = re.compile(r"[^\s.,;:|/]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSandboxes:
    """The sandboxes in which the trees of one task are compared."""

    resources: RunResources
    task: Task
    snapshot: SnapshotId
    mounts: tuple[ReadOnlyMount, ...]

    def opened(self) -> AbstractContextManager[Sandbox]:
        """A fresh sandbox without a network, the base in its workspace.

        Raises:
            SandboxError: it is lost.
        """
        return self.resources.provider.open(
            self.snapshot,
            limits=limits_of(self.task),
            network=False,
            mounts=self.mounts,
            cancel=self.resources.cancel,
        )

    def ask(
        self, sandbox: Sandbox, program: str, question: str, *, seconds: float
    ) -> CommandResult:
        """Run one of our programs there.

        Raises:
            SandboxError: the sandbox is lost.
        """
        return sandbox.run(
            Command(
                argv=program_argv(sandbox, program),
                timeout=timedelta(seconds=seconds),
                env=self.task.environment.env,
                stdin=question.encode(),
            )
        )


def prepare_comparison(task: Task, resources: RunResources, cache_dir: Path) -> ComparisonSandboxes:
    """Prepare a task, or find its state in the cache."""
    snapshot = prepare_task(task, resources).prepared.snapshot
    bare = ComparisonSandboxes(resources=resources, task=task, snapshot=snapshot, mounts=())
    with bare.opened() as sandbox:
        python = python_of(sandbox)
    return replace(bare, mounts=symbolic_mounts(cache_dir, python))


def copy_workspace(sandbox: Sandbox, name: str, tree: SourceTree) -> PurePosixPath:
    """A copy of the workspace, with a change, in the sandbox's folder of results."""
    copy = sandbox.results / name
    _run_or_raise(sandbox, ("cp", "-a", str(sandbox.workspace), str(copy)))
    write_changes(sandbox, copy, tree)
    return copy


def write_changes(sandbox: Sandbox, folder: PurePosixPath, tree: SourceTree) -> None:
    """Change the base in a folder into a tree."""
    gone = [str(folder / path) for path, file in tree.change.items() if file is None]
    if gone:
        _run_or_raise(sandbox, ("rm", "-f", "--", *gone))
    files = {path: file for path, file in tree.change.items() if file is not None}
    if files:
        sandbox.write_tree(folder, tar_of_files(files))


def failure_text(result: CommandResult) -> str:
    """Why a program gave no answer."""
    last = result.stderr.strip().rpartition("\n")[2][:_MAX_CHARACTERS]
    return f"it {result.ending}" + (f": {last}" if last else "")


def _run_or_raise(sandbox: Sandbox, argv: Sequence[str]) -> None:
    result = sandbox.run(Command(argv=tuple(argv), timeout=_WRITE_TIMEOUT))
    if not result.ok:
        raise SandboxError(f"{argv[0]} in the sandbox: {failure_text(result)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAttempt:
    """An attempt's trees, what differs in them, and where they can be run."""

    facts: TaskFacts
    trees: AttemptTrees
    contrast: TreeDifference
    sandboxes: ComparisonSandboxes


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of a search."""

    differences: tuple[RuleHit, ...] = ()  # that were confirmed
    left: tuple[NotCompared, ...] = ()  # what was not compared
    effort: str = ""  # what was compared, in words


DifferenceSearch = Callable[[ComparedAttempt, float], SearchResult]
"""Looks for differences for some seconds; raises SandboxError if the sandbox is lost."""


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
            if isinstance(node, ast.Call)
            and python_syntax.name_of(node.func) == own
            and _is_literal(node)
        )
        return tuple(dict.fromkeys(call for call in found if len(call) <= _MAX_LITERAL_CHARACTERS))

    def literals(self) -> tuple[str, ...]:
        """Numbers and texts in them as source, and the pieces that texts are made of."""
        values = (
            node.value
            for tree in self.trees
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str)
        )
        found = dict.fromkeys(repr(one) for value in values for one in (value, *_words(value)))
        return tuple(one for one in found if len(one) <= _MAX_LITERAL_CHARACTERS)[:_MOST_LITERALS]

    def mentions(self, name: str) -> bool:
        """Whether they call or read something by this name."""
        own = name.rpartition(".")[2]
        return any(
            python_syntax.name_of(node) == own for tree in self.trees for node in ast.walk(tree)
        )


def read_task_tests(facts: TaskFacts) -> TaskTests:
    """Read the Python tests of a task."""
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
