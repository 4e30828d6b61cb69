"""Runs and discovers tests in a sandbox, for stages, agents and MCP."""

import secrets
from dataclasses import dataclass
from pathlib import PurePosixPath
from threading import Event

from agentbench.pytest_results.command import PytestRequest, pytest_command
from agentbench.pytest_results.model import CollectionError, PytestResult
from agentbench.pytest_results.parse import PytestExit, ReportFiles, facts_of, result_of, session_of
from agentbench.pytest_results.report_files import ProgressSink, follow_progress, read_report_files
from agentbench.pytest_results.session import ReportedSession
from agentbench.sandbox.interface import OutputSink, Sandbox
from agentbench.scoring.evidence import CommandResult, Ending, NodeId, ReportFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestRun:
    """One run of pytest: its process and its result."""

    command: CommandResult
    result: PytestResult

    @property
    def facts(self) -> ReportFacts:
        """The part of the result that a verdict needs; computed on each call."""
        return facts_of(self.result)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredTests:
    """The tests that pytest finds, and the files that it cannot collect."""

    node_ids: tuple[NodeId, ...]
    collection_errors: tuple[CollectionError, ...]
    run: PytestRun


def execute_tests(
    sandbox: Sandbox,
    request: PytestRequest,
    *,
    end_sandbox: bool = False,
    sink: OutputSink | None = None,
    progress: ProgressSink | None = None,
    cancel: Event | None = None,
) -> PytestRun:
    """Run tests and read the reports, after `kill` if the sandbox has to end.

    Raises:
        SandboxError: the sandbox is lost.
        RunCancelled: it was cancelled; no process of it runs any more.
    """
    folder = _fresh_folder(sandbox)
    command = pytest_command(sandbox, request, folder, sink=sink, cancel=cancel)
    with follow_progress(sandbox, folder, progress):
        ended = sandbox.run(command)
    if end_sandbox:
        sandbox.kill()
    run, _session = _read(sandbox, folder, ended, report_limit=request.report_limit)
    return run


def discover_tests(
    sandbox: Sandbox,
    request: PytestRequest,
    *,
    sink: OutputSink | None = None,
    cancel: Event | None = None,
) -> DiscoveredTests:
    """Collect tests without running them.

    Raises:
        SandboxError: the sandbox is lost.
        RunCancelled: it was cancelled; no process of it runs any more.
    """
    folder = _fresh_folder(sandbox)
    command = pytest_command(sandbox, request, folder, collect_only=True, sink=sink, cancel=cancel)
    run, session = _read(
        sandbox, folder, sandbox.run(command), collect_only=True, report_limit=request.report_limit
    )
    return DiscoveredTests(
        node_ids=tuple(session.collected),
        collection_errors=run.result.collection_errors,
        run=run,
    )


def _fresh_folder(sandbox: Sandbox) -> PurePosixPath:
    """A random name, so that no earlier process of the sandbox can have prepared the folder."""
    return sandbox.results / secrets.token_hex(16)


def _read(
    sandbox: Sandbox,
    folder: PurePosixPath,
    ended: CommandResult,
    *,
    collect_only: bool = False,
    report_limit: int | None = None,
) -> tuple[PytestRun, ReportedSession]:
    lost = ended.ending is Ending.LOST
    files = ReportFiles() if lost else read_report_files(sandbox, folder)
    text = "\n".join(filter(None, (ended.stdout, ended.stderr)))
    session = session_of(files, text, report_limit=report_limit)
    how = PytestExit(ending=ended.ending, exit_code=ended.exit_code, collect_only=collect_only)
    result = result_of(session, how, text_output=text)
    return PytestRun(command=ended, result=result), session
