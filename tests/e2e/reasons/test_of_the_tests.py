from pathlib import Path

import pytest

from agentbench.scoring.evidence import CaseOutcome
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.back_ends import one_back_end
from tests.e2e.bench import Bench
from tests.e2e.small_task import FIX, PARTIAL_FIX, SmallTask


def test_the_fix_resolves_the_task(bench: Bench, tmp_path: Path) -> None:
    record = bench.command(SmallTask().write(tmp_path / "small"), FIX)

    assert record.resolved
    assert record.failure_reason is None
    assert record.fault is None
    assert record.counts.fixed == 2


@one_back_end
def test_a_partial_fix_ends_in_failed_tests(bench: Bench, tmp_path: Path) -> None:
    record = bench.command(SmallTask().write(tmp_path / "small"), PARTIAL_FIX)

    assert record.failure_reason is FailureReason.TESTS_FAILED
    assert record.fault is Fault.AGENT
    assert "1 of 4 tests failed" in record.detail
    assert [test.final for test in record.tests[:2]] == [CaseOutcome.FAILED, CaseOutcome.PASSED]


@one_back_end
@pytest.mark.parametrize(
    ("change", "reason", "detail"),
    [
        ("import os; os._exit(0)", FailureReason.INTERNAL_ERROR, "exit code 0 without a whole"),
        ("raise KeyboardInterrupt", FailureReason.INTERRUPTED, "interrupted from within"),
        ("import ctypes; ctypes.string_at(0)", FailureReason.UNKNOWN, "killed by signal 11"),
    ],
)
def test_a_change_that_ends_the_run_in_a_test_is_the_agents_fault(
    bench: Bench, tmp_path: Path, change: str, reason: FailureReason, detail: str
) -> None:
    total = f"def cheapest(p): return min(p)\\ndef total(p):\\n    {change}\\n"

    record = bench.command(SmallTask().write(tmp_path / "small"), f"printf '{total}' > basket.py")

    assert record.failure_reason is reason
    assert record.fault is Fault.AGENT
    assert detail in record.detail
