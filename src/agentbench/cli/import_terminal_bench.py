"""`agentbench tasks import terminal-bench`."""

from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options


def import_terminal_bench(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Terminal-Bench's task folders, or folders of them.", metavar="DIR"),
    ],
    out: options.Out = Path("tasks"),
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    repeat: options.Repeat = 2,
    jobs: options.Jobs = "auto",
    sandbox: options.Sandbox = options.SandboxName.AUTO,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Make tasks of Terminal-Bench's folders, where they are a single container.

    Example: agentbench tasks import terminal-bench ~/tb/tasks --out tasks/
    """
    from agentbench.cli.folder_import import conclude
    from agentbench.extras import YAML, require

    require("tasks import terminal-bench", YAML)
    from agentbench.tasks.importers.terminal_bench.importing import import_folders

    del debug  # read by the program itself
    conclude(
        import_folders(sources, out, replace=replace),
        prove=not no_prove,
        repeat=repeat,
        jobs=jobs,
        sandbox=sandbox,
        runs_dir=runs_dir,
        as_json=as_json,
        quiet=quiet,
        verbose=verbose,
    )
