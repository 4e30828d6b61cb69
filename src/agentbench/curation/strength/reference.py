"""The change that a task's reference solution makes, as an attempt's would be judged."""

from agentbench.curation.strength.mutants import FixedFile
from agentbench.errors import InputError
from agentbench.stages.interface import StageContext
from agentbench.stages.preparation import Prepared
from agentbench.stages.taking_out import judged_change
from agentbench.stages.verification.extraction import Change
from agentbench.stages.verification.protection import JudgedChange
from agentbench.tasks.overlay import PatchDoesNotApplyError, overlay_of
from agentbench.tasks.task import Task


def why_unchangeable(task: Task) -> str:
    """Why there is no reference solution whose files could be changed; empty: there is one."""
    if task.scripted_solution is not None:
        return "the reference solution is a script, not a patch"
    if not task.answer_key.solution_patch.strip():
        return "there is no reference solution"
    if task.source.workdir is not None:
        return "the image holds the work: there is no repository that a patch could fit"
    return ""


def reference_change(context: StageContext) -> JudgedChange:
    """What the reference solution changes, without what is dropped of any attempt's change.

    Raises:
        InputError: the patch does not fit the base commit.
    """
    task = context.task
    try:
        mirror = context.mirrors.of(task.source)
        files = overlay_of(task.answer_key.solution_patch, mirror).files
    except PatchDoesNotApplyError as error:
        raise InputError(f"{task.folder / 'solution.patch'}: does not apply: {error}") from None
    return judged_change(context, Change(files=dict(files)))


def fixed_files(change: JudgedChange, prepared: Prepared) -> tuple[FixedFile, ...]:
    """The files of Python that a change leaves."""
    return tuple(
        FixedFile(path=path, before=prepared.content(path) or b"", after=file.content)
        for path, file in change.files.items()
        if file is not None and path.suffix == ".py"
    )
