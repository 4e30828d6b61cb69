"""agentbench itself, by its command: a column for each sandbox and each level of controls."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.graders.trial import Outcome, Trial, longest_seconds

_AGENT_LIMIT = "60s"
_INFRASTRUCTURE = {"task", "infrastructure"}  # faults with which an attempt is not judged


class Agentbench:
    """One run with a task for each trial, which share what is prepared."""

    requirement = ""
    python = "3.11"

    def __init__(self, sandbox: str, controls: str) -> None:
        self.name = f"agentbench, {sandbox}, controls {controls}"
        self.method = (
            f"`agentbench run --sandbox {sandbox} --integrity-controls {controls}` with `command` "
            "as its agent. `resolved` in the attempt's record makes it resolved."
        )
        self.controls = controls
        self._options = ["--sandbox", sandbox, "--integrity-controls", controls]

    def judge(
        self, trials: Sequence[Trial], _programs: Path, place: Path, jobs: int
    ) -> Mapping[str, Outcome]:
        for trial in trials:
            folder = shutil.copytree(trial.task.folder, place / "tasks" / trial.name)
            # A run has one agent for all tasks, so each task's instruction tells what it does.
            (folder / "instruction.md").write_text(trial.script)
        argv = [
            sys.executable, "-m", "agentbench", "run", str(place / "tasks"), "--agent-command",
            'sh -e "$AGENTBENCH_INSTRUCTION"', *self._options, "--agent-timeout", _AGENT_LIMIT,
            "--jobs", str(jobs), "--runs-dir", str(place), "--run-id", "run", "--quiet",
        ]  # fmt: skip
        limit = longest_seconds(trials)
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=limit)
        attempts = place / "run" / "attempts.jsonl"
        if not attempts.exists():
            raise RuntimeError(f"no records: {done.stderr[-500:]}")
        records = map(json.loads, attempts.read_text().splitlines())
        return {record["task_id"]: _outcome(record, place / "run") for record in records}


def _outcome(record: Mapping[str, object], run: Path) -> Outcome:
    evidence = run / "attempts" / str(record["task_id"]) / str(record["attempt"])
    if record["resolved"]:
        return Outcome(resolved=True, detail="resolved", evidence=evidence)
    judged = record["fault"] not in _INFRASTRUCTURE
    detail = f"{record['failure_reason']}: {record['detail']}"
    return Outcome(resolved=False if judged else None, detail=detail, evidence=evidence)
