"""`agentbench tasks new`."""

from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import history_options, options
from agentbench.errors import InputError


def new_task(
    repo: Annotated[str, typer.Option("--repo", help="A repository's URL or folder.")],
    fix: Annotated[
        str, typer.Option("--fix", help="The commit that fixes the bug: its hash, or a name.")
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(help="The task's folder; default: tasks/, by the repository and commit."),
    ] = None,
    tests: history_options.TestGlobs = None,
    image: history_options.Image = None,
    setup: history_options.SetupCommand = None,
    test_command: history_options.PytestCommand = None,
    whole_suite: history_options.WholeSuite = True,
    keep: history_options.Keep = history_options.Keeping.AUTO,
    replace: options.Replace = False,
    no_prove: options.NoProve = False,
    repeat: options.Repeat = 3,
    jobs: options.Jobs = "auto",
    sandbox: options.Sandbox = options.SandboxName.AUTO,
    runs_dir: options.RunsDir = Path("runs"),
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Make a task of a real fix: its tests become hidden, the rest the reference solution.

    The commit before it is the task's state. How its tests run is found out by trying, unless
    --image, --setup or --test-command say so; then the task is proven.

    Example: agentbench tasks new --repo https://example.org/project.git --fix 0a1b2c3d
    """
    from agentbench.cli.gating import gate_settings, prove_made, tell
    from agentbench.curation.environments import Environments
    from agentbench.curation.history.making import Origin, Place, make_task
    from agentbench.tasks.history.commit import find_commit, mirror_of_history
    from agentbench.tasks.history.fix import Fix, read_fix
    from agentbench.tasks.mirror import Mirrors

    del debug  # read by the program itself
    gate = gate_settings(
        repeat=repeat, jobs=jobs, sandbox=sandbox, runs_dir=runs_dir, write_ids=True
    )
    given = history_options.given_environment(image, setup, test_command)
    url = history_options.url_of(repo)
    mirrors = Mirrors(gate.options.cache_dir / "mirrors")
    head = mirror_of_history(url, mirrors)
    commit = find_commit(head, fix)
    found = read_fix(head, commit, tests=tuple(tests or ()))
    if not isinstance(found, Fix):
        raise InputError(f"{commit.hash}: cannot become a task: {found}")
    origin = Origin(
        url=url,
        mirrors=mirrors,
        environments=Environments(gate.options, given),
        as_files=keep.as_files(url),
    )
    place = Place.of(folder, replace=replace)
    written = make_task(found, origin, place, whole_suite=whole_suite)
    proven = None if no_prove else prove_made([written], gate, quiet=quiet, verbose=verbose)
    tell((), [written], proven, as_json=as_json)
