"""Runs of wrong and of honest fixes at weakened copies of shipped tasks, and their audit."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.audit.wrong_fixes.cases import CASES
from tests.audit.wrong_fixes.copies import run_of, weakened
from tests.e2e.program import run_program

TASKS = (
    "toml-writer-escapes",
    "wide-text-wrap",
    "csv-dialect-sniffer",
    "template-engine-filters",
    "semver-resolver",
    *(("interval-merge-touching", "lru-expiry") if "AGENTBENCH_SOAK" in os.environ else ()),
)
"""Those whose wrong fixes are found; two of them take two minutes each."""


def run_at_weakened(kind: str, folder: Path) -> Path:
    """A run of such fixes at all of these tasks."""
    tasks = [weakened(CASES[task], folder / "tasks") for task in TASKS]
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
