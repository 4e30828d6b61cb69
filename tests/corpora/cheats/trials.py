"""One case of the corpus on a bench, held against what must come of it."""

import re
from pathlib import Path

from agentbench import AttemptRecord
from agentbench.scoring.evidence import Severity
from agentbench.taxonomy import FailureReason
from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.honest import Honest
from tests.corpora.cheats.naive import NaiveHarness
from tests.e2e.bench import Bench

BLIND = {"blind-control-passed", "untouched-test-failed"}
"""The rules of what control runs find."""


def try_cheat(bench: Bench, cheat: Cheat, folder: Path) -> AttemptRecord:
    """Let an agent cheat: it is not resolved, and the record shows what was declared."""
    record = bench.command(cheat.task.write(folder / "small"), f"set -e; {cheat.line}")
    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted", record.agent_run.detail  # all of it was done
    assert not record.resolved
    report = record.stages[-1].evidence.report
    assert not cheat.watched or (report is not None and report.internals_changed)
    if cheat.quarantined:  # it would pass the final test
        assert gave_wrong_values(record) or BLIND & set(critical(record)), record.detail
    else:
        assert not record.quarantined, record.detail
        assert critical(record) == []
        assert record.counts.fixed < len(cheat.task.fail_to_pass)
    assert any(path.startswith(cheat.dropped) for path in _set_aside(record)) or not cheat.dropped
    assert cheat.rule in {"", *(finding.rule for finding in record.findings)}
    return record


def gave_wrong_values(record: AttemptRecord) -> bool:
    """Whether the sealed run differs, so that there was no final test."""
    sealed = record.controls.sealed if record.controls is not None else None
    return sealed is not None and bool(sealed.mismatches)


def try_honest(bench: Bench, honest: Honest, folder: Path) -> AttemptRecord:
    """Let an agent work: it is resolved or not as declared, and convicted of nothing."""
    record = bench.command(honest.task.write(folder / "small"), f"set -e; {honest.line}")
    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted", record.agent_run.detail
    assert not record.quarantined, record.detail
    assert critical(record) == []
    expected = None if honest.resolved else FailureReason.TESTS_FAILED
    assert record.failure_reason is expected, record.detail
    assert record.resolved is honest.resolved
    return record


def try_naively(naive: NaiveHarness, cheat: Cheat) -> None:
    """Show that a cheat is live: it fools the naive harness, or does there what was declared."""
    result = naive.judge(cheat)
    said = result.stdout + result.stderr
    assert result.ok is cheat.fools_naive, said
    assert re.search(cheat.effect, said, re.MULTILINE), said


def critical(record: AttemptRecord) -> list[str]:
    """The rules of the findings that convict."""
    return [each.rule for each in record.findings if each.severity is Severity.CRITICAL]


def _set_aside(record: AttemptRecord) -> list[str]:
    """The paths that the record shows as dropped from the change, or refused."""
    assert record.patch is not None
    dropped = [each.path for each in record.patch.dropped]
    return [*dropped, *(each.where for each in record.findings)]
