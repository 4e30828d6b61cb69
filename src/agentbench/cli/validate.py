"""`agentbench validate`: prove that tasks are valid, and measure their mutation scores."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentbench.cli import options
from agentbench.cli.process_setup import ExitCode
from agentbench.cli.tasks.validation import follow_validation, validation_settings
from agentbench.core.display_text import counted, printable
from agentbench.core.extensions import Slot, load_offer
from agentbench.core.files import write_atomically

if TYPE_CHECKING:
    from agentbench.validation.fairness_results import Fairness
    from agentbench.validation.mutation_results import MutationScore
    from agentbench.validation.task_validation import ValidationResult

_WITHIN = timedelta(minutes=5)
_MEASURED = "With --strength, --stronger-tests or --min-strength:"

RecordOption = Annotated[
    bool,
    options.validation_option(
        "--record",
        help="Quarantine flaky tests in each task.toml, and store the results in proof.json.",
    ),
]
ResumeOption = Annotated[
    bool,
    options.validation_option("--resume", help="Skip tasks with a valid proof.json from --record."),
]
ReportOption = Annotated[
    Path | None,
    options.validation_option(
        "--report",
        help="Write a Markdown page for the tasks' author: what was measured, and what to change.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthOptions:
    """The options of measuring the mutation score of hidden tests."""

    measure: Annotated[
        bool,
        options.validation_option(
            "--strength",
            help="Also change the reference solution slightly, and list the changes that tests "
            "miss.",
        ),
    ] = False
    mutants: Annotated[
        int,
        options.validation_option(
            "--mutants", help=f"{_MEASURED} at most this many mutants per task.", min=1
        ),
    ] = 60
    mutant_seed: Annotated[
        int,
        options.validation_option(
            "--mutant-seed", help=f"{_MEASURED} the seed that selects mutants, if there are more."
        ),
    ] = 0
    stronger_tests: Annotated[
        Path | None,
        options.validation_option(
            "--stronger-tests",
            help="A patch of stronger tests, or a folder of TASK_ID.patch files: a missed change "
            "that fails them is a certified wrong fix. Measures the mutation score, too.",
            metavar="PATCH",
        ),
    ] = None
    search_seconds: Annotated[
        float,
        options.validation_option(
            "--search-seconds",
            help=f"{_MEASURED} search this long for an input on which a missed change differs from "
            "the reference solution; 0 searches for none.",
            min=0,
        ),
    ] = 20
    min_strength: Annotated[
        float | None,
        options.rate_option(
            "--min-strength",
            "Exit with code 1 if the mutation score of a task is below this rate, such as 90%.",
            bare_is_percent=True,
            rich_help_panel=options.Panel.VALIDATION,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessOptions:
    """The options of finding right fixes that hidden tests reject."""

    fairness: Annotated[
        bool,
        options.validation_option(
            "--fairness",
            help="Also change the reference solution into other right fixes, and list those that "
            "tests reject, with the names, messages and changes that nothing gives.",
        ),
    ] = False
    within: Annotated[
        timedelta | None,
        options.duration_option(
            "--within",
            "With --fairness: the time for each task, such as 90s; without it 5m.",
            bare_unit="m",
            rich_help_panel=options.Panel.VALIDATION,
        ),
    ] = None


@options.expand_groups
def validate(
    *,
    selection: options.TaskSelection,
    write_ids: options.WriteIds = False,
    record: RecordOption = False,
    resume: ResumeOption = False,
    report: ReportOption = None,
    strength: StrengthOptions,
    fair_tests: FairnessOptions,
    preparation: options.PreparationOptions,
    validation: options.ValidationOptions,
) -> None:
    """Prove tasks: the oracle resolves each, the no-op agent does not, no test is flaky.

    Also shows how many target tests the control runs cover, which data leaks, with --strength
    which wrong versions of the reference solution pass the hidden tests, and with --fairness which
    right ones do not.

    Example: agentbench validate tasks/ --repeat 3
    """
    from agentbench.report.formatting import TESTS_TO_FIX, controls_text
    from agentbench.validation.quality_page import quality_markdown
    from agentbench.validation.task_validation import (
        all_controls,
        invalid_reasons_text,
        validate_folders,
    )

    options.refuse_report_path(report)
    settings = validation_settings(
        validation, preparation, write_ids=write_ids, record=record, resume=resume
    )
    selected = selection.load(settings.options.cache_dir)
    folders = [task.folder for task in selected]
    stronger = strength.stronger_tests
    is_measured = strength.measure or stronger is not None or strength.min_strength is not None
    scoring = load_offer(Slot.TASK_SCORE, "strength", "--strength") if is_measured else None
    # Before anything runs: a wrong path would be found after all tasks were validated.
    patches = (
        None
        if stronger is None or scoring is None
        else scoring.read_stronger_patches(stronger, [task.id for task in selected])
    )
    proven = validate_folders(folders, settings, follow_validation(validation))
    scores: Mapping[Path, MutationScore] = {}
    if scoring is not None:
        scores = scoring.measure_valid_tasks(
            proven,
            settings.options,
            most=strength.mutants,
            seed=strength.mutant_seed,
            stronger=patches,
            search_seconds=strength.search_seconds,
        )
        if record:
            scoring.store_in_proofs(scores)
    fair: Mapping[Path, Fairness] = {}
    if fair_tests.fairness:
        measuring = load_offer(Slot.TASK_SCORE, "fairness", "--fairness")
        fair = measuring.measure_valid_tasks(
            proven, settings.options, within=fair_tests.within or _WITHIN
        )
        if record:
            measuring.store_in_proofs(fair)
    if report is not None:
        write_atomically(report, "".join(quality_markdown(proven, scores, fair)).encode())
    if validation.as_json:
        rows = [_row(one, scores.get(one.folder), fair.get(one.folder)) for one in proven]
        typer.echo(json.dumps(rows, indent=1))
    else:
        _print(proven, scores, fair)
    weak = False
    if scoring is not None and strength.min_strength is not None:
        weak = scoring.warn_of_weak_tests(proven, scores, round(100 * strength.min_strength, 9))
    good = sum(one.is_valid for one in proven)
    if good < len(proven):
        typer.echo(printable(f"not valid: {invalid_reasons_text(proven)}", limit=1000), err=True)
    if len(proven) > 1 and (shares := controls_text(all_controls(proven))):
        typer.echo(f"{TESTS_TO_FIX}: {shares}", err=True)
    verb = "is" if len(proven) == 1 else "are"
    typer.echo(f"{good} of {counted(len(proven), 'task')} {verb} valid", err=True)
    unproven = [one for one in proven if one.proof is None and not one.is_from_stored_proof]
    for one in unproven:
        for reason in one.reasons:
            message = f"error: {one.folder / 'task.toml'}: {reason}"
            typer.echo(printable(message, limit=500), err=True)
    # A task that cannot be read or run says nothing about its tests, so it is wrong input.
    if unproven:
        raise typer.Exit(ExitCode.INPUT)
    if good < len(proven) or weak:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _row(
    one: "ValidationResult", strength: "MutationScore | None", fairness: "Fairness | None"
) -> dict[str, object]:
    from agentbench.validation import fairness_results, mutation_results

    proof = one.proof
    any_proof = proof or one.stored_proof
    return {
        "id": one.task_id,
        "valid": one.is_valid,
        "reasons": one.reasons,
        "runs": proof.runs if proof else 0,
        "faults": proof.faults if proof else one.reasons,
        "explanation": proof.explanation if proof else (),
        "flaky": proof.flaky if proof else (),
        "flake_rates": dict(proof.flake_rates) if proof else {},
        "fail_to_pass": one.fail_to_pass,
        "controls": dict(one.controls),
        "controlled": any_proof.controlled if any_proof else (),
        "sealed": any_proof.sealed if any_proof else (),
        "unsealed": dict(any_proof.unsealed) if any_proof else {},
        "leaks": [leak.model_dump(mode="json") for leak in one.leaks],
        "weakly_controlled": [weak.model_dump() for weak in any_proof.weakly_controlled]
        if any_proof
        else [],
        "seconds": dict(any_proof.seconds) if any_proof else {},
        "peak_memory_mib": any_proof.peak_memory_mib if any_proof else None,
        "proven_earlier": one.is_from_stored_proof,
        **({"strength": mutation_results.score_json(strength)} if strength is not None else {}),
        **({"fairness": fairness_results.fairness_json(fairness)} if fairness is not None else {}),
    }


def _print(
    proven: "Sequence[ValidationResult]",
    strengths: "Mapping[Path, MutationScore]",
    fair: "Mapping[Path, Fairness]",
) -> None:
    from agentbench.report.formatting import TESTS_TO_FIX, controls_text
    from agentbench.report.text_table import TableColumn, console_of, print_rows, print_text
    from agentbench.validation import fairness_results, mutation_results
    from agentbench.validation.task_validation import result_lines

    console = console_of(sys.stdout)
    width = max(len(one.task_id) for one in proven)
    columns = (TableColumn(), TableColumn(), TableColumn(below=1))
    for one in proven:
        word = "valid" if one.is_valid else "INVALID"
        if one.proof is not None:
            flaky = "flaky" if one.proof.flaky else "not flaky"
            summary = f"{counted(one.proof.runs, 'run')}, {flaky}"
        else:
            summary = "proven earlier" if one.stored_proof is not None else "not run"
        if shares := controls_text(one.controls):
            summary += f", {TESTS_TO_FIX}: {shares}"
        row = (f"{one.task_id:<{width}}", f"{word:<7}", summary)
        print_rows(columns, [row], console)
        for line in result_lines(one):
            print_text(f"  {printable(line, limit=300)}", console, indent=4)
        if one.folder in strengths:
            for line in mutation_results.score_lines(strengths[one.folder]):
                print_text(f"  {printable(line, limit=500)}", console, indent=4)
        if one.folder in fair:
            for line in fairness_results.fairness_lines(fair[one.folder]):
                print_text(f"  {printable(line, limit=500)}", console, indent=4)
