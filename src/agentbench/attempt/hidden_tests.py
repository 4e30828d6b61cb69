"""The hidden tests of a task as files."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import PurePosixPath

from agentbench.core.files import FileContent
from agentbench.errors import GitCheckoutError
from agentbench.tasks.git_trees import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task


class HiddenTests:
    """The hidden tests of one task; the patch is applied once, when they are first needed."""

    def __init__(self, task: Task, mirrors: Mirrors) -> None:
        self._task = task
        self._mirrors = mirrors

    @cached_property
    def files(self) -> Mapping[PurePosixPath, FileContent | None]:
        """The files that `tests.patch` writes to the base commit, or removes from it.

        Raises:
            GitCheckoutError: it does not apply; git_checkout has not checked this patch if the
                preparation came from the cache.
            GitCloneError: the origin cannot be mirrored.
        """
        task = self._task
        if task.source.workdir is not None:
            return {}  # there is no commit to apply a patch to
        try:
            mirror = self._mirrors.of(task.source)
            return apply_patch_to_commit(task.answer_key.tests_patch, mirror).files
        except PatchDoesNotApplyError as error:
            where = task.folder / "tests.patch"
            raise GitCheckoutError(f"{where}: does not apply to the base commit: {error}") from None

    def check(self) -> None:
        """Apply the patch now, so that its errors come before work that costs something."""
        _ = self.files
