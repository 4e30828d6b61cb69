"""Runs one control run.

A change, the hidden tests and those with changed expectations, in a fresh sandbox.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from threading import Event

from agentbench.attempt.context import StageContext
from agentbench.attempt.stages.fresh_sandboxes import (
    PreopenedSandbox,
    filled_sandbox,
    preopen_sandbox,
    write_files,
)
from agentbench.attempt.stages.judged_tests import judged_request, unchanged_tests
from agentbench.core.files import FileContent
from agentbench.errors import GitCloneError, RunCancelled
from agentbench.integrity.control_plan import PlannedControlRun
from agentbench.pytest_results.command import PytestRequest
from agentbench.pytest_results.execution import PytestRun, execute_tests
from agentbench.sandbox.interface import Sandbox
from agentbench.tasks.git_trees import PatchDoesNotApplyError, apply_patch_to_commit

Files = Mapping[PurePosixPath, FileContent | None]

_POLL = 0.1  # seconds
_PATIENCE = 2  # a blind run may take this many times as long as the final test


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFiles:
    """A change that blind runs put to the test."""

    files: Files
    emptied: tuple[PurePosixPath, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRunner:
    """Makes the blind runs of one attempt, until they are given up."""

    context: StageContext
    hidden: Files
    given_up: Event
    _ahead: list[PreopenedSandbox] = field(default_factory=list)

    def make_ahead(self, number: int) -> None:
        """Begin to make so many sandboxes, as far as the run lets so many lie idle."""
        for _ in range(number):
            if not self.context.idle_slots.acquire(blocking=False):
                return
            ahead = preopen_sandbox(self.context)
            if ahead is None:
                self.context.idle_slots.release()
                return
            self._ahead.append(ahead)

    def close(self) -> None:
        """Remove what was made ahead and is not needed."""
        while (ahead := self._next_ahead()) is not None:
            ahead.close()

    def run(self, half: PlannedControlRun, change: ChangedFiles) -> PytestRun:
        """Run the tests of a half, when there is a slot for it.

        Raises:
            SandboxError: the sandbox could not be made or is lost.
            RunCancelled: the run was cancelled, or the controls given up.
        """
        unchanged = unchanged_tests(self.context)
        written = {**unchanged, **change.files, **self.hidden}
        files = {**written, **_rewritten_files(half, written)}

        def fill(sandbox: Sandbox) -> None:
            write_files(sandbox, files, emptied=change.emptied)

        with self._slot(), filled_sandbox(self.context, self._next_ahead(), fill) as sandbox:
            request = _control_request(self.context)
            return execute_tests(sandbox, request, end_sandbox=True, cancel=self.given_up)

    def agents_change(self) -> ChangedFiles:
        """What the attempt is about."""
        change = self.context.change
        if change is None:
            return ChangedFiles(files={})
        return ChangedFiles(files=change.files, emptied=change.emptied)

    def reference_change(self) -> ChangedFiles | None:
        """The reference solution, where the task has one that fits."""
        task = self.context.task
        if not task.answer_key.solution_patch.strip():
            return None
        try:
            mirror = self.context.mirrors.of(task.source)
            return ChangedFiles(
                files=apply_patch_to_commit(task.answer_key.solution_patch, mirror).files
            )
        except (PatchDoesNotApplyError, GitCloneError):
            return None

    def content(self, file: str) -> bytes | None:
        """A file of tests as the final test has it; `None` where there is none."""
        path = PurePosixPath(file)
        if path in self.hidden:
            written = self.hidden[path]
            return None if written is None else written.content
        assert self.context.prepared is not None
        return self.context.prepared.content(path)

    def _next_ahead(self) -> PreopenedSandbox | None:
        try:
            ahead = self._ahead.pop()
        except IndexError:
            return None
        self.context.idle_slots.release()
        return ahead

    @contextmanager
    def _slot(self) -> Iterator[None]:
        slots = self.context.control_slots
        while not slots.acquire(timeout=_POLL):
            self._check()
        try:
            self._check()
            yield
        finally:
            slots.release()

    def _check(self) -> None:
        if self.given_up.is_set() or self.context.cancel.is_set():
            raise RunCancelled


def _rewritten_files(half: PlannedControlRun, written: Files) -> Files:
    """The files of a half, executable where the ones that they replace are."""
    found = {}
    for file, content in half.files.items():
        path = PurePosixPath(file)
        replaced = written.get(path)
        executable = replaced is not None and replaced.executable
        found[path] = FileContent(content=content, executable=executable)
    return found


def _control_request(context: StageContext) -> PytestRequest:
    """The judged run with more time; nothing that the code under test can read is different."""
    request = judged_request(context)
    return replace(request, timeout=_PATIENCE * request.timeout)
