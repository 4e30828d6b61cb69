"""The options of `agentbench serve`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agentbench.attempt.executor_name import ExecutorName
from agentbench.cli import options
from agentbench.judge.reward_kind import RewardKind
from agentbench.sandbox.back_ends import SandboxName


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeServerOptions(options.TaskSelection):
    """The options of `agentbench serve`."""

    host: options.Host = "127.0.0.1"
    port: Annotated[
        int, typer.Option("--port", help="The port; 0: any free one.", min=0, max=65535)
    ] = 8767
    queue: Annotated[
        Path | None,
        typer.Option(
            "--queue",
            help="The file with the jobs, which survive a restart.",
            show_default="queue.sqlite in --runs-dir",
        ),
    ] = None
    reward: Annotated[
        RewardKind,
        typer.Option(
            "--reward", help="resolved: 1 or 0. fixed-share: the share of the tests to fix."
        ),
    ] = RewardKind.RESOLVED
    no_verdict_cache: Annotated[
        bool, typer.Option("--no-verdict-cache", help="Judge equal changes again each time.")
    ] = False
    jobs: options.Jobs = "auto"
    executor: options.Executor = ExecutorName.LOCAL
    sandbox: options.Sandbox = SandboxName.AUTO
    retries: options.Retries = 2
    runtime: options.Runtime = None
    registry: options.Registry = None
    timeout_scale: options.TimeoutScale = 1.0
    allow_env: options.AllowEnv = None
    allow_unsandboxed: options.AllowUnsandboxed = False
    runs_dir: options.RunsDir = Path("runs")
    drain: Annotated[
        float,
        options.limit_option(
            "--drain", help="Seconds that running work may take after Ctrl-C or SIGTERM.", min=0
        ),
    ] = 60.0
    max_body: Annotated[
        int,
        options.limit_option(
            "--max-body", help="The largest body of a request, in MiB.", min=1, max=1024
        ),
    ] = 64
    max_jobs: Annotated[
        int,
        options.limit_option(
            "--max-jobs", help="The most jobs that wait; further ones are refused.", min=1
        ),
    ] = 100_000
    keep_jobs: Annotated[
        float,
        options.limit_option(
            "--keep-jobs",
            help="Days for which an ended job can be asked for; records stay in --runs-dir.",
            min=0,
        ),
    ] = 7.0
    max_sessions: Annotated[
        int,
        options.limit_option("--max-sessions", help="The most sessions at a time.", min=0),
    ] = 256
    session_idle: Annotated[
        float,
        options.limit_option(
            "--session-idle", help="Seconds without a call after which a session is closed.", min=1
        ),
    ] = 1800.0
