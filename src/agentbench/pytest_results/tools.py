"""Runs and discovers tests in a sandbox: one function each for stages, agents and MCP."""

import secrets
from dataclasses import dataclass

from agentbench.pytest_results.model import CollectionError, PytestResult
from agentbench.pytest_results.outcome import Ended
from agentbench.pytest_results.parse import facts_of, result_of
from agentbench.pytest_results.retrieve import retrieve
from agentbench.pytest_results.run import PytestRequest, pytest_command
from agentbench.pytest_results.session import Session
from agentbench.pytest_results.sources import ReportFiles, session_of
from agentbench.sandbox.interface import OutputSink, Sandbox
from agentbench.scoring.evidence import CommandResult, Ending, NodeId, ReportFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestRun:
    """One run of pytest: its process, what it came to, and the facts for a judgement."""

    command: CommandResult
    result: PytestResult
    facts: ReportFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
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
) -> PytestRun:
    """Run tests and read what the reporters saw, after `kill` when the sandbox is to end.

    Raises:
        SandboxError: the sandbox is lost.
    """
    run, _session = _run(sandbox, request, end_sandbox=end_sandbox, sink=sink)
    return run


def discover_tests(
    sandbox: Sandbox, request: PytestRequest, *, sink: OutputSink | None = None
) -> Discovery:
    """Collect tests without running them.

    Raises:
        SandboxError: the sandbox is lost.
    """
    run, session = _run(sandbox, request, collect_only=True, sink=sink)
    return Discovery(
        node_ids=tuple(session.collected),
        collection_errors=run.result.collection_errors,
        run=run,
    )


def _run(
    sandbox: Sandbox,
    request: PytestRequest,
    *,
    collect_only: bool = False,
    end_sandbox: bool = False,
    sink: OutputSink | None = None,
) -> tuple[PytestRun, Session]:
    # A name that nobody can guess: no earlier process of the sandbox can have prepared the folder.
    folder = sandbox.results / secrets.token_hex(16)
    command = pytest_command(sandbox, request, folder, collect_only=collect_only, sink=sink)
    ended = sandbox.run(command)
    if end_sandbox:
        sandbox.kill()
    lost = ended.ending is Ending.LOST
    files = ReportFiles() if lost else retrieve(sandbox, folder)
    text = "\n".join(filter(None, (ended.stdout, ended.stderr)))
    session = session_of(files, text)
    how = Ended(ending=ended.ending, exit_code=ended.exit_code, collect_only=collect_only)
    result = result_of(session, how, text_output=text)
    return PytestRun(command=ended, result=result, facts=facts_of(result)), session
