"""Runs a task's tests with rewritten files, in sandboxes of their own."""

from collections.abc import Mapping
from pathlib import PurePosixPath

from msgspec import Struct, field
from msgspec.structs import replace

from agentbench.attempt import judged_tests
from agentbench.attempt.context import PreparedContext
from agentbench.core.files import FileContent
from agentbench.errors import GitCloneError
from agentbench.integrity.protection import JudgedChange
from agentbench.scoring.evidence import Evidence
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.test_runs.runner import TestRun

Files = Mapping[PurePosixPath, FileContent | None]

_REFERENCE_ENV = {"AGENTBENCH_RECORDER_SHARE": "4"}
_OUTPUT_CHARACTERS = 4_096  # of a control run, which prints nearly the same as the final test
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
    """Runs the control runs of one attempt, one at a time."""

    context: PreparedContext
    baseline: Evidence

    def run(
        self,
        rewritten: Mapping[str, bytes],
        change: ChangedFiles,
        *,
        timeout_factor: int = _TIMEOUT_FACTOR,
    ) -> TestRun:
        """Run the tests with rewritten files on a change, while no other agent's code is judged.

        Raises:
            SandboxError: the sandbox could not be created or is lost.
            RunCancelled: the run was cancelled.
        """
        context = self.context
        unchanged = judged_tests.unchanged_tests(context, self.baseline)
        written = {**unchanged, **change.files, **context.hidden_tests.files}
        request = judged_tests.judged_request(context)
        request = replace(request, timeout=timeout_factor * request.timeout)
        if not change.is_agents:
            request = replace(request, env={**request.env, **_REFERENCE_ENV})
        return judged_tests.run_judged_tests(
            replace(context, save=_discard),  # the logs of services are the final test's
            {**written, **_rewritten_files(rewritten, written)},
            emptied=change.emptied,
            request=request,
            lock=context.judging_lock() if change.is_agents else None,
        ).tests

    def save_report(self, name: str, run: TestRun) -> None:
        """Store the report of a control run, without parts that the final test's report has."""
        output = run.result.text_output[-_OUTPUT_CHARACTERS:]
        report = run.result.model_copy(update={"text_output": output, "json_report": {}})
        self.context.save(name, report.model_dump_json(indent=1).encode())

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


def _rewritten_files(rewritten: Mapping[str, bytes], written: Files) -> Files:
    """The rewritten files; a file is executable if the file that it replaces is."""
    found = {}
    for file, content in rewritten.items():
        path = PurePosixPath(file)
        replaced = written.get(path)
        executable = replaced is not None and replaced.executable
        found[path] = FileContent(content=content, executable=executable)
    return found


def _discard(_name: str, _content: bytes) -> None:
    """Save nothing."""
