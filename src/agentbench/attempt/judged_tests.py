"""One judged run of a task's tests: its files, its command, and the evidence that it leaves."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.attempt.context import PreparedContext, StageContext
from agentbench.attempt.sandboxes import open_test_sandbox, watched_services
from agentbench.attempt.stage_runner import stage_timeout
from agentbench.core.files import FileContent
from agentbench.errors import DoesNotFitError, SandboxError
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, OutputSink, Sandbox, ServiceReport
from agentbench.scoring.evidence import CommandResult, Evidence, NodeId, ReportFacts
from agentbench.scoring.expectation import (
    ExpectedTests,
    has_names,
    outcomes_of,
    resolve_expectation,
    shortfall_of,
    with_node_ids,
)
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.problem import parse_pytest_command
from agentbench.tasks.task import Task
from agentbench.tasks.version_settings import version_settings
from agentbench.taxonomy import Fault, StageName
from agentbench.test_runs.execution import (
    PytestRequest,
    PytestRun,
    execute_tests,
    run_without_tests,
)

_REMOVAL_TIMEOUT = timedelta(minutes=5)


@dataclass(frozen=True, kw_only=True)
class JudgedRun:
    """A run of the tests, and the services that failed in it."""

    tests: PytestRun
    failed_services: Sequence[ServiceReport]


def run_judged_tests(
    context: PreparedContext,
    files: Mapping[PurePosixPath, FileContent | None],
    *,
    emptied: Iterable[PurePosixPath] = (),
    are_agents: bool = False,
    request: PytestRequest | None = None,
    sink: OutputSink | None = None,
) -> JudgedRun:
    """Write files to a fresh sandbox, run the tests, kill the sandbox, and read their reports.

    The task's commands before the tests run first; one that fails is the result. All of them
    together have the time limit of the tests, which have it once more.

    Args:
        context: The inputs.
        files: The files to write; None removes one.
        emptied: Folders to remove, unless a file is written below them.
        are_agents: Whether the files contain an agent's change, which must fit the disk.
        request: The tests; None: those that judge the task.
        sink: Gets the output.

    Raises:
        DoesNotFitError: the files exceed the sandbox's disk limit.
        GitCloneError: the origin cannot be mirrored, to find the project's version.
        SandboxError: the sandbox could not be created, refuses the files, or is lost.
        RunCancelled: the attempt was cancelled; all its processes have ended.
    """
    request = request or judged_request(context)
    with open_test_sandbox(context) as sandbox, watched_services(context, sandbox) as failures:
        try:
            write_files(sandbox, files, emptied=emptied, edited_at=context.edited_at)
        except DoesNotFitError as error:
            if are_agents:
                raise error.blamed_on(Fault.AGENT) from error
            raise
        broken = _run_before(context, sandbox, request, sink)
        if broken is None:
            # The reports are read from a dead sandbox: nothing in it can change them any more.
            tests = execute_tests(sandbox, request, end_sandbox=True, sink=sink)
        else:
            sandbox.kill()
            tests = run_without_tests(broken)
    return JudgedRun(tests=tests, failed_services=failures)


def _run_before(
    context: StageContext, sandbox: Sandbox, request: PytestRequest, sink: OutputSink | None
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


def has_passed(task: Task, baseline: Evidence, final: Evidence) -> bool:
    """Whether a final test shows that the bug is fixed."""
    expected = with_node_ids(expected_tests(task), baseline, final)
    expectation = resolve_expectation(expected, baseline)
    return shortfall_of(expected, expectation, baseline, final) is None


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
    return second.model_copy(update={"warnings": warnings})
