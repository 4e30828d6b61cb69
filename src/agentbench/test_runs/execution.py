"""Runs and discovers tests in a sandbox, for stages, agents and MCP."""

import secrets
from pathlib import PurePosixPath
from threading import Event
from types import MappingProxyType

from agentbench.sandbox.interface import Command, OutputSink, Sandbox
from agentbench.scoring.evidence import CommandResult
from agentbench.test_runs import parse, report_files
from agentbench.test_runs.runner import RunRequest, TestRun


def run_command(
    sandbox: Sandbox,
    request: RunRequest,
    results: PurePosixPath,
    *,
    sink: OutputSink | None = None,
    cancel: Event | None = None,
) -> Command:
    """The command for a sandbox with the runner's mounts; it creates the folder `results`."""
    return Command(
        argv=tuple(request.runner.arguments(sandbox, request, results)),
        timeout=request.timeout,
        env=MappingProxyType({**request.runner.env, **request.env}),
        sink=sink,
        cancel=cancel,
    )


def execute_tests(
    sandbox: Sandbox,
    request: RunRequest,
    *,
    end_sandbox: bool = False,
    sink: OutputSink | None = None,
    progress: report_files.ProgressSink | None = None,
    cancel: Event | None = None,
) -> TestRun:
    """Run or only collect tests, then read the reports, after `kill` if the sandbox has to end.

    Raises:
        SandboxError: the sandbox is lost.
        RunCancelled: it was cancelled; all its processes have ended.
    """
    # A random name, so that no earlier process of the sandbox can have prepared the folder.
    folder = sandbox.results / secrets.token_hex(16)
    command = run_command(sandbox, request, folder, sink=sink, cancel=cancel)
    with report_files.follow_progress(sandbox, folder, progress):
        ended = sandbox.run(command)
    if end_sandbox:
        sandbox.kill()
    return request.runner.read(sandbox, folder, request, ended)


def run_without_tests(request: RunRequest, ended: CommandResult) -> TestRun:
    """The run of a command before the tests that failed, so that no test was run."""
    text = "\n".join(filter(None, (ended.stdout, ended.stderr)))
    session = parse.session_of(parse.ReportFiles(), text)
    session.spawn_error = f"a command before the tests failed: {ended.argv[-1]}"
    how = parse.PytestExit(ending=ended.ending, exit_code=ended.exit_code)
    result = parse.result_of(session, how, text_output=text)
    trust = request.runner.trust
    return TestRun(command=ended, result=result, trust=trust, failed_before=True)
