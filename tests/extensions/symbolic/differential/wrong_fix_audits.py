"""Runs of wrong and of honest fixes at weakened copies of shipped tasks, and their audit."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import run_program
from tests.extensions.symbolic.differential.cases import CASES
from tests.extensions.symbolic.differential.copies import run_of, weakened

_TASKS = (
    "csv-dialect-sniffer",
    "semver-resolver",
    "toml-writer-escapes",
    "wide-text-wrap",
    "template-engine-filters",
    "interval-merge-touching",
    "lru-expiry",
)
"""Those whose wrong fixes are found; the last two take two minutes each."""

of_each_task = pytest.mark.parametrize("task", _TASKS)


def run_at_weakened(kind: str, folder: Path) -> Path:
    """A run of such fixes at all these tasks."""
    tasks = [weakened(CASES[name], folder / "tasks") for name in _TASKS]
    return run_of(kind, tasks, folder / "made")


def findings(
    run: Path, task: str, seconds: int, *, env: Mapping[str, str], cwd: Path
) -> list[dict[str, Any]]:
    """What the audit finds about the attempt at a task."""
    result = run_program(
        *("audit", run, "--wrong-fixes", "--seconds", str(seconds), "--filter", task, "--json"),
        env=env,
        cwd=cwd,
    )
    assert result.returncode == 0, result.stderr
    _, attempt = json.loads(result.stdout)["audited"]
    assert attempt["note"] == "resolved"
    return [one for one in attempt["findings"] if one["rule"] != "no-controls"]
