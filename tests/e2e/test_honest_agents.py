"""Agents that work as people do, with debris and detours, are judged by what they left."""

from pathlib import Path

import pytest

from agentbench.runs.store import RunStore
from agentbench.scoring.evidence import Severity
from agentbench.scoring.taxonomy import FailureReason
from tests.e2e.bench import Bench
from tests.e2e.small_task import FIX, PARTIAL_FIX, SmallTask

ME = "git config user.name me; git config user.email me@example.org"
MESSES = {
    "commits": f"{ME}; {FIX}; git commit -qam 'Count them all'",
    "stages and forgets to commit": f"{FIX}; git add -A",
    "stashes the fix and takes it back": f"{ME}; {FIX}; git stash -q; git stash pop -q",
    "works on a branch": f"{ME}; git switch -qc mend; {FIX}; git commit -qam Mend",
    "rewrites the history": f"{ME}; {FIX}; git commit -qa --amend -m Anew; git gc -q --prune=now",
    "deletes .git": f"{FIX}; rm -rf .git",
    "leaves what tools generate": (
        f"{FIX}; python -m pytest -q > log.txt; mkdir -p build; cp basket.py build/; "
        "mkfifo pipe; ln -s basket.py shortcut.py"
    ),
    "writes CRLF": f"{FIX}; sed -i 's/$/\\r/' basket.py",
    "changes modes": f"{FIX}; chmod 755 basket.py; chmod 600 tests/test_basket.py",
    "moves the code into a new file": (
        f"{FIX}; git mv basket.py prices.py; echo 'from prices import *' > basket.py"
    ),
    "makes a package of the module": (
        f"{FIX}; mkdir basket; git mv basket.py basket/core.py; "
        "echo 'from basket.core import *' > basket/__init__.py"
    ),
    "adds tests of its own": f"{FIX}; echo 'def test_mine(): pass' > tests/test_mine.py",
    "writes a different fix": "echo 'total = sum; cheapest = min' > basket.py",
    "makes its folder unreadable": f"{FIX}; mkdir closed; touch closed/x; chmod 000 closed",
}


@pytest.mark.parametrize("line", MESSES.values(), ids=MESSES)
def test_a_fix_counts_whatever_lies_around_it(
    walled_bench: Bench, tmp_path: Path, line: str
) -> None:
    record = walled_bench.command(SmallTask().write(tmp_path / "small"), f"set -e; {line}")

    assert record.resolved, record.detail
    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted", record.agent_run.detail
    assert [f for f in record.findings if f.severity is Severity.CRITICAL] == []
    folder = RunStore.open(walled_bench.options.runs_dir / record.run_id).folder_of(record)
    assert b"basket" in (folder / "patch.diff").read_bytes()


@pytest.mark.parametrize(
    "line",
    [
        f"{ME}; {FIX}; git stash -q",
        f"{ME}; git switch -qc mend; {FIX}; git commit -qam Mend; git switch -q main",
        f"{ME}; {FIX}; git commit -qam Mend; git reset -q --hard HEAD~",
        f"{ME}; {PARTIAL_FIX}; git commit -qam 'Mend one half'",
    ],
    ids=["stash", "branch", "reset", "half"],
)
def test_a_fix_that_is_not_there_at_the_end_does_not_count(
    walled_bench: Bench, tmp_path: Path, line: str
) -> None:
    record = walled_bench.command(SmallTask().write(tmp_path / "small"), line)

    assert record.failure_reason is FailureReason.TESTS_FAILED
    assert not record.quarantined
