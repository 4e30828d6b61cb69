"""What `agentbench report --format swebench` writes."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from agentbench.errors import UsageError

if TYPE_CHECKING:
    from agentbench.report.reported_run import ReportedRun
    from agentbench.report.swebench import ReportedInstance

_FILE = "report.json"
_PLAIN = re.compile(r"[A-Za-z0-9][\w.-]*")


def write_swebench(runs: "Sequence[ReportedRun]", target: TextIO) -> None:
    """Write the report of a run as SWE-bench's own tool does.

    Raises:
        UsageError: there are several runs.
        InputError: a record of the run is damaged.
    """
    from agentbench.report.swebench import run_report

    report = run_report(_instances(runs)).model_dump(mode="json")
    target.write(f"{json.dumps(report, indent=4)}\n")


def write_instances(runs: "Sequence[ReportedRun]", folder: Path) -> None:
    """Write a report for each instance that was judged, each in a folder of its own.

    Raises:
        UsageError: there are several runs, or the folder cannot be written.
        InputError: a record of the run is damaged.
    """
    from agentbench.report.swebench import instance_report

    for instance in _instances(runs):
        report = instance_report(instance)
        if report is None:
            continue
        document = {instance.instance_id: report.model_dump(mode="json", by_alias=True)}
        is_plain = _PLAIN.fullmatch(instance.instance_id) is not None
        place = folder / (instance.instance_id if is_plain else instance.task_id)
        try:
            place.mkdir(parents=True, exist_ok=True)
            (place / _FILE).write_text(f"{json.dumps(document, indent=4)}\n", "utf-8")
        except OSError as error:
            raise UsageError(f"{place}: cannot be written ({error.strerror})") from error


def _instances(runs: "Sequence[ReportedRun]") -> "tuple[ReportedInstance, ...]":
    from agentbench.report.swebench_run import reported_instances

    if len(runs) > 1:
        raise UsageError(f"--format swebench: expected one run, found {len(runs)}; report each")
    if any(attempt.attempt > 1 for attempt in runs[0].attempts):
        typer.echo("warning: SWE-bench knows one attempt per instance; the first counts", err=True)
    return reported_instances(runs[0])
