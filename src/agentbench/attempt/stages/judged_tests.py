"""The tests of a judged run, and the fresh sandboxes that they run in."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from pathlib import PurePosixPath
from threading import Event
from typing import Protocol

from agentbench.attempt.background_tasks import BackgroundTasks
from agentbench.attempt.context import PreparedContext, StageContext
from agentbench.attempt.shared_containers import ContainerKey, SharedContainers
from agentbench.attempt.stage_runner import stage_timeout
from agentbench.attempt.stages.preparation_stages import version_settings
from agentbench.attempt.stages.service_logs import open_sandbox
from agentbench.core.choices import ControlLevel
from agentbench.core.files import FileContent
from agentbench.errors import DoesNotFitError, SandboxError
from agentbench.pytest_results.execution import (
    PytestRequest,
    PytestRun,
    StartedTests,
    execute_tests,
    reporter_mounts,
    run_without_tests,
    started_tests,
)
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import (
    Command,
    MayNest,
    OutputSink,
    Promise,
    ReadOnlyMount,
    Sandbox,
    SandboxUse,
)
from agentbench.scoring.evidence import Evidence, NodeId, ReportFacts
from agentbench.scoring.expectation import ExpectedTests, has_names, outcomes_of, with_node_ids
from agentbench.scoring.taxonomy import StageName
from agentbench.tasks.problem import parse_pytest_command
from agentbench.tasks.task import Task

_REMOVAL_TIMEOUT = timedelta(minutes=5)
_OpenSandbox = tuple[ExitStack, Sandbox]


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


@contextmanager
def fresh_sandbox(context: PreparedContext) -> Iterator[Sandbox]:
    """A fresh sandbox with the reporters; it is removed in the background.

    Raises:
        SandboxError: it could not be created.
    """
    shared = _shared_sandbox(context)
    if shared is not None:
        with shared.take() as sandbox:
            yield sandbox
        return
    keep, sandbox = _entered(_opened(context, reporter_mounts()))
    with keep:
        yield sandbox
        context.background.remove(keep.pop_all().close)


def preopen_sandbox(context: PreparedContext, *, is_first: bool = True) -> "UpcomingSandbox | None":
    """Start to create a sandbox for the tests, if the agent's commands cannot read its files.

    Args:
        context: The inputs.
        is_first: Whether it is the attempt's first one. Later ones can use the same container.
    """
    if Promise.OWN_FILE_SYSTEM not in context.provider.promises:
        return None
    if context.task.answer_key.verifier is not None or context.services is not None:
        return None  # it may need its own image or a network; idle services would take memory
    if context.task.problem.test_before:
        return None  # they run before the tests start, and only once the files are there
    shared = _shared_sandbox(context)
    if shared is not None:
        if is_first:
            shared.prepare()
        return shared
    return PreopenedSandbox(context.background, lambda: _opened(context, reporter_mounts()))


def _shared_sandbox(context: PreparedContext) -> "SharedSandbox | None":
    """A sandbox in a container that several judged runs share, if containers can be shared."""
    containers = context.shared_containers
    may_share = context.services is None and context.settings.use_cache
    if containers is None or not may_share or not isinstance(context.provider, MayNest):
        return None
    return SharedSandbox(context, containers) if context.provider.may_nest(context.limits) else None


class UpcomingSandbox(Protocol):
    """A sandbox for one judged run; the owner either takes or closes it."""

    def start_tests(self, request: PytestRequest, cancel: Event | None = None) -> None:
        """Start tests in it, in the background; they wait for `take_tests` and their files."""

    def take_tests(
        self, request: PytestRequest, cancel: Event | None = None
    ) -> AbstractContextManager[StartedTests]:
        """The tests that `start_tests` has started; otherwise they start now.

        Raises:
            SandboxError: the sandbox could not be created, or other tests have started in it.
            RunCancelled: the run was cancelled meanwhile.
        """

    def close(self) -> None:
        """Remove it, unless it was taken."""


class SharedSandbox:
    """A sandbox in a container that other judged runs use before and after it."""

    def __init__(self, context: PreparedContext, containers: SharedContainers) -> None:
        self._context = context
        self._containers = containers
        self._key = ContainerKey(context.prepared.snapshot, context.limits)

    def prepare(self) -> None:
        """Start to open a container for it, unless one is idle."""
        self._containers.prepare(self._key, self._open)

    def start_tests(self, request: PytestRequest, cancel: Event | None = None) -> None:
        """See UpcomingSandbox.start_tests; it uses a container only while the tests run."""

    @contextmanager
    def take_tests(
        self, request: PytestRequest, cancel: Event | None = None
    ) -> Iterator[StartedTests]:
        """See UpcomingSandbox.take_tests."""
        with (
            self.take() as sandbox,
            started_tests(sandbox, request, cancel=cancel) as tests,
        ):
            yield tests

    def take(self) -> AbstractContextManager[Sandbox]:
        """A fresh sandbox.

        Raises:
            SandboxError: it could not be created.
        """
        return self._containers.sandbox(self._key, self._open, self._context.cancel)

    def close(self) -> None:
        """See UpcomingSandbox.close; the container stays, since other runs use it, too."""

    def _open(self) -> AbstractContextManager[Sandbox]:
        context, use = self._context, SandboxUse(nests=True)
        return open_sandbox(context, context.prepared.snapshot, mounts=reporter_mounts(), use=use)


class PreopenedSandbox:
    """A sandbox that is created in the background; the owner either takes or closes it."""

    def __init__(
        self, background: BackgroundTasks, opened: Callable[[], AbstractContextManager[Sandbox]]
    ) -> None:
        self._background = background
        self._is_taken = False
        self._opened: Future[_OpenSandbox] = background.submit(lambda: _entered(opened()))
        self._tests: Future[StartedTests] | None = None

    def start_tests(self, request: PytestRequest, cancel: Event | None = None) -> None:
        """See UpcomingSandbox.start_tests."""

        def start() -> StartedTests:
            """Start the tests as soon as the sandbox exists; they end with it."""
            keep, sandbox = self._opened.result()
            return keep.enter_context(started_tests(sandbox, request, cancel=cancel))

        self._tests = self._background.submit(start)

    @contextmanager
    def take_tests(
        self, request: PytestRequest, cancel: Event | None = None
    ) -> Iterator[StartedTests]:
        """See UpcomingSandbox.take_tests."""
        if self._tests is None:
            self.start_tests(request, cancel)
        assert self._tests is not None
        with self.take():
            tests = self._tests.result()
            if tests.request != request:
                raise SandboxError("other tests were started in the sandbox")
            yield tests

    @contextmanager
    def take(self) -> Iterator[Sandbox]:
        """The sandbox; it is removed in the background.

        Raises:
            SandboxError: it could not be created.
            RunCancelled: the run was cancelled meanwhile.
        """
        self._is_taken = True
        keep, sandbox = self._opened.result()
        with keep:
            yield sandbox
            self._background.remove(keep.pop_all().close)

    def close(self) -> None:
        """Remove it, unless it was taken."""
        if not self._is_taken:
            self._background.remove(self._drop)

    def _drop(self) -> None:
        if self._opened.exception() is None:
            if self._tests is not None:
                self._tests.exception()  # the tests have started
            keep, _ = self._opened.result()
            keep.close()


class TestsAfterCommands:
    """The tests of a filled sandbox, with the commands of `[tests] before` in front of them."""

    def __init__(
        self,
        context: StageContext,
        sandbox: Sandbox,
        request: PytestRequest,
        cancel: Event | None = None,
    ) -> None:
        self.sandbox = sandbox
        self.request = request
        self._context = context
        self._cancel = cancel

    def finish(self, *, sink: OutputSink | None = None) -> PytestRun:
        """Run the commands and the tests, kill the sandbox, and read the reports.

        The first command that fails is the result. All commands together have the time limit of
        the tests, which have it once more.

        Raises:
            GitCloneError: the origin cannot be mirrored, to find the project's version.
            SandboxError: the sandbox is lost.
            RunCancelled: it was cancelled; all its processes have ended.
        """
        left = self.request.timeout
        for line, env in self._lines():
            ended = self.sandbox.run(
                Command(
                    argv=("sh", "-c", line),
                    timeout=max(left, timedelta(seconds=0.1)),
                    env=env,
                    sink=sink,
                    cancel=self._cancel,
                )
            )
            if not ended.ok:
                self.sandbox.kill()
                return run_without_tests(ended)
            left -= ended.duration
        return execute_tests(
            self.sandbox, self.request, end_sandbox=True, sink=sink, cancel=self._cancel
        )

    def _lines(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """The commands, each with its variables: those of the set-up's commands."""
        task = self._context.task
        if task.problem.test_before:
            versions = version_settings(self._context.mirrors.of(task.source))
            yield from (
                (each, {**versions, **self.request.env}) for each in task.problem.test_before
            )


