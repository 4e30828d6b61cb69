"""`agentbench validate`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentbench.cli import options
from agentbench.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentbench.runs.validation import TaskProof
    from agentbench.scoring.evidence import Finding
    from agentbench.tasks.problem import TaskId
    from agentbench.tasks.task import Task


def validate(
    tasks: options.Tasks,
    repeat: options.Repeat = 2,
    write_ids: options.WriteIds = False,
    jobs: options.Jobs = "auto",
    sandbox: options.Sandbox = options.SandboxName.AUTO,
    runs_dir: options.RunsDir = Path("runs"),
    filter_glob: options.Filter = None,
    tag: options.Tag = None,
    limit: options.Limit = None,
    no_cache: options.NoCache = False,
    registry: options.Registry = None,
    timeout_scale: options.TimeoutScale = 1.0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    debug: options.Debug = False,
) -> None:
    """Prove tasks: the oracle resolves each, the no-op agent does not, no test is flaky.

    Also says how many of the tests to fix blind controls really control, and what leaks.

    Example: agentbench validate tasks/ --repeat 3
    """
    from agentbench.cli.proving import fill_in_ids, prove_tasks
    from agentbench.cli.selection import number_of_jobs, select_tasks
    from agentbench.runs.options import RunOptions
    from agentbench.runs.places import usable_cache_dir
    from agentbench.tasks.control_level import ControlLevel

    del debug  # read by the program itself
    cache_dir = usable_cache_dir()
    run_options = RunOptions(
        attempts=repeat,
        jobs=number_of_jobs(jobs),
        sandbox=sandbox.value,
        runs_dir=runs_dir,
        use_cache=not no_cache,
        registry=registry,
        timeout_scale=timeout_scale,
        integrity_controls=ControlLevel.FULL,
        cache_dir=cache_dir,
    )

    def chosen() -> list["Task"]:
        return select_tasks(tasks, cache_dir=cache_dir, glob=filter_glob, tag=tag, limit=limit)

    if write_ids:
        fill_in_ids(chosen(), run_options, quiet=quiet, verbose=verbose)
    proven = chosen()
    proofs = prove_tasks(proven, run_options, quiet=quiet, verbose=verbose)
    leaks = {task.id: _leaks(task, cache_dir) for task in proven}
    if as_json:
        rows = [_row(proof, leaks[proof.task_id]) for proof in proofs]
        typer.echo(json.dumps(rows, indent=1))
    else:
        _print(proofs, leaks)
    valid = sum(proof.valid for proof in proofs)
    typer.echo(f"{valid} of {len(proofs)} tasks are valid", err=True)
    if valid < len(proofs):
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _leaks(task: "Task", cache_dir: Path) -> "tuple[Finding, ...]":
    """What `agentbench audit` finds; how well tests are controlled is known better by now."""
    from agentbench.audit.task_facts import read_task_facts
    from agentbench.audit.tasks import audit_task
    from agentbench.scoring.evidence import Severity
    from agentbench.tasks.mirror import Mirrors

    found = audit_task(read_task_facts(task, Mirrors(cache_dir / "mirrors"))).findings
    told = (each for each in found if each.rule != "weak-control")
    return tuple(each for each in told if each.severity is not Severity.INFO)


def _row(proof: "TaskProof", leaks: "tuple[Finding, ...]") -> dict[str, object]:
    return {
        "id": proof.task_id,
        "valid": proof.valid,
        "runs": proof.runs,
        "faults": proof.faults,
        "flaky": proof.flaky,
        "fail_to_pass": proof.to_control,
        "controlled": proof.controlled,
        "leaks": [leak.model_dump(mode="json") for leak in leaks],
        "weakly_controlled": [weak.model_dump() for weak in proof.weakly_controlled],
    }


def _print(proofs: "list[TaskProof]", leaks: "Mapping[TaskId, tuple[Finding, ...]]") -> None:
    from agentbench.report.harmless import harmless

    width = max(len(proof.task_id) for proof in proofs)
    for proof in proofs:
        flaky = "flaky" if proof.flaky else "not flaky"
        word = "valid" if proof.valid else "INVALID"
        share = f"{len(proof.controlled)} of {proof.to_control} fail_to_pass tests controlled"
        typer.echo(f"{proof.task_id:<{width}}  {word:<7}  {proof.runs} runs, {flaky}, {share}")
        for fault in (*proof.faults, *(f"flaky: {node_id}" for node_id in proof.flaky)):
            typer.echo(f"  {harmless(fault, limit=300)}")
        for leak in leaks[proof.task_id]:
            said = f"{leak.severity.value}: {leak.rule} at {leak.where}: {leak.what}"
            typer.echo(f"  {harmless(said, limit=300)}")
        for weak in proof.weakly_controlled:
            said = f"weakly controlled: {weak.file}::{weak.function}: {weak.reason}"
            typer.echo(f"  {harmless(said, limit=300)}")
