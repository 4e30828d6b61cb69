"""`agentbench resume`."""

from pathlib import Path

import typer

from agentbench.cli import options


def resume(
    run: options.RunName = "last",
    runs_dir: options.RunsDir = Path("runs"),
    retry_lost: options.RetryLost = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Go on with an interrupted run: finished attempts are kept, the others are made again.

    Example: agentbench resume last
    """
    from agentbench.cli.outcome import carry_out
    from agentbench.runs.places import usable_cache_dir
    from agentbench.runs.resume import resume_run
    from agentbench.runs.store import find_run

    del debug  # read by the program itself
    resumed = resume_run(
        find_run(run, runs_dir),
        cache_dir=usable_cache_dir(),
        retry_lost=retry_lost,
        say=lambda line: None if quiet else typer.echo(line, err=True),
    )
    if not quiet:
        typer.echo(f"{len(resumed.planned)} attempts to make", err=True)
    carry_out(resumed, as_json=as_json, quiet=quiet, verbose=verbose)
