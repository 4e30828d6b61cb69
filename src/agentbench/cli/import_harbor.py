"""`agentbench tasks import harbor`."""

from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options


def import_harbor(
    sources: Annotated[
        list[Path], typer.Argument(help="Harbor's task folders, or folders of them.", metavar="DIR")
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
    """Make tasks of Harbor's folders, schema 1.0 to 1.4; their own scripts judge.

    Example: agentbench tasks import harbor ~/harbor/tasks --out tasks/
    """
    from agentbench.cli.folder_import import conclude
    from agentbench.tasks.importers.harbor.importing import import_folders

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
