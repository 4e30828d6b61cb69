"""`agentbench report --format swebench`, with `--instances`, and `--format predictions`."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import typer

from agentbench.cli.run_execution import print_warnings
from agentbench.errors import UsageError
from agentbench.extensions.swebench.predictions import predictions_of
from agentbench.extensions.swebench.report import (
    ReportedInstance,
    instance_report,
    reported_instances,
    run_report,
)
from agentbench.report.reported_run import ReportedRun

_INSTANCE_FILE = "report.json"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


def write_report(runs: Sequence[ReportedRun], target: TextIO) -> None:
    """Write the report that SWE-bench's own tool writes of a run.

    Raises:
        UsageError: there are several runs.
        InputError: a record of the run is damaged.
    """
    document = run_report(_instances_of(runs, "swebench")).model_dump(mode="json")
    target.write(f"{json.dumps(document, indent=4)}\n")


def write_predictions(runs: Sequence[ReportedRun], target: TextIO) -> None:
    """Write the patches of a run as SWE-bench reads them, one per line.

    Raises:
        UsageError: there are several runs.
        InputError: a record of the run is damaged.
    """
    instances = _instances_of(runs, "predictions")
    found = predictions_of(runs[0].folder, instances, warn=lambda line: print_warnings([line]))
    target.writelines(f"{prediction.model_dump_json()}\n" for prediction in found)


def write_instances(runs: Sequence[ReportedRun], folder: Path) -> None:
    """Write a report for each instance that was judged, each in a folder of its own.

    Raises:
        UsageError: there are several runs, or the folder cannot be written.
        InputError: a record of the run is damaged.
    """
    for instance in _instances_of(runs, "swebench"):
        report = instance_report(instance)
        if report is None:
            continue
        document = {instance.instance_id: report.model_dump(mode="json", by_alias=True)}
        # A data set chooses its instance ids, so one may be a path out of the folder.
        is_plain = _PLAIN_NAME.fullmatch(instance.instance_id) is not None
        path = folder / (instance.instance_id if is_plain else instance.task_id)
        try:
            path.mkdir(parents=True, exist_ok=True)
            (path / _INSTANCE_FILE).write_text(f"{json.dumps(document, indent=4)}\n", "utf-8")
        except OSError as error:
            raise UsageError(f"{path}: cannot be written ({error.strerror})") from error


def _instances_of(runs: Sequence[ReportedRun], format_name: str) -> tuple[ReportedInstance, ...]:
    if len(runs) > 1:
        raise UsageError(
            f"--format {format_name}: expected one run, found {len(runs)}; report each"
        )
    if any(attempt.attempt > 1 for attempt in runs[0].attempts):
        typer.echo("warning: SWE-bench knows one attempt per instance; the first counts", err=True)
    return reported_instances(runs[0])
