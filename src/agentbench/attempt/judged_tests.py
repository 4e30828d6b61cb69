"""Judged runs of a task's tests, with and without rewritten files, and the evidence they leave."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.attempt.context import PreparedContext, StageContext
from agentbench.attempt.expected_tests import expected_tests, judged_targets, listed_only
from agentbench.attempt.sandboxes import open_test_sandbox, watched_services
from agentbench.attempt.settings import stage_timeout
from agentbench.core.file_locks import FileLock, LockHeldError
from agentbench.core.files import FileContent
from agentbench.errors import DoesNotFitError, GitCloneError, RunCancelled, SandboxError
from agentbench.integrity.protection import JudgedChange
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, OutputSink, Sandbox, ServiceReport
from agentbench.scoring.evidence import CommandResult, Evidence
from agentbench.scoring.expectation import (
    outcomes_of,
    with_node_ids,
)
from agentbench.scoring.node_ids import files_of
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.version_settings import version_settings
from agentbench.taxonomy import Fault, StageName
from agentbench.test_runs.execution import execute_tests, run_without_tests
from agentbench.test_runs.runner import RunRequest, TestRun

_REFERENCE_ENV = {"AGENTBENCH_RECORDER_SHARE": "4"}
_OUTPUT_CHARACTERS = 4_096  # of a control run, which prints nearly the same as the final test
_TIMEOUT_FACTOR = 2  # a control run may take this many times as long as the final test
_REMOVAL_TIMEOUT = timedelta(minutes=5)
_POLL = 0.02  # seconds; attempts at one task follow each other


@dataclass(frozen=True, kw_only=True)
class JudgedRun:
    """A run of the tests, and the services that failed in it."""

    tests: TestRun
    failed_services: Sequence[ServiceReport]


def run_judged_tests(
    context: PreparedContext,
    files: Mapping[PurePosixPath, FileContent | None],
    *,
    emptied: Iterable[PurePosixPath] = (),
    request: RunRequest | None = None,
    sink: OutputSink | None = None,
    lock: FileLock | None = None,
) -> JudgedRun:
    """Write files to a fresh sandbox, run the tests, kill the sandbox, and read their reports.

    The task's commands before the tests run first; one that fails is the result. All of them
    together have the time limit of the tests, which have it once more.

    Args:
        context: The inputs.
        files: The files to write; None removes one.
        emptied: Folders to remove, unless a file is written below them.
        request: The tests; None: those that judge the task.
        sink: Gets the output.
        lock: Held while the code under test runs; None: it is not an agent's.

    Raises:
        DoesNotFitError: the files exceed the sandbox's disk limit.
        GitCloneError: the origin cannot be mirrored, to find the project's version.
        SandboxError: the sandbox could not be created, refuses the files, or is lost.
        RunCancelled: the attempt was cancelled; all its processes have ended.
    """
    request = request or judged_request(context)
    with open_test_sandbox(context) as sandbox, watched_services(context, sandbox) as failures:
        write_files(sandbox, files, emptied=emptied, edited_at=context.edited_at)
        with nullcontext() if lock is None else held(context, lock):
            broken = _run_before(context, sandbox, request, sink)
            if broken is None:
                # The reports are read from a dead sandbox: nothing in it can change them any more.
                tests = execute_tests(sandbox, request, end_sandbox=True, sink=sink)
            else:
                sandbox.kill()
                tests = run_without_tests(request, broken)
    return JudgedRun(tests=tests, failed_services=failures)


@contextmanager
def held(context: StageContext, lock: FileLock) -> Iterator[None]:
    """Hold a lock; the wait for it does not count as the attempt's time.

    Raises:
        RunCancelled: the run was cancelled.
    """
    waited_until = time.monotonic()
    while True:
        if context.cancel.is_set():
            raise RunCancelled
        try:
            lock.acquire(timeout=_POLL)
            break
        except LockHeldError:
            now = time.monotonic()  # a busy machine waits for longer than it was told to
            context.extend(now - waited_until)
            waited_until = now
    try:
        yield
    finally:
        lock.release()


def _run_before(
    context: StageContext, sandbox: Sandbox, request: RunRequest, sink: OutputSink | None
) -> CommandResult | None:
    """Run the commands of `[tests] before`; returns the first one that fails, if any."""
    task, left = context.task, request.timeout
    if not task.problem.test_before:
        return None
    versions = version_settings(context.mirrors.of(task.source))
    for line in task.problem.test_before:
        ended = sandbox.run(
            Command(
                argv=("sh", "-c", line),
                timeout=max(left, timedelta(seconds=0.1)),
                env={**versions, **request.env},
                sink=sink,
            )
        )
        if not ended.ok:
            return ended
        left -= ended.duration
    return None


def write_files(
    sandbox: Sandbox,
    files: Mapping[PurePosixPath, FileContent | None],
    *,
    emptied: Iterable[PurePosixPath] = (),
    edited_at: float = 0,
) -> None:
    """Remove the files that are `None` and the emptied folders; then write the other files.

    `edited_at` becomes the time of their modification, in seconds since 1970.

    Raises:
        SandboxError: the sandbox is lost or refuses the files.
    """
    written = {path: file for path, file in files.items() if file is not None}
    removed = [path for path, file in files.items() if file is None]
    filled = {folder for path in written for folder in path.parents}
    removed += [folder for folder in emptied if folder not in filled]
    if removed:
        _remove(sandbox, removed)
    if written:
        tar = tar_of_files(written, modified_at=edited_at)
        sandbox.write_tree(sandbox.workspace, tar)


def _remove(sandbox: Sandbox, paths: Iterable[PurePosixPath]) -> None:
    names = b"\0".join(f"./{path.as_posix()}".encode("utf-8", "surrogateescape") for path in paths)
    result = sandbox.run(
        Command(argv=("xargs", "-0", "rm", "-rf", "--"), stdin=names, timeout=_REMOVAL_TIMEOUT)
    )
    if not result.ok:
        raise SandboxError(f"files could not be removed: {result.stderr.strip()[:200]}")


def judged_request(context: StageContext) -> RunRequest:
    """The pytest run that judges a task; equal in the baseline, the final test and control runs.

    It runs all tests, regardless of the task's command or configuration: a control run has to
    continue after a failure, and code under test must not be able to tell it from the final test.
    unittest and Django's runner do so anyway.
    """
    return RunRequest(
        runner=context.runner,
        judged=True,
        targets=judged_targets(context.task),
        timeout=judged_timeout(context),
        env=context.task.environment.env,
    )


def judged_timeout(context: StageContext) -> timedelta:
    """The time limit of a judged run."""
    return stage_timeout(StageName.FINAL_TEST, context.task, context.settings)


def judged_evidence(context: StageContext, run: TestRun) -> Evidence:
    """The evidence of a judged run: its listed tests, their memory limit and their time."""
    return Evidence(
        command=run.command,
        report=None if run.failed_before else listed_only(run.facts, context.task),
        failed_before_tests=run.failed_before,
        memory_limit_mib=context.task.environment.memory_mib,
        own_seconds=run.command.duration.total_seconds(),
    )


def unchanged_tests(
    context: PreparedContext, baseline: Evidence
) -> Mapping[PurePosixPath, FileContent]:
    """The unchanged files of the base that control runs may rewrite.

    The final test writes them, too. Otherwise their time stamps would differ in a control run.
    """
    prepared = context.prepared
    if context.control_level is ControlLevel.OFF:
        return {}
    expected = with_node_ids(expected_tests(context.task), baseline)
    found = {}
    for name in files_of((*expected.fail_to_pass, *outcomes_of(baseline))):
        path = PurePosixPath(name)
        content = prepared.content(path)
        if content is not None:
            executable = prepared.base[path].executable
            found[path] = FileContent(content=content, executable=executable)
    return found


def repeated_if_services_fail(
    run: Callable[[], Evidence], is_final: Callable[[Evidence], bool]
) -> Evidence:
    """The evidence of a run; repeated once if it did not pass and services failed in it.

    If the agent's work is the cause, services fail again; otherwise their failure does not count
    against the agent.
    """
    first = run()
    if not first.warnings or is_final(first):
        return first
    second = run()
    warnings = (*(f"in a first run: {each}" for each in first.warnings), *second.warnings)
    return second.replace(warnings=warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRuns:
    """The runs that judge one change: the final test, and control runs with rewritten tests."""

    context: PreparedContext
    baseline: Evidence
    change: JudgedChange
    is_agents: bool = True  # and not the reference solution's

    def final(self, lock: FileLock | None) -> JudgedRun:
        """Run the hidden tests as they are; the lock is held while the code under test runs.

        Raises:
            SandboxError: the sandbox could not be created, refuses the files, or is lost.
            RunCancelled: the run was cancelled.
        """
        request = judged_request(self.context)
        return self._run(self.context, self._files(), request, self.context.sink, lock)

    def rewritten(
        self,
        tests: Mapping[str, bytes],
        lock: FileLock | None,
        *,
        timeout_factor: int = _TIMEOUT_FACTOR,
    ) -> TestRun:
        """Run the tests with rewritten files.

        Args:
            tests: These files, by path.
            lock: Held while the code under test runs; None: it is not an agent's.
            timeout_factor: How many times the time limit of the final test it has.

        Raises:
            SandboxError: the sandbox could not be created, refuses the files, or is lost.
            RunCancelled: the run was cancelled.
        """
        files = self._files()
        for path, content in ((PurePosixPath(file), tests[file]) for file in tests):
            replaced = files.get(path)
            executable = replaced is not None and replaced.executable
            files[path] = FileContent(content=content, executable=executable)
        request = judged_request(self.context)
        request = replace(request, timeout=timeout_factor * request.timeout)
        if not self.is_agents:
            request = replace(request, env={**request.env, **_REFERENCE_ENV})
        # The logs of services are the final test's.
        context = replace(self.context, save=lambda _name, _content: None)
        return self._run(context, files, request, None, lock).tests

    def save_report(self, name: str, run: TestRun) -> None:
        """Store the report of a control run, without parts that the final test's report has."""
        output = run.result.text_output[-_OUTPUT_CHARACTERS:]
        report = run.result.replace(text_output=output, json_report={})
        self.context.save(name, report.model_dump_json(indent=1).encode())

    def of_solution(self) -> "JudgedRuns | None":
        """The same runs of the reference solution, if the task has one that applies."""
        task = self.context.task
        if not task.answer_key.solution_patch.strip():
            return None
        try:
            mirror = self.context.mirrors.of(task.source)
            files = apply_patch_to_commit(task.answer_key.solution_patch, mirror)
        except (PatchDoesNotApplyError, GitCloneError):
            return None
        change = JudgedChange(files=dict(files), emptied=(), dropped=())
        return replace(self, change=change, is_agents=False)

    def of_base(self) -> "JudgedRuns":
        """The same runs of the code before any change."""
        change = JudgedChange(files={}, emptied=(), dropped=())
        return replace(self, change=change, is_agents=False)

    def content(self, file: str) -> bytes | None:
        """A file of tests as the final test has it; `None` if there is none."""
        path, hidden = PurePosixPath(file), self.context.hidden_tests.files
        if path in hidden:
            written = hidden[path]
            return None if written is None else written.content
        return self.context.prepared.content(path)

    def _files(self) -> dict[PurePosixPath, FileContent | None]:
        """The written files: hidden tests come last, so that no change replaces them."""
        context = self.context
        unchanged = unchanged_tests(context, self.baseline)
        return {**unchanged, **self.change.files, **context.hidden_tests.files}

    def _run(
        self,
        context: PreparedContext,
        files: Mapping[PurePosixPath, FileContent | None],
        request: RunRequest,
        sink: OutputSink | None,
        lock: FileLock | None,
    ) -> JudgedRun:
        emptied = self.change.emptied
        try:
            return run_judged_tests(
                context, files, emptied=emptied, request=request, sink=sink, lock=lock
            )
        except DoesNotFitError as error:
            if self.is_agents and self.change.files:
                raise error.blamed_on(Fault.AGENT) from error
            raise
