"""Runs of wrong and of honest fixes at weakened copies of shipped tasks, and their audit."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.audit.wrong_fixes.cases import CASES
from tests.audit.wrong_fixes.copies import run_of, weakened
from tests.e2e.program import run_program
from tests.tiers import Tier

_IN_THE_GATE = ("csv-dialect-sniffer",)
_TASKS = (
    *_IN_THE_GATE,
    "semver-resolver",
    "toml-writer-escapes",
    "wide-text-wrap",
    "template-engine-filters",
    "interval-merge-touching",
    "lru-expiry",
)
"""Those whose wrong fixes are found; the last two take two minutes each."""

of_each_task = pytest.mark.parametrize(
    "task",
    [pytest.param(name, marks=() if name in _IN_THE_GATE else pytest.mark.soak) for name in _TASKS],
)


def run_at_weakened(kind: str, folder: Path, tier: Tier) -> Path:
    """A run of such fixes at all tasks that a tier audits."""
    names = _TASKS if tier is Tier.SOAK else _IN_THE_GATE
    tasks = [weakened(CASES[name], folder / "tasks") for name in names]
    return run_of(kind, tasks, folder / "made")


def findings(
    run: Path, task: str, seconds: int, *, env: Mapping[str, str], cwd: Path
) -> list[dict[str, Any]]:
    """What the audit finds about the attempt at a task."""
    said = run_program(
        *("audit", run, "--wrong-fixes", "--seconds", str(seconds), "--filter", task, "--json"),
        env=env,
        cwd=cwd,
    )
    assert said.returncode == 0, said.stderr
    _, attempt = json.loads(said.stdout)["audited"]
    assert attempt["note"] == "resolved"
    return [one for one in attempt["findings"] if one["rule"] != "no-controls"]
