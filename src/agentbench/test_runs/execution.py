"""Runs and discovers tests in a sandbox, for stages, agents and MCP."""

import importlib.resources
import secrets
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event
from types import MappingProxyType

from msgspec import Struct, field

from agentbench.sandbox.interface import Command, OutputSink, ReadOnlyMount, Sandbox
from agentbench.scoring.evidence import CommandResult, Ending, NodeId, ReportFacts
from agentbench.tasks.problem import PytestCommand
from agentbench.tasks.test_runner_name import Runner
from agentbench.test_runs import parse, report_files
from agentbench.test_runs.chunked_text import ReportText
from agentbench.test_runs.model import PytestResult

LAUNCHER_MOUNT = "agentbench_pytest"
JSON_REPORT_MOUNT = "pytest_jsonreport"

_FIXED_ENV = {
    "PYTEST_ADDOPTS": "",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "",
    "PYTEST_PLUGINS": "",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def reporter_mounts() -> tuple[ReadOnlyMount, ...]:
    """The mounts that a sandbox needs for `pytest_command`."""
    json_report = importlib.resources.files("pytest_jsonreport")
    return (
        ReadOnlyMount(name=LAUNCHER_MOUNT, source=Path(__file__).parent / "mounted"),
        ReadOnlyMount(name=JSON_REPORT_MOUNT, source=Path(str(json_report))),
    )


class PytestRequest(Struct, frozen=True, kw_only=True):
    """The tests to run, and how; raises ValueError if the runner would misread an argument."""

    command: PytestCommand
    timeout: timedelta
    targets: tuple[str, ...] = ()  # files, folders or node ids; none: the project's configuration
    keyword: str | None = None
    markers: str | None = None
    max_failures: int | None = None
    last_failed: bool = False
    collect_only: bool = False
    judged: bool = False
    """Whether every test runs, in pytest's own order, whatever the project's options say."""
    report_limit: int | None = None  # bytes; a larger JSON report is used, but not stored
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Refuse arguments that pytest would misread."""
        for target in self.targets:
            if not target or target[0] in "-@" or "\x00" in target:
                raise ValueError(f"expected a path or a node id, found {target!r}")
        for expression in (self.keyword, self.markers):
            if expression is not None and (expression[:1] == "-" or "\x00" in expression):
                raise ValueError(f"expected an expression of names, found {expression!r}")
        if self.command.runner is not Runner.PYTEST and (self.markers or self.last_failed):
            raise ValueError(
                f"markers and last_failed need pytest; these tests run under {self.command.runner}"
            )
        if self.max_failures is not None and self.max_failures < 1:
            raise ValueError(f"expected max_failures of 1 or more, found {self.max_failures}")


def pytest_command(
    sandbox: Sandbox,
    request: PytestRequest,
    results: PurePosixPath,
    *,
    sink: OutputSink | None = None,
    cancel: Event | None = None,
) -> Command:
    """The command for a sandbox with `reporter_mounts`; it creates the folder `results`."""
    runs_pytest = request.command.runner is Runner.PYTEST
    return Command(
        argv=tuple(
            (_pytest_arguments if runs_pytest else _other_arguments)(sandbox, request, results)
        ),
        timeout=request.timeout,
        env=MappingProxyType({**_FIXED_ENV, **request.env}),
        sink=sink,
        cancel=cancel,
    )


def _pytest_arguments(
    sandbox: Sandbox, request: PytestRequest, results: PurePosixPath
) -> Iterator[str]:
    yield from _launcher(sandbox, request, results)
    yield from ("--jsonreport", str(sandbox.mounted(JSON_REPORT_MOUNT)))
    if request.command.as_module:
        yield "--as-module"
    if request.judged:
        yield "--judged"
    yield from (f"--target={target}" for target in request.targets)
    # includes the file of each test
    yield from ("--", "-o", "junit_family=xunit1", *request.command.options, *_selection(request))


def _other_arguments(
    sandbox: Sandbox, request: PytestRequest, results: PurePosixPath
) -> Iterator[str]:
    command = request.command
    yield from _launcher(sandbox, request, results)
    yield from ("--runner", command.runner.value)
    if command.script:
        yield from ("--script", command.script)
    if request.max_failures is not None:
        yield from ("--max-failures", str(request.max_failures))
    if request.collect_only:
        yield "--collect-only"
    yield from (f"--target={target}" for target in request.targets)
    yield from ("--", *command.options)
    if request.keyword is not None:
        yield from ("-k", request.keyword)


def _launcher(sandbox: Sandbox, request: PytestRequest, results: PurePosixPath) -> Iterator[str]:
    # -I and -B: neither the environment nor the project's byte-code affects imports
    yield from (request.command.interpreter, "-I", "-B")
    yield str(sandbox.mounted(LAUNCHER_MOUNT) / "agentbench_launch.py")
    yield from ("--results", str(results))


def _selection(request: PytestRequest) -> Iterator[str]:
    if request.keyword is not None:
        yield from ("-k", request.keyword)
    if request.markers is not None:
        yield from ("-m", request.markers)
    if request.max_failures is not None:
        yield f"--maxfail={request.max_failures}"
    if request.last_failed:
        yield "--last-failed"
    if request.collect_only:
        yield from ("--collect-only", "-q")


class PytestRun(Struct, frozen=True, kw_only=True):
    """One run of pytest: its process, its result, and the tests that it collected."""

    command: CommandResult
    result: PytestResult
    node_ids: tuple[NodeId, ...] = ()
    recordings: ReportText = ""  # of sealed tests; untrusted lines of JSON
    failed_before: bool = False  # whether the process is a command before the tests that failed

    @property
    def facts(self) -> ReportFacts:
        """The part of the result that a verdict needs; computed on each call."""
        return parse.facts_of(self.result)


def execute_tests(
    sandbox: Sandbox,
    request: PytestRequest,
    *,
    end_sandbox: bool = False,
    sink: OutputSink | None = None,
    progress: report_files.ProgressSink | None = None,
    cancel: Event | None = None,
) -> PytestRun:
    """Run or only collect tests, then read the reports, after `kill` if the sandbox has to end.

    Raises:
        SandboxError: the sandbox is lost.
        RunCancelled: it was cancelled; all its processes have ended.
    """
    # A random name, so that no earlier process of the sandbox can have prepared the folder.
    folder = sandbox.results / secrets.token_hex(16)
    command = pytest_command(sandbox, request, folder, sink=sink, cancel=cancel)
    with report_files.follow_progress(sandbox, folder, progress):
        ended = sandbox.run(command)
    if end_sandbox:
        sandbox.kill()
    is_lost = ended.ending is Ending.LOST
    files = parse.ReportFiles() if is_lost else report_files.read_report_files(sandbox, folder)
    text = "\n".join(filter(None, (ended.stdout, ended.stderr)))
    session = parse.session_of(files, text, report_limit=request.report_limit)
    how = parse.PytestExit(
        ending=ended.ending, exit_code=ended.exit_code, collect_only=request.collect_only
    )
    result = parse.result_of(session, how, text_output=text)
    return PytestRun(
        command=ended,
        result=result,
        node_ids=tuple(session.collected),
        recordings=files.recordings or "",
    )


def run_without_tests(ended: CommandResult) -> PytestRun:
    """The run of a command before the tests that failed, so that no test was run."""
    text = "\n".join(filter(None, (ended.stdout, ended.stderr)))
    session = parse.session_of(parse.ReportFiles(), text)
    session.spawn_error = f"a command before the tests failed: {ended.argv[-1]}"
    how = parse.PytestExit(ending=ended.ending, exit_code=ended.exit_code)
    result = parse.result_of(session, how, text_output=text)
    return PytestRun(command=ended, result=result, failed_before=True)