@contextmanager
def filled_sandbox(
    context: PreparedContext,
    preopened: UpcomingSandbox | None,
    fill: Callable[[Sandbox], None],
    request: PytestRequest,
    cancel: Event | None = None,
) -> Iterator[StartedTests | TestsAfterCommands]:
    """Tests in a filled sandbox: the one opened in advance, or a fresh one if that was lost.

    The process of the tests starts before the files are written, and waits for them; it starts
    after the task's commands before the tests, if there are any.

    Args:
        context: The inputs.
        preopened: The sandbox that was opened in advance, if there is one.
        fill: Writes the files.
        request: The tests.
        cancel: Ends the tests.

    Raises:
        DoesNotFitError: the files exceed a sandbox's disk limit.
        SandboxError: the sandbox could not be created, or refuses the files.
    """
    with ExitStack() as stack:
        if context.task.problem.test_before:
            sandbox = stack.enter_context(fresh_sandbox(context))
            fill(sandbox)
            yield TestsAfterCommands(context, sandbox, request, cancel)
            return
        tests = None
        if preopened is not None:
            tests = _filled(preopened.take_tests(request, cancel), fill, stack)
        if tests is None:
            sandbox = stack.enter_context(fresh_sandbox(context))
            tests = stack.enter_context(started_tests(sandbox, request, cancel=cancel))
            fill(sandbox)
        yield tests


