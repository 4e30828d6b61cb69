"""What a search for differences is given and returns, and the sandboxes it runs in."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath

from agentbench.attempt.context import limits_of
from agentbench.attempt.preparation import prepare_task
from agentbench.attempt.resources import RunResources
from agentbench.audit.differential.tree_difference import NotCompared, TreeDifference
from agentbench.audit.differential.trees import AttemptTrees, SourceTree
from agentbench.audit.task_facts import TaskFacts
from agentbench.errors import SandboxError
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox, SnapshotId
from agentbench.scoring.evidence import CommandResult
from agentbench.symbolic.libraries import program_argv, python_of, symbolic_mounts
from agentbench.tasks.task import Task

_WRITE_TIMEOUT = timedelta(minutes=5)
_MAX_CHARACTERS = 200  # characters of what a program complained


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSandboxes:
    """Where the trees of one task are compared."""

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
    """Prepare a task, or find its state in the cache.

    Raises:
        UnavailableError: it cannot be prepared, or its Python has not the libraries.
        SandboxError: the sandbox is lost.
    """
    snapshot = prepare_task(task, resources).prepared.snapshot
    bare = ComparisonSandboxes(resources=resources, task=task, snapshot=snapshot, mounts=())
    with bare.opened() as sandbox:
        python = python_of(sandbox)
    return replace(bare, mounts=symbolic_mounts(cache_dir, python))


def copy_workspace(sandbox: Sandbox, name: str, tree: SourceTree) -> PurePosixPath:
    """A copy of the workspace, with a change, in the sandbox's folder of results.

    Raises:
        SandboxError: it cannot be written.
    """
    copy = sandbox.results / name
    _run_or_raise(sandbox, ("cp", "-a", str(sandbox.workspace), str(copy)))
    write_changes(sandbox, copy, tree)
    return copy


def write_changes(sandbox: Sandbox, folder: PurePosixPath, tree: SourceTree) -> None:
    """Change the base in a folder into a tree.

    Raises:
        SandboxError: it cannot be written.
    """
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
    bench: ComparisonSandboxes


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedDifference:
    """A difference that was confirmed: where, and in which words."""

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of a search."""

    differences: tuple[ConfirmedDifference, ...] = ()
    left: tuple[NotCompared, ...] = ()  # what was not compared
    effort: str = ""  # what was compared, in words


DifferenceSearch = Callable[[ComparedAttempt, float], SearchResult]
"""Looks for differences, for so many seconds; raises SandboxError where the sandbox is lost."""
