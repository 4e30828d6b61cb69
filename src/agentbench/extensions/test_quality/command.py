"""`agentbench tasks fix-tests`: proposes weaker assertions where a task's tests are too strict."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.report import open_output
from agentbench.cli.tasks.validation import follow_validation, validation_settings
from agentbench.core.display_text import counted, printable
from agentbench.core.files import owned_folder
from agentbench.core.host import usable_cache_dir
from agentbench.sandbox.back_ends import SandboxName

_TESTS_PATCH = "tests.patch"


def fix_tests(
    task: Annotated[Path, typer.Argument(help="The folder of the task.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file for the patch; default: stdout.")
    ] = None,
    *,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Validate a copy of the task with the patch: do its tests still need the fix?",
        ),
    ] = False,
    sandbox: options.Sandbox = SandboxName.AUTO,
    runs_dir: options.RunsDir = Path("runs"),
) -> None:
    """Propose weaker assertions where the tests of a task are known to reject right fixes.

    The patch is for reading: nothing applies it. It changes the tree that has the hidden tests.
    What is known is in proof.json, from `validate --fairness --record`; without it, only messages
    that nothing states are.

    Example: agentbench tasks fix-tests tasks/my-bug
    """
    from agentbench.audit.task_facts import read_task_facts
    from agentbench.extensions.test_quality.fix_tests import propose_patch
    from agentbench.tasks.loading import load_task
    from agentbench.tasks.mirror import Mirrors
    from agentbench.validation.stored_proof import read_proof

    mirrors = Mirrors(usable_cache_dir() / "mirrors")
    loaded = load_task(task, mirrors=mirrors)
    facts = read_task_facts(loaded, mirrors)
    proof = read_proof(task, digest=loaded.digest)
    if proof is None or proof.fairness is None:
        typer.echo(
            "variants of the fix were not run, so that only messages are looked at; measure them "
            f"with: agentbench validate {task} --fairness --record",
            err=True,
        )
    proposed = propose_patch(facts, proof)
    with open_output(out) as target:
        target.write(proposed.patch)
    for line in proposed.proposals:
        typer.echo(printable(line, limit=500), err=True)
    for line in proposed.without:
        typer.echo(printable(f"no proposal: {line}", limit=500), err=True)
    count = counted(len(proposed.proposals), "weaker assertion")
    typer.echo(f"{count} proposed, {len(proposed.without)} without a proposal", err=True)
    if not proposed.patch:
        return
    if check:
        _check(task, proposed.patch, sandbox, runs_dir)
    else:
        typer.echo("read the patch; --check validates a copy of the task with it", err=True)


def _check(task: Path, patch: str, sandbox: SandboxName, runs_dir: Path) -> None:
    from agentbench.validation.task_validation import result_lines, validate_folders

    validation = options.ValidationOptions(repeat=1, sandbox=sandbox, runs_dir=runs_dir, quiet=True)
    settings = validation_settings(validation, record=False)
    with owned_folder("agentbench-fix-tests-") as scratch:
        copied = shutil.copytree(task, scratch / task.resolve().name, symlinks=True)
        with (copied / _TESTS_PATCH).open("ab") as file:
            file.write(patch.encode())
        (one,) = validate_folders([copied], settings, follow_validation(validation))
    word = "valid" if one.is_valid else "INVALID"
    typer.echo(f"with the patch the task is {word}", err=True)
    for line in result_lines(one):
        typer.echo(f"  {printable(line, limit=300)}", err=True)
    if not one.is_valid:
        raise typer.Exit(ExitCode.CHECK_FAILED)
