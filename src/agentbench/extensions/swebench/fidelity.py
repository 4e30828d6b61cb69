"""The report of an import: the result for each instance, and its differences from upstream."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agentbench.core.display_text import counted, one_line
from agentbench.extensions.swebench.batches import ImportedInstances
from agentbench.report.text_reports import code, escaped, head, row
from agentbench.report.unfair_tasks import TaskQualities
from agentbench.tasks.loading import TASK_FILE
from agentbench.validation.task_quality import quality_in_proof

_MAX_TEXT = 400  # characters of a cell
_DETAILS = re.compile(r" \(|; ")
_NAMES = re.compile(r"'[^']*'|\S*[\d/]\S*")
_MAX_KINDS = 20  # of reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceReport:
    """The result for one instance."""

    instance: str
    outcome: str  # "valid", "invalid", "refused" or "not run"
    reason: str = ""
    environment: str = ""
    differences: tuple[str, ...] = ()  # to the data set's lists of tests
    flaky: tuple[str, ...] = ()  # quarantined tests, with the share of runs with another result
    seconds: float | None = None  # of all stages


def instance_reports(results: ImportedInstances) -> list[InstanceReport]:
    """The result for each instance so far, in the order of their ids."""
    reports = {
        (each.where, each.instance): InstanceReport(
            instance=each.instance or each.where,
            outcome="refused",
            reason=f"{each.field}: {each.what}" if each.field else each.what,
        )
        for each in results.rejections
    }
    for folder, state in results.states.items():
        proven = results.proven.get(folder)
        outcome = "not run"
        if proven is not None and not proven.undecided:
            outcome = "valid" if proven.is_valid else "invalid"
        known = None if proven is None else proven.proof or proven.stored_proof
        table = tomllib.loads((folder / TASK_FILE).read_text("utf-8"))
        quarantined = table.get("tests", {}).get("quarantined", ())
        environment = state.environment
        if state.replaces:
            environment += f", instead of Python {state.replaces}"
        reports[str(folder), ""] = InstanceReport(
            instance=state.instance_id,
            outcome=outcome,
            reason="; ".join(proven.reasons) if proven is not None else "",
            environment=environment,
            differences=tuple(
                each.removeprefix(f"{state.instance_id}: ") for each in state.differences
            ),
            flaky=tuple(f"{each['id']} ({each['rate']:.0%})" for each in quarantined),
            seconds=None if known is None else sum(known.seconds.values()),
        )
    return sorted(reports.values(), key=lambda each: each.instance)


def fidelity_markdown(results: ImportedInstances, seconds: float) -> str:
    """The report as Markdown."""
    reports = instance_reports(results)
    missing = max(0, results.total - results.seen)
    counts = Counter(each.outcome for each in reports)
    text = ", ".join(f"{number} {outcome}" for outcome, number in counts.most_common())
    lines = [
        "# Import of SWE-bench instances",
        "",
        f"{counted(results.total, 'instance')}: {text or 'none imported'}"
        + (f", {missing} not reached: the import was interrupted" if missing else "")
        + f". The import ran for {seconds:.0f} s.",
        "",
        f"{_qualities(results).counts_text().capitalize()}. `agentbench validate --fairness "
        "--strength --record` measures both.",
        "",
        *_reasons(reports),
        *_table(
            "Tests that differ from the data set's lists",
            ("instance", "difference"),
            ((code(r.instance), escaped(line)) for r in reports for line in r.differences),
        ),
        *_table(
            "Flaky tests",
            ("instance", "quarantined test and the share of runs with another result"),
            ((code(r.instance), code(line)) for r in reports for line in r.flaky),
        ),
        *_table(
            "Instances",
            ("instance", "outcome", "environment", "seconds", "reason"),
            (
                (
                    code(each.instance),
                    each.outcome,
                    escaped(each.environment),
                    "" if each.seconds is None else f"{each.seconds:.0f}",
                    escaped(one_line(each.reason, limit=_MAX_TEXT)),
                )
                for each in reports
            ),
        ),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _qualities(results: ImportedInstances) -> TaskQualities:
    return TaskQualities(
        by_task={one.task_id: quality_in_proof(one.stored_proof) for one in results.proven.values()}
    )


def _reasons(reports: Iterable[InstanceReport]) -> Iterator[str]:
    """The reasons of refused and invalid instances, grouped without names and numbers."""
    groups: Counter[tuple[str, str]] = Counter()
    for each in reports:
        if each.reason:
            # Without its details, and with an ellipsis for each name and number.
            first = _DETAILS.split(one_line(each.reason, limit=_MAX_TEXT), maxsplit=1)[0]
            groups[each.outcome, _NAMES.sub("…", first)] += 1
    rows = [
        (outcome, str(number), escaped(kind))
        for (outcome, kind), number in groups.most_common(_MAX_KINDS)
    ]
    yield from _table("Reasons", ("outcome", "instances", "reason"), rows)


def _table(title: str, names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    lines = [row(cells) for cells in rows]
    if lines:
        yield from (f"## {title}", "", *head(names).rstrip("\n").split("\n"))
        yield from (line.rstrip("\n") for line in lines)
        yield ""
