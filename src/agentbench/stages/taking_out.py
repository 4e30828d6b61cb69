"""Taking the agent's work out of its sandbox, and what of it is judged."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.errors import GitCloneError, SandboxError
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import Finding
from agentbench.scoring.taxonomy import Fault
from agentbench.stages.hidden_tests import hidden_files
from agentbench.stages.interface import StageContext
from agentbench.stages.verification.extraction import Change, ExtractionLimits, read_change
from agentbench.stages.verification.patch_text import render_patch
from agentbench.stages.verification.protection import JudgedChange, Protection, protect
from agentbench.stages.verification.suspicious import suspicious_code
from agentbench.stages.verification.tool_caches import ToolCache, separate
from agentbench.tasks.mirror import tracked_files

_GRACE = timedelta(seconds=10)  # for a fresh sandbox to answer


def take_out(context: StageContext, sandbox: Sandbox) -> Change:
    """Read the change out of the ended sandbox; a workspace that is gone is the agent's doing.

    Raises:
        SandboxError: it cannot be read.
    """
    prepared = context.prepared
    assert prepared is not None
    try:
        sandbox.kill()
        with sandbox.read_tree(sandbox.workspace) as chunks:
            return read_change(chunks, prepared.base, prepared.content, _extracted(context))
    except SandboxError as error:
        if _still_opens(context):
            error.fault = Fault.AGENT.value
        raise


def _extracted(context: StageContext) -> ExtractionLimits:
    """How much is read: twice what the disk may hold, and the names of so many files."""
    limits = context.limits
    return ExtractionLimits(stream_bytes=(2 * limits.disk_mib << 20) + 2048 * limits.files)


def _still_opens(context: StageContext) -> bool:
    """Whether the back end still works: then it was not the infrastructure that failed."""
    assert context.prepared is not None
    try:
        with context.provider.open(
            context.prepared.snapshot, limits=context.limits, network=False
        ) as fresh:
            return fresh.run(Command(argv=("true",), timeout=_GRACE)).ok
    except SandboxError:
        return False


def suspicious(context: StageContext, change: JudgedChange) -> Iterator[Finding]:
    """Code that cheats need, as information for a reader: honest code may need it, too."""
    assert context.prepared is not None
    for path, file in change.files.items():
        if file is not None:
            before = context.prepared.content(path)
            yield from suspicious_code(path.as_posix(), before, file.content)


def judged_change(context: StageContext, change: Change) -> JudgedChange:
    """What of a change is judged; it is kept as a patch, and beside it what was dropped."""
    prepared, task = context.prepared, context.task
    assert prepared is not None
    listed = (node_id.partition("::")[0] for node_id in task.answer_key.fail_to_pass)
    protection = Protection(
        test_paths=(*task.problem.test_paths, *listed),
        patterns=task.answer_key.protected,
        hidden=frozenset(hidden_files(context)),
        a_script_judges=task.answer_key.verifier is not None,
    )
    work, caches = change, tuple[ToolCache, ...]()
    if not protection.a_script_judges:  # its tests may be about any of these files
        separated = separate(change.files, prepared.base, lambda: _tracked(context))
        work, caches = replace(change, files=separated.files), separated.caches
    judged = protect(work, protection, prepared.base, prepared.content)
    judged = replace(judged, tool_caches=caches)
    context.save("patch.diff", render_patch(judged.files, prepared.content))
    if judged.dropped or caches:
        context.save("patch.raw.diff", render_patch(change.files, prepared.content))
    return judged


def _tracked(context: StageContext) -> AbstractSet[PurePosixPath]:
    """The files of the repository; where git cannot tell, all of the base."""
    assert context.prepared is not None
    try:
        if context.task.source.workdir is None:
            return tracked_files(context.mirrors.of(context.task.source))
    except GitCloneError:
        pass
    return context.prepared.base.entries.keys()
