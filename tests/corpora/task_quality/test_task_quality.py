"""The labels of the corpus, proven by attempts, and what the audit says of each task."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.audit.audit import audit_task
from agentbench.audit.task_facts import read_task_facts
from agentbench.scoring.evidence import Severity
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.taxonomy import FailureReason
from tests.corpora.task_quality.case import QualityCase, UnfairKind
from tests.corpora.task_quality.corpus import CASES, in_the_gate, table
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak

_TOO_WIDE = [case for case in CASES if case.is_too_wide]
_RULES = {"unstated-name", "unstated-message", "unstated-change"}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(case: QualityCase, **how: bool) -> Path:
        return case.write(tmp_path / case.name, **how)

    return write


@pytest.mark.parametrize("case", gate_and_soak(in_the_gate(), CASES))
def test_other_right_fix_is_resolved_by_fair_tests_alone(
    walled_bench: Bench, write: Write, case: QualityCase
) -> None:
    record = walled_bench.command(write(case), case.command(case.right))
    expected = FailureReason.TESTS_FAILED if case.is_unfair else None
    assert record.failure_reason is expected, record.detail
    assert not record.quarantined
    assert record.counts.regressed == 0


@pytest.mark.parametrize("case", gate_and_soak(in_the_gate(), _TOO_WIDE))
def test_wrong_fix_is_resolved_by_tests_that_are_too_wide(
    walled_bench: Bench, write: Write, case: QualityCase
) -> None:
    record = walled_bench.command(write(case), case.command(case.wrong))
    assert record.resolved, record.detail


@pytest.mark.parametrize("case", gate_and_soak(in_the_gate(), _TOO_WIDE))
def test_wrong_fix_fails_stronger_tests(
    walled_bench: Bench, write: Write, case: QualityCase
) -> None:
    folder = write(case, stronger=True)
    record = walled_bench.command(folder, case.command(case.wrong))
    assert record.failure_reason is FailureReason.TESTS_FAILED, record.detail
    assert walled_bench.attempt(folder, "oracle").resolved


@pytest.mark.parametrize("case", gate_and_soak(in_the_gate(), CASES))
def test_audit_names_what_the_tests_need_and_nothing_gives(
    write: Write, tmp_path: Path, case: QualityCase
) -> None:
    mirrors = Mirrors(tmp_path / "mirrors")
    audited = audit_task(read_task_facts(load_task(write(case), mirrors=mirrors), mirrors))
    found = [
        each.what
        for each in audited.findings
        if each.rule in _RULES and each.severity is not Severity.INFO
    ]
    assert len(found) == bool(case.unstated), found
    assert all(case.unstated in what for what in found), found


def test_each_kind_has_several_tasks_and_as_many_are_fair() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    narrow = Counter(case.kind for case in CASES if not case.is_too_wide)
    both = Counter(case.kind for case in _TOO_WIDE)
    assert all(narrow[kind] >= 4 and both[kind] >= 2 for kind in UnfairKind)
    assert narrow[None] >= sum(narrow[kind] for kind in UnfairKind)
    assert both.total() >= 10
    assert None not in both


def test_the_table_has_all_tasks() -> None:
    page = Path(__file__).parents[3] / "docs" / "task-quality.md"
    assert table() in page.read_text()
