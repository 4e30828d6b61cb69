"""The hidden tests as files, from the task's patch and the harness's own mirror."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from agentbench.errors import GitCheckoutError
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.expectation import outcomes_of
from agentbench.stages.interface import StageContext
from agentbench.tasks.control_level import ControlLevel
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


def unchanged_tests(context: StageContext) -> Mapping[PurePosixPath, PatchedFile]:
    """The files of the base that control runs may rewrite, as they are.

    The final test writes them, too: a time stamp would tell a control run from it.
    """
    prepared = context.prepared
    if context.control_level is ControlLevel.OFF or prepared is None:
        return {}
    listed = context.task.answer_key.fail_to_pass or outcomes_of(context.baseline or Evidence())
    found = {}
    for name in dict.fromkeys(node_id.partition("::")[0] for node_id in listed):
        path = PurePosixPath(name)
        content = prepared.content(path)
        if content is not None:
            executable = prepared.base.entries[path].executable
            found[path] = PatchedFile(content=content, executable=executable)
    return found


def _worked_out(context: StageContext) -> Mapping[PurePosixPath, PatchedFile | None]:
    task = context.task
    if task.source.workdir is not None:
        return {}  # there is no commit that a patch could fit
    try:
        return overlay_of(task.answer_key.tests_patch, context.mirrors.of(task.source)).files
    except PatchDoesNotApplyError as error:
        where = task.folder / "tests.patch"
        raise GitCheckoutError(f"{where}: does not apply to the base commit: {error}") from None
