"""Reasons that the final test gives."""

from pathlib import Path

import pytest

from agentbench.scoring.evidence import CaseOutcome
from agentbench.taxonomy import FailureReason, Fault
from tests.e2e.back_ends import one_back_end
from tests.e2e.bench import Bench
from tests.e2e.small_task import FIX, PARTIAL_FIX, SERIAL, SmallTask


def test_the_fix_resolves_the_task(bench: Bench, tmp_path: Path) -> None:
    record = bench.command(SmallTask().write(tmp_path / "small"), FIX)

    assert record.resolved
    assert record.failure_reason is None
    assert record.fault is None
    assert record.counts.fixed == 2


@one_back_end
def test_doing_nothing_ends_in_failed_tests(bench: Bench, tmp_path: Path) -> None:
    record = bench.attempt(SmallTask().write(tmp_path / "small"), "noop")

    assert record.failure_reason is FailureReason.TESTS_FAILED
    assert record.fault is Fault.AGENT
    assert "2 of 4 tests failed" in record.detail
    assert record.counts.still_failing == 2


@one_back_end
def test_a_partial_fix_ends_in_failed_tests(bench: Bench, tmp_path: Path) -> None:
    record = bench.command(SmallTask().write(tmp_path / "small"), PARTIAL_FIX)

    assert record.failure_reason is FailureReason.TESTS_FAILED
    assert record.fault is Fault.AGENT
    assert "1 of 4 tests failed" in record.detail
    assert [test.final for test in record.tests[:2]] == [CaseOutcome.FAILED, CaseOutcome.PASSED]


@one_back_end
def test_tests_that_hang_by_the_change_end_in_a_timeout(bench: Bench, tmp_path: Path) -> None:
    record, seconds = bench.hanging(SmallTask(), _total_that("while True: pass"), tmp_path)

    assert record.failure_reason is FailureReason.TIMEOUT
    assert record.fault is Fault.AGENT
    assert f"still running after {seconds} s" in record.detail


@one_back_end
def test_a_program_without_its_tests_ends_in_no_tests(bench: Bench, tmp_path: Path) -> None:
    documented = (
        "def total(prices):\n"
        '    """All of them.\n\n    >>> total([1, 2])\n    3\n    """\n'
        "    return sum(prices[1:])\n"
    )
    task = SmallTask(
        files={"basket.py": documented, "serial.txt": SERIAL},
        hidden="",
        paths=(),
        fail_to_pass=(),
        tests='command = "python -m pytest --doctest-modules"',
    ).write(tmp_path / "documented")

    record = bench.command(task, "echo 'total = sum' > basket.py")

    assert record.failure_reason is FailureReason.NO_TESTS_COLLECTED
    assert record.fault is Fault.AGENT
    assert "no tests were collected" in record.detail


@one_back_end
def test_a_module_that_does_not_import_ends_in_an_internal_error(
    bench: Bench, tmp_path: Path
) -> None:
    task = SmallTask().write(tmp_path / "small")

    record = bench.command(task, f"{FIX}; echo 'import there_is_no_such_module' >> basket.py")

    assert record.failure_reason is FailureReason.INTERNAL_ERROR
    assert record.fault is Fault.AGENT
    assert record.detail.startswith(
        "Tests could not be collected: ModuleNotFoundError in basket.py, line "
    )


@one_back_end
@pytest.mark.parametrize("where", ["at its import", "in a test"])
@pytest.mark.parametrize(
    ("change", "reason", "detail"),
    [
        ("import os; os._exit(0)", FailureReason.INTERNAL_ERROR, "exit code 0 without a whole"),
        ("raise KeyboardInterrupt", FailureReason.INTERRUPTED, "interrupted from within"),
        ("import ctypes; ctypes.string_at(0)", FailureReason.UNKNOWN, "killed by signal 11"),
    ],
)
def test_a_change_that_ends_the_run_is_the_agents_fault(
    bench: Bench, tmp_path: Path, change: str, reason: FailureReason, detail: str, where: str
) -> None:  # fmt: skip
    task = SmallTask().write(tmp_path / "small")
    line = _total_that(change) if where == "in a test" else f"{FIX}; echo '{change}' >> basket.py"

    record = bench.command(task, line)

    assert record.failure_reason is reason
    assert record.fault is Fault.AGENT
    assert detail in record.detail


def _total_that(body: str) -> str:
    return f"printf 'def cheapest(p): return min(p)\\ndef total(p):\\n    {body}\\n' > basket.py"
