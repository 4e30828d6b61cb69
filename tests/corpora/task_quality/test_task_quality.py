"""The labels of the corpus, proven by attempts, and what the tools say of each task."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agentbench.audit.audit import audit_task
from agentbench.audit.task_facts import read_task_facts
from agentbench.scoring.evidence import Severity
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.taxonomy import FailureReason
from tests.corpora.task_quality.case import QualityCase
from tests.corpora.task_quality.corpus import CASES, in_the_gate
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak

_TOO_WIDE = [case for case in CASES if case.is_too_wide]
_RULES = {"unstated-name", "unstated-message"}
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
    folder = write(case)
    assert walled_bench.attempt(folder, "oracle").resolved
    assert walled_bench.attempt(folder, "noop").failure_reason is FailureReason.TESTS_FAILED
    record = walled_bench.command(folder, case.command(case.right))
    expected = FailureReason.TESTS_FAILED if case.is_unfair else None
    assert record.failure_reason is expected, record.detail
    assert not record.quarantined


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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_audit_names_what_the_tests_need_and_nothing_gives(
    write: Write, tmp_path: Path, case: QualityCase
) -> None:
    mirrors = Mirrors(tmp_path / "mirrors")
    audited = audit_task(read_task_facts(load_task(write(case), mirrors=mirrors), mirrors))
    found = [each for each in audited.findings if each.rule in _RULES]
    needed = {each.rule for each in found if each.severity is not Severity.INFO}
    assert needed == case.rules, found