def _filled(
    opened: AbstractContextManager[StartedTests],
    fill: Callable[[Sandbox], None],
    stack: ExitStack,
) -> StartedTests | None:
    try:
        with ExitStack() as tried:
            tests = tried.enter_context(opened)
            fill(tests.sandbox)
            stack.push(tried.pop_all())
            return tests
    except DoesNotFitError:
        raise
    except SandboxError:
        return None


def _entered(opened: AbstractContextManager[Sandbox]) -> _OpenSandbox:
    with ExitStack() as stack:
        sandbox = stack.enter_context(opened)
        return stack.pop_all(), sandbox


def _opened(
    context: PreparedContext, mounts: Sequence[ReadOnlyMount]
) -> AbstractContextManager[Sandbox]:
    return open_sandbox(context, context.prepared.snapshot, mounts=mounts)


def expected_tests(task: Task) -> ExpectedTests:
    """The expected outcomes of a task's tests."""
    key = task.answer_key
    return ExpectedTests(
        fail_to_pass=key.fail_to_pass,
        pass_to_pass=key.pass_to_pass,
        quarantined=key.quarantined,
        reward_above=key.verifier.threshold if key.verifier is not None else None,
    )


def judged_request(context: StageContext) -> PytestRequest:
    """The pytest run that judges a task; equal in the baseline, the final test and control runs.

    It runs all tests, regardless of the task's command or configuration: a control run has to
    continue after a failure, and code under test must not be able to tell it from the final test.
    unittest and Django's runner do so anyway.
    """
    return PytestRequest(
        command=parse_pytest_command(context.task.problem.test_command),
        judged=True,
        targets=judged_targets(context.task),
        timeout=judged_timeout(context),
        env=context.task.environment.env,
    )


def judged_timeout(context: StageContext) -> timedelta:
    """The time limit of a judged run."""
    return stage_timeout(StageName.FINAL_TEST, context.task, context.settings)


