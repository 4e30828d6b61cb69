"""Runs a task's tests with rewritten files, in sandboxes of their own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath
from threading import Event

from msgspec import Struct, field
from msgspec.structs import replace

from agentbench.attempt.context import PreparedContext
from agentbench.attempt.stages import judged_tests
from agentbench.core.file_locks import FileLock, LockHeldError
from agentbench.core.files import FileContent
from agentbench.errors import DoesNotFitError, GitCloneError, RunCancelled
from agentbench.integrity.protection import JudgedChange
from agentbench.pytest_results.execution import PytestRun
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.taxonomy import Fault
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit

Files = Mapping[PurePosixPath, FileContent | None]

_POLL = 0.1  # seconds
_REFERENCE_ENV = {"AGENTBENCH_RECORDER_SHARE": "4"}
_TIMEOUT_FACTOR = 2  # a control run may take this many times as long as the final test


class ChangedFiles(Struct, frozen=True, kw_only=True):
    """A change that control runs test."""

    files: Files = field(default_factory=dict)
    emptied: tuple[PurePosixPath, ...] = ()
    is_agents: bool = False

    @classmethod
    def of(cls, change: JudgedChange | None) -> "ChangedFiles":
        """The agent's change; empty without one."""
        if change is None:
            return cls()
        return cls(files=change.files, emptied=change.emptied, is_agents=True)


class ControlRunner(Struct, frozen=True, kw_only=True):
    """Runs the control runs of one attempt, until they are cancelled."""

    context: PreparedContext
    baseline: Evidence
    cancel: Event
    _preopened: list[judged_tests.UpcomingSandbox] = field(default_factory=list)

    def preopen(self, number: int) -> None:
        """Start to create some sandboxes, as far as the run's limit of idle ones allows."""
        for _ in range(number):
            if not self.context.idle_slots.acquire(blocking=False):
                return
            preopened = judged_tests.preopen_sandbox(self.context, is_first=False)
            if preopened is None:
                self.context.idle_slots.release()
                return
            self._preopened.append(preopened)

    def start_tests(self) -> None:
        """Start the tests of a sealed run in the preopened sandboxes, before their files."""
        for preopened in self._preopened:
            preopened.start_tests(judged_tests.judged_request(self.context), self.cancel)

    def close(self) -> None:
        """Remove the preopened sandboxes that no run has taken."""
        while (preopened := self._take_preopened()) is not None:
            preopened.close()

    def run(
        self,
        rewritten: Mapping[str, bytes],
        change: ChangedFiles,
        *,
        timeout_factor: int = _TIMEOUT_FACTOR,
    ) -> PytestRun:
        """Run the tests with rewritten files on a change, once a slot is free.

        Raises:
            SandboxError: the sandbox could not be created or is lost.
            RunCancelled: the run or the control runs were cancelled.
        """
        context = self.context
        unchanged = judged_tests.unchanged_tests(context, self.baseline)
        written = {**unchanged, **change.files, **context.hidden_tests.files}
        files = {**written, **_rewritten_files(rewritten, written)}

        def fill(sandbox: Sandbox) -> None:
            """Write the run's files into a new sandbox."""
            try:
                judged_tests.write_files(
                    sandbox, files, emptied=change.emptied, edited_at=context.edited_at
                )
            except DoesNotFitError as error:
                if change.is_agents and change.files:
                    raise error.blamed_on(Fault.AGENT.value) from error
                raise

        request = judged_tests.judged_request(context)
        request = replace(request, timeout=timeout_factor * request.timeout)
        if not change.is_agents:
            request = replace(request, env={**request.env, **_REFERENCE_ENV})
        preopened = self._take_preopened() if change.is_agents else None
        with (
            self._slot(),
            judged_tests.filled_sandbox(context, preopened, fill, request, self.cancel) as tests,
        ):
            return tests.finish()

    def reference_change(self) -> ChangedFiles | None:
        """The reference solution, if the task has one that applies."""
        task = self.context.task
        if not task.answer_key.solution_patch.strip():
            return None
        try:
            mirror = self.context.mirrors.of(task.source)
            return ChangedFiles(files=apply_patch_to_commit(task.answer_key.solution_patch, mirror))
        except (PatchDoesNotApplyError, GitCloneError):
            return None

    def content(self, file: str) -> bytes | None:
        """A file of tests as the final test has it; `None` if there is none."""
        path, hidden = PurePosixPath(file), self.context.hidden_tests.files
        if path in hidden:
            written = hidden[path]
            return None if written is None else written.content
        return self.context.prepared.content(path)

    def _take_preopened(self) -> judged_tests.UpcomingSandbox | None:
        try:
            preopened = self._preopened.pop()
        except IndexError:
            return None
        self.context.idle_slots.release()
        return preopened

    @contextmanager
    def locked(self, lock: FileLock) -> Iterator[None]:
        """Hold a lock; the wait for it ends if the run is cancelled.

        Raises:
            RunCancelled: the run or the control runs were cancelled.
        """
        self._raise_if_cancelled()
        while True:
            try:
                lock.acquire(timeout=_POLL)
                break
            except LockHeldError:
                self.wait(_POLL)
        try:
            yield
        finally:
            lock.release()

    def wait(self, seconds: float) -> None:
        """Wait for some seconds, which are added to the attempt's time limit.

        Raises:
            RunCancelled: the run or the control runs were cancelled.
        """
        self._raise_if_cancelled()
        self.context.extend(seconds)

    @contextmanager
    def _slot(self) -> Iterator[None]:
        slots = self.context.control_slots
        while not slots.acquire(timeout=_POLL):
            self._raise_if_cancelled()
        try:
            self._raise_if_cancelled()
            yield
        finally:
            slots.release()

    def _raise_if_cancelled(self) -> None:
        if self.cancel.is_set() or self.context.cancel.is_set():
            raise RunCancelled


def _rewritten_files(rewritten: Mapping[str, bytes], written: Files) -> Files:
    """The rewritten files; a file is executable if the file that it replaces is."""
    found = {}
    for file, content in rewritten.items():
        path = PurePosixPath(file)
        replaced = written.get(path)
        executable = replaced is not None and replaced.executable
        found[path] = FileContent(content=content, executable=executable)
    return found
