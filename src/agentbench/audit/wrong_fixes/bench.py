"""Sandboxes in a task's prepared state, with the programs that compare, and trees written there."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath

from agentbench.agents.noop import NoopAgent
from agentbench.audit.wrong_fixes.trees import Tree
from agentbench.errors import SandboxError
from agentbench.owned_folder import owned_folder
from agentbench.runs.attempt import prepare
from agentbench.runs.workshop import Workshop
from agentbench.sandbox.archive import tar_of_files
from agentbench.sandbox.interface import Command, ReadOnlyMount, Sandbox, SnapshotId
from agentbench.scoring.evidence import CommandResult
from agentbench.stages.interface import limits_of
from agentbench.symbolic.library import SYMBOLIC_LIBRARY, SYMBOLIC_PROGRAMS, mounts, python_of
from agentbench.tasks.task import Task

_WRITTEN_WITHIN = timedelta(minutes=5)
_SHOWN = 200  # characters of what a program complained


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where the trees of one task are compared."""

    workshop: Workshop
    task: Task
    snapshot: SnapshotId
    mounts: tuple[ReadOnlyMount, ...]

    @contextmanager
    def opened(self) -> Iterator[Sandbox]:
        """A fresh sandbox without a network, the base in its workspace.

        Raises:
            SandboxError: it is lost.
        """
        with _opened(self.workshop, self.task, self.snapshot, self.mounts) as sandbox:
            yield sandbox

    def ask(
        self, sandbox: Sandbox, program: str, question: str, *, seconds: float
    ) -> CommandResult:
        """Run one of our programs there.

        Raises:
            SandboxError: the sandbox is lost.
        """
        path = sandbox.mounted(SYMBOLIC_PROGRAMS) / program
        argv = ("python", "-I", str(path), str(sandbox.mounted(SYMBOLIC_LIBRARY)))
        return sandbox.run(
            Command(
                argv=argv,
                timeout=timedelta(seconds=seconds),
                env=self.task.environment.env,
                stdin=question.encode(),
            )
        )


def made_bench(task: Task, workshop: Workshop, cache_dir: Path) -> Bench:
    """Prepare a task, or find its state in the cache.

    Raises:
        UnavailableError: it cannot be prepared, or its Python has not the libraries.
        SandboxError: the sandbox is lost.
    """
    with owned_folder("agentbench-logs-") as logs:
        prepared = prepare(task, NoopAgent(), workshop, logs)
    with _opened(workshop, task, prepared.snapshot, ()) as sandbox:
        python = python_of(sandbox)
    return Bench(
        workshop=workshop,
        task=task,
        snapshot=prepared.snapshot,
        mounts=mounts(cache_dir, python),
    )


def copied(sandbox: Sandbox, name: str, tree: Tree) -> PurePosixPath:
    """A copy of the workspace outside of it, as a change makes it.

    Raises:
        SandboxError: it cannot be written.
    """
    place = sandbox.results / name
    _done(sandbox, ("cp", "-a", str(sandbox.workspace), str(place)))
    written(sandbox, place, tree)
    return place


def written(sandbox: Sandbox, place: PurePosixPath, tree: Tree) -> None:
    """Change the base in a folder into a tree.

    Raises:
        SandboxError: it cannot be written.
    """
    gone = [str(place / path) for path, file in tree.change.items() if file is None]
    if gone:
        _done(sandbox, ("rm", "-f", "--", *gone))
    files = {path: file for path, file in tree.change.items() if file is not None}
    if files:
        sandbox.write_tree(place, tar_of_files(files))


def complaint(result: CommandResult) -> str:
    """Why a program gave no answer."""
    last = result.stderr.strip().rpartition("\n")[2][:_SHOWN]
    return f"it {result.ending}" + (f": {last}" if last else "")


def _done(sandbox: Sandbox, argv: Sequence[str]) -> None:
    result = sandbox.run(Command(argv=tuple(argv), timeout=_WRITTEN_WITHIN))
    if not result.ok:
        raise SandboxError(f"{argv[0]} in the sandbox: {complaint(result)}")


@contextmanager
def _opened(
    workshop: Workshop, task: Task, snapshot: SnapshotId, seen: Sequence[ReadOnlyMount]
) -> Iterator[Sandbox]:
    with workshop.provider.open(
        snapshot, limits=limits_of(task), network=False, mounts=seen, cancel=workshop.cancel
    ) as sandbox:
        yield sandbox
