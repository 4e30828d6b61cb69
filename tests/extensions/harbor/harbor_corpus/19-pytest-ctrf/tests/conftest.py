"""Writes a CTRF report and the part of the tests that passed."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, "/app")
RESULTS: list[dict[str, object]] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        duration = round(report.duration * 1000)
        RESULTS.append({"name": report.nodeid, "status": report.outcome, "duration": duration})


def pytest_sessionfinish() -> None:
    passed = sum(result["status"] == "passed" for result in RESULTS)
    summary = {"tests": len(RESULTS), "passed": passed, "failed": len(RESULTS) - passed}
    results = {"tool": {"name": "pytest"}, "summary": summary, "tests": RESULTS}
    logs = Path("/logs/verifier")
    (logs / "ctrf.json").write_text(json.dumps({"results": results}))
    (logs / "reward.txt").write_text(str(passed / 4))
