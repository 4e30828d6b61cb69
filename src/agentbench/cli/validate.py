"""`agentbench validate`: prove that tasks are valid, and measure how strong their tests are."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import mutation_score, options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.run_execution import say_line
from agentbench.core.display_text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentbench.validation.mutation_score.results import MutationScore
    from agentbench.validation.task_validation import ValidationResult

RecordOption = Annotated[
    bool,
    typer.Option(
        "--record",
        help="Quarantine flaky tests in each task.toml, and store the results in proof.json.",
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Skip tasks with a valid proof.json from --record."),
]


def validate(
    tasks: options.Tasks,
    repeat: options.Repeat = 2,
    write_ids: options.WriteIds = False,
    record: RecordOption = False,
    resume: ResumeOption = False,
    measure_strength: mutation_score.StrengthOption = False,
    mutants: mutation_score.MutantsOption = 60,
    mutant_seed: mutation_score.MutantSeedOption = 0,
    min_strength: mutation_score.MinStrengthOption = None,
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
) -> None:
    """Prove tasks: the oracle resolves each, the no-op agent does not, no test is flaky.

    Also shows how many target tests the control runs cover, which data leaks, and, with --strength,
    which wrong versions of the reference solution pass the hidden tests.

    Example: agentbench validate tasks/ --repeat 3
    """
    from agentbench.cli.tasks.validation import follow_runs
    from agentbench.core.choices import ControlLevel
    from agentbench.core.host import usable_cache_dir
    from agentbench.runs.options import RunOptions
    from agentbench.validation.task_validation import ValidationSettings, validate_folders

    cache_dir = usable_cache_dir()
    run_options = RunOptions(
        attempts=repeat,
        jobs=options.parse_jobs(jobs),
        sandbox=sandbox.value,
        runs_dir=runs_dir,
        use_cache=not no_cache,
        registry=registry,
        timeout_scale=timeout_scale,
        integrity_controls=ControlLevel.FULL,
        cache_dir=cache_dir,
        say=say_line,
    )
    settings = ValidationSettings(
        options=run_options, write_ids=write_ids, record=record, resume=resume
    )
    selected = options.select_tasks(
        tasks, cache_dir=cache_dir, glob=filter_glob, tag=tag, limit=limit
    )
    proven = validate_folders(
        [task.folder for task in selected], settings, follow_runs(quiet=quiet, verbose=verbose)
    )
    strengths: Mapping[Path, MutationScore] = {}
    if measure_strength or min_strength is not None:
        strengths = mutation_score.measure_valid_tasks(
            proven, run_options, most=mutants, seed=mutant_seed
        )
        if record:
            mutation_score.store_in_proofs(strengths)
    if as_json:
        typer.echo(json.dumps([_row(one, strengths.get(one.folder)) for one in proven], indent=1))
    else:
        _print(proven, strengths)
    weak = min_strength is not None and mutation_score.warn_of_weak_tests(
        proven, strengths, min_strength
    )
    _finish(proven)
    if weak:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _finish(proven: "Sequence[ValidationResult]") -> None:
    """Print the number of valid tasks, and exit with a code that fits it."""
    good = sum(one.is_valid for one in proven)
    from agentbench.validation.task_validation import invalid_reasons_text

    if good < len(proven):
        typer.echo(printable(f"not valid: {invalid_reasons_text(proven)}", limit=1000), err=True)
    typer.echo(f"{good} of {len(proven)} tasks are valid", err=True)
    unproven = [one for one in proven if one.proof is None and not one.is_from_stored_proof]
    for one in unproven:
        for reason in one.reasons:
            message = f"error: {one.folder / 'task.toml'}: {reason}"
            typer.echo(printable(message, limit=500), err=True)
    if unproven:
        raise typer.Exit(ExitCode.INPUT)
    if good < len(proven):
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _row(one: "ValidationResult", strength: "MutationScore | None") -> dict[str, object]:
    from agentbench.validation.mutation_score.results import score_json

    proof, kept = one.proof, one.stored_proof
    shown = proof or kept
    return {
        "id": one.task_id,
        "valid": one.is_valid,
        "reasons": one.reasons,
        "runs": proof.runs if proof else 0,
        "faults": proof.faults if proof else one.reasons,
        "flaky": proof.flaky if proof else (),
        "flake_rates": dict(proof.flake_rates) if proof else {},
        "fail_to_pass": _fail_to_pass_count(one),
        "controlled": shown.controlled if shown else (),
        "leaks": [leak.model_dump(mode="json") for leak in one.leaks],
        "weakly_controlled": [
            weak.model_dump() for weak in (shown.weakly_controlled if shown else ())
        ],
        "seconds": dict(shown.seconds) if shown else {},
        "peak_memory_mib": shown.peak_memory_mib if shown else None,
        "proven_earlier": one.is_from_stored_proof,
        **({"strength": score_json(strength)} if strength is not None else {}),
    }


def _fail_to_pass_count(one: "ValidationResult") -> int:
    if one.proof is not None:
        return one.proof.to_control
    return one.stored_proof.fail_to_pass if one.stored_proof is not None else 0


def _print(proven: "Sequence[ValidationResult]", strengths: "Mapping[Path, MutationScore]") -> None:
    from agentbench.report.text_table import TableColumn, console_of, print_rows, print_text
    from agentbench.validation.mutation_score.results import score_lines
    from agentbench.validation.task_validation import result_lines

    console = console_of(sys.stdout)
    width = max(len(one.task_id) for one in proven)
    columns = (TableColumn(), TableColumn(), TableColumn(below=1))
    for one in proven:
        word = "valid" if one.is_valid else "INVALID"
        row = (f"{one.task_id:<{width}}", f"{word:<7}", _proof_summary(one))
        print_rows(columns, [row], console, has_header=False)
        for line in result_lines(one):
            print_text(f"  {printable(line, limit=300)}", console, indent=4)
        for line in score_lines(strengths[one.folder]) if one.folder in strengths else ():
            print_text(f"  {printable(line, limit=500)}", console, indent=4)


def _proof_summary(one: "ValidationResult") -> str:
    shown = one.proof or one.stored_proof
    if shown is None:
        return "not run"
    share = f"{len(shown.controlled)} of {_fail_to_pass_count(one)} fail_to_pass tests controlled"
    if one.proof is None:
        return f"proven earlier, {share}"
    return f"{one.proof.runs} runs, {'flaky' if one.proof.flaky else 'not flaky'}, {share}"
