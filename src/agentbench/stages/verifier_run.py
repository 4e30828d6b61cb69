"""A task's own script as its judge: it runs beside the work, and what it left is read after it.

The script and its files come into a sandbox of their own, after the work; no agent sees either.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from agentbench.errors import DoesNotFitError, SandboxError
from agentbench.sandbox.archive import tar_of_files
from agentbench.sandbox.interface import Command, ImageId, Sandbox, SnapshotId
from agentbench.scoring.evidence import CommandResult, Evidence
from agentbench.scoring.taxonomy import Fault
from agentbench.stages.interface import StageContext
from agentbench.stages.preparation import Prepared
from agentbench.stages.selection import judged_timeout
from agentbench.stages.verification.protection import JudgedChange
from agentbench.stages.verification.rewards import NOTHING, LeftByVerifier, read_left
from agentbench.stages.verification.tree import Kind
from agentbench.stages.workspace import write_files
from agentbench.tasks.patched_file import PatchedFile
from agentbench.tasks.solution import files_of
from agentbench.tasks.verifier import VERIFIER_FOLDER, Verifier

_TESTS = PurePosixPath("/tests")
_LEFT = PurePosixPath("/logs/verifier")


def verified(context: StageContext, change: JudgedChange | None, *, name: str) -> Evidence:
    """Run the task's verifier on the prepared state, with an agent's change if there is one.

    Args:
        context: The attempt; its task has a verifier.
        change: What the agent left.
        name: Of the run, for the files that are kept of it.

    Raises:
        SandboxError: the sandbox could not be made or is lost.
        UnavailableError: the verifier's own image cannot be had.
        InputError: a file of the verifier cannot be read.
    """
    task = context.task
    verifier = task.answer_key.verifier
    assert verifier is not None
    files = tar_of_files(files_of(task.folder / VERIFIER_FOLDER))
    with _opened(context, verifier) as sandbox:
        _write(sandbox, change, verifier)
        sandbox.write_tree(_TESTS, files)
        command = _run(context, sandbox, verifier)
        sandbox.kill()
        left = _left(context, sandbox)
    for file, content in left.reports.items():
        context.save(f"{name}-{file}", content)
    return Evidence(
        command=command,
        rewards=left.facts,
        memory_limit_mib=task.environment.memory_mib,
        own_seconds=command.duration.total_seconds(),
    )


@contextmanager
def _opened(context: StageContext, verifier: Verifier) -> Iterator[Sandbox]:
    """The state before the agent; in an image of the verifier's own, with the same workspace."""
    prepared = context.prepared
    assert prepared is not None  # made by setup
    own = verifier.image is not None or verifier.dockerfile is not None
    source: ImageId | SnapshotId = prepared.snapshot
    if own:
        source = _own_image(context, verifier)
    with context.provider.open(
        source, limits=context.limits, network=verifier.network, cancel=context.cancel
    ) as sandbox:
        if own:
            write_files(sandbox, _base(prepared, verifier))
        yield sandbox


def _base(prepared: Prepared, verifier: Verifier) -> dict[PurePosixPath, PatchedFile | None]:
    """What the work began with, as far as it is taken."""
    return {
        path: PatchedFile(content=prepared.content(path) or b"", executable=entry.executable)
        for path, entry in prepared.base.entries.items()
        if entry.kind is Kind.FILE and _is_taken(path, verifier)
    }


def _is_taken(path: PurePosixPath, verifier: Verifier) -> bool:
    return verifier.takes is None or any(path.is_relative_to(each) for each in verifier.takes)


def _own_image(context: StageContext, verifier: Verifier) -> ImageId:
    task = context.task
    dockerfile = None if verifier.dockerfile is None else task.folder / verifier.dockerfile
    return context.provider.resolve_image(
        verifier.image, dockerfile=dockerfile, workdir=task.workdir
    )


def _write(sandbox: Sandbox, change: JudgedChange | None, verifier: Verifier) -> None:
    """Write the agent's change, as far as it is taken.

    Raises:
        DoesNotFitError: by the fault of an agent that left more than a sandbox may hold.
        SandboxError: the sandbox is lost or refuses the files.
    """
    if change is None:
        return
    files = {path: file for path, file in change.files.items() if _is_taken(path, verifier)}
    emptied = [path for path in change.emptied if _is_taken(path, verifier)]
    try:
        write_files(sandbox, files, emptied=emptied)
    except DoesNotFitError as error:
        error.fault = Fault.AGENT.value
        raise


def _run(context: StageContext, sandbox: Sandbox, verifier: Verifier) -> CommandResult:
    return sandbox.run(
        Command(
            argv=("sh", "-c", verifier.command),
            timeout=judged_timeout(context),
            env={**context.task.environment.env, **verifier.env},
            sink=context.sink,
        )
    )


def _left(context: StageContext, sandbox: Sandbox) -> LeftByVerifier:
    """What is in /logs/verifier; nothing, where the script took that folder away.

    Raises:
        SandboxError: the engine is lost.
    """
    try:
        with sandbox.read_tree(_LEFT) as chunks:
            return read_left(chunks)
    except SandboxError:
        context.provider.check()
        return NOTHING