def judged_targets(task: Task) -> tuple[str, ...]:
    """The files of the listed ids; the task's test paths, too, if not only ids decide.

    These are files, not ids, since pytest would run nothing if one id did not exist. A name that is
    not an id has no file, so the test paths must include its test.
    """
    key = task.answer_key
    pass_to_pass = () if key.pass_to_pass == "baseline" else key.pass_to_pass
    listed = (*key.fail_to_pass, *pass_to_pass)
    files = dict.fromkeys(test.partition("::")[0] for test in listed if "::" in test)
    names = has_names(expected_tests(task))
    if key.fail_to_pass and key.pass_to_pass != "baseline" and not names:
        return tuple(files)
    if names and not task.problem.test_paths:
        return ()
    return tuple(dict.fromkeys((*task.problem.test_paths, *_outside_test_paths(files, task))))


def _outside_test_paths(files: dict[str, None], task: Task) -> tuple[str, ...]:
    paths = task.problem.test_paths
    if not paths and task.answer_key.pass_to_pass == "baseline":
        return ()  # pytest's own default: everything, these files included
    return tuple(file for file in files if not _is_below(file, paths))


def with_located_tests(
    task: Task,
    paths: Iterable[PurePosixPath],
    content: Callable[[PurePosixPath], bytes | None],
) -> Task:
    """The task whose lists have ids relative to the repository.

    Data sets have pytest's own ids, which are relative to its rootdir: that is a folder of the
    repository if it has an ini file of its own. An id is located in a file whose path ends like
    its own, and that contains the test's name; an id that fits no file or several stays as it is.

    Args:
        task: The task.
        paths: The files of the repository, with the hidden tests.
        content: The content of such a file; None if it has none.
    """
    key = task.answer_key
    by_name: dict[str, list[PurePosixPath]] = {}
    for path in paths:
        by_name.setdefault(path.name, []).append(path)

    def located(node_id: NodeId) -> NodeId:
        file, colons, name = node_id.partition("::")
        similar = [p for p in by_name.get(PurePosixPath(file).name, ()) if p.match(file)]
        if not colons or [p.as_posix() for p in similar] in ([], [file]):
            return node_id
        function = name.partition("[")[0].rpartition("::")[2].encode()
        similar = [p for p in similar if function in (content(p) or b"")]
        is_tested = [p for p in similar if _is_below(p.as_posix(), task.problem.test_paths)]
        exact = [p for p in similar if p.as_posix() == file]
        for found in (exact, is_tested, similar):
            if len(found) == 1:
                return NodeId(f"{found[0]}::{name}")
        return node_id

    passing = key.pass_to_pass
    lists = {
        "fail_to_pass": tuple(map(located, key.fail_to_pass)),
        "pass_to_pass": passing if passing == "baseline" else tuple(map(located, passing)),
        "quarantined": tuple(map(located, key.quarantined)),
    }
    return task.model_copy(update={"answer_key": key.model_copy(update=lists)})


def _is_below(file: str, folders: Iterable[str]) -> bool:
    return any(file == p or file.startswith(f"{p}/") for p in (f.rstrip("/") for f in folders))


def listed_only(facts: ReportFacts, task: Task) -> ReportFacts:
    """A report with only the tests that decide, so that a record stays small."""
    key = task.answer_key
    if not key.fail_to_pass or key.pass_to_pass == "baseline":
        return facts
    listed = {*key.fail_to_pass, *key.pass_to_pass}
    names = [name for name in listed if "::" not in name]
    cases = tuple(
        case
        for case in facts.cases
        if case.node_id in listed or any(map(case.has_name, names if case.names else ()))
    )
    return facts.model_copy(update={"cases": cases})


def judged_evidence(context: StageContext, run: PytestRun) -> Evidence:
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
    listed = expected.fail_to_pass or outcomes_of(baseline)
    found = {}
    for name in dict.fromkeys(node_id.partition("::")[0] for node_id in listed):
        path = PurePosixPath(name)
        content = prepared.content(path)
        if content is not None:
            executable = prepared.base[path].executable
            found[path] = FileContent(content=content, executable=executable)
    return found
