"""The hidden tests as files, from the task's patch and the harness's own mirror."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from agentbench.errors import GitCheckoutError
from agentbench.stages.interface import StageContext
from agentbench.tasks.overlay import PatchDoesNotApplyError, overlay_of
from agentbench.tasks.patched_file import PatchedFile


def hidden_files(context: StageContext) -> Mapping[PurePosixPath, PatchedFile | None]:
    """What `tests.patch` makes of the base commit; worked out once for an attempt.

    Raises:
        GitCheckoutError: it does not fit; where the preparation came from the cache,
            git_checkout has not looked at this patch.
        GitCloneError: the origin cannot be mirrored.
    """
    if context.hidden is None:
        context.hidden = _worked_out(context)
    return context.hidden


def _worked_out(context: StageContext) -> Mapping[PurePosixPath, PatchedFile | None]:
    task = context.task
    if task.source.workdir is not None:
        return {}  # there is no commit that a patch could fit
    try:
        return overlay_of(task.answer_key.tests_patch, context.mirrors.of(task.source)).files
    except PatchDoesNotApplyError as error:
        where = task.folder / "tests.patch"
        raise GitCheckoutError(f"{where}: does not apply to the base commit: {error}") from None
