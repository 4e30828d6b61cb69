"""`agentbench run`."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentbench.cli import options
from agentbench.runs.executor_name import ExecutorName

if TYPE_CHECKING:
    from agentbench.runs.configuration import RunConfiguration


def run(
    tasks: options.Tasks,
    agent: options.Agent = "oracle",
    agent_command: options.AgentCommand = None,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    prices: options.Prices = None,
    no_probe: options.NoProbe = False,
    record: options.Record = None,
    replay: options.Replay = None,
    attempts: options.Attempts = 1,
    jobs: options.Jobs = "auto",
    executor: options.Executor = ExecutorName.LOCAL,
    sandbox: options.Sandbox = options.SandboxName.AUTO,
    runs_dir: options.RunsDir = Path("runs"),
    run_id: options.RunId = None,
    filter_glob: options.Filter = None,
    tag: options.Tag = None,
    limit: options.Limit = None,
    shuffle: options.Shuffle = None,
    retries: options.Retries = 2,
    max_outage: options.MaxOutage = None,
    attempt_timeout: options.AttemptTimeout = None,
    no_cache: options.NoCache = False,
    registry: options.Registry = None,
    timeout_scale: options.TimeoutScale = 1.0,
    max_cost: options.MaxCost = None,
    fail_under: options.FailUnder = None,
    integrity_controls: options.IntegrityControls = None,
    allow_unsandboxed: options.AllowUnsandboxed = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Run every task under TASKS with one agent, and judge what it did.

    Example: agentbench run tasks/ --agent command --agent-command './fix.sh' -k 3
    """
    from agentbench.cli.outcome import carry_out
    from agentbench.cli.selection import number_of_jobs, select_tasks
    from agentbench.runs.options import RunOptions
    from agentbench.runs.places import usable_cache_dir
    from agentbench.runs.start import start_run

    del debug  # read by the program itself
    cache_dir = usable_cache_dir()
    chosen = select_tasks(tasks, cache_dir=cache_dir, glob=filter_glob, tag=tag, limit=limit)
    # fmt: off
    run_options = RunOptions(
        agent=agent, agent_command=agent_command,
        model=model, base_url=base_url, prices=prices, probe=not no_probe,
        record=record, replay=replay,
        attempts=attempts, jobs=number_of_jobs(jobs), executor=executor, sandbox=sandbox.value,
        runs_dir=runs_dir, run_id=run_id, retries=retries, use_cache=not no_cache,
        registry=registry,
        max_outage=None if max_outage is None else timedelta(minutes=max_outage),
        attempt_timeout=None if attempt_timeout is None else timedelta(seconds=attempt_timeout),
        timeout_scale=timeout_scale, max_cost_usd=max_cost, shuffle_seed=shuffle,
        integrity_controls=integrity_controls, allow_unsandboxed=allow_unsandboxed,
        cache_dir=cache_dir, say=_silent if quiet else _say,
    )
    # fmt: on
    started = start_run(chosen, run_options)
    _announce(started.configuration, quiet=quiet)
    carry_out(started, as_json=as_json, quiet=quiet, verbose=verbose, fail_under=fail_under)


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _silent(_line: str) -> None:
    pass


def _announce(configuration: "RunConfiguration", *, quiet: bool) -> None:
    from agentbench.cli.interpreters import interpreter_line

    if quiet:
        return
    typer.echo(f"sandbox: {configuration.sandbox} ({configuration.sandbox_reason})", err=True)
    typer.echo(interpreter_line(configuration.tasks), err=True)
    if configuration.agent == "oracle":
        typer.echo("agent: oracle (the reference solution, not an agent)", err=True)
