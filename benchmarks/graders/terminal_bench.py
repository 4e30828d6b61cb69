"""Terminal-Bench 0.2, which reads the tests' results from the terminal."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import docker

from benchmarks.graders.task_tests import write_tests
from benchmarks.graders.trial import Outcome, Trial

_FORM = Path(__file__).with_name("terminal_bench_task")
_AGENT_SECONDS = 50
_TRIAL_SECONDS = 90  # so much is enough on average, with two limits of 60


class TerminalBenchGrader:
    """Terminal-Bench with its agent `oracle`."""

    name = "Terminal-Bench"
    requirement = "terminal-bench==0.2.18"
    python = "3.12"
    method = (
        "`tb run` runs the script as its agent `oracle` in a terminal of a container, and then in "
        "another terminal of the same container `run-tests.sh`, which copies the tests over the "
        "repository and runs pytest; resolved is its `is_resolved`: that its parser `pytest` finds "
        "a summary on the terminal, and no failed test in it."
    )

    def judge(
        self, trials: Sequence[Trial], programs: Path, place: Path, jobs: int
    ) -> Mapping[str, Outcome]:
        """Judge all trials in one run; each is a task of its own, as each has a script."""
        for trial in trials:
            _write_task(trial, place / "tasks" / trial.name)
        run = f"run-{uuid4().hex[:8]}"  # it is in the containers' names
        argv = [
            str(programs / "tb"), "run", "--dataset-path", str(place / "tasks"), "--agent",
            "oracle", "--n-concurrent", str(jobs), "--output-path", str(place), "--run-id", run,
            # There is nothing to build, and the clean-up would remove the image of other trials.
            "--no-rebuild", "--no-cleanup",
        ]  # fmt: skip
        log = place / "tb.log"
        try:
            with log.open("wb") as output:
                subprocess.run(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
                    check=False,
                    timeout=_TRIAL_SECONDS * (len(trials) / jobs + 2),
                )
        except subprocess.TimeoutExpired:
            pass  # the results of the trials that ended are written
        finally:
            _remove_containers(run)  # it leaves that of a trial with an error
        results = place / run / "results.json"
        if not results.exists():
            raise RuntimeError(log.read_text(errors="replace").strip()[-2000:])
        found = {each["task_id"]: each for each in json.loads(results.read_text())["results"]}
        folders = {trial.name: place / run / trial.name for trial in trials}
        return {
            name: _outcome(found.get(name), folder if folder.exists() else log)
            for name, folder in folders.items()
        }


def _remove_containers(run: str) -> None:
    engine = docker.from_env()
    for container in engine.containers.list(all=True, filters={"name": run}):
        container.remove(force=True)
    for network in engine.networks.list(names=[run]):
        network.remove()


def _write_task(trial: Trial, form: Path) -> None:
    write_tests(trial.task, form / "tests" / "files")
    for template in _FORM.iterdir():
        text = template.read_text().replace("THE_IMAGE", trial.task.image)
        (form / template.name).write_text(
            text.replace("THE_TESTS", " ".join(trial.task.test_files))
        )
    # The oracle runs it with bash, and trials are scripts for sh. Terminal-Bench's own limit does
    # not end an oracle that waits for a command: asyncio waits for its thread.
    limit = f"timeout {_AGENT_SECONDS} sh -ec {shlex.quote(trial.script)}"
    (form / "solution.sh").write_text(f"#!/bin/bash\nexec {limit}\n")


def _outcome(result: Mapping[str, Any] | None, evidence: Path) -> Outcome:
    for recordings in evidence.glob("*/sessions"):
        shutil.rmtree(recordings)  # what they show, the panes show
    if result is None:
        return Outcome(resolved=None, detail="the trial did not end", evidence=evidence)
    fields = ("is_resolved", "failure_mode", "parser_results")
    detail = ", ".join(f"{field} {result[field]}" for field in fields)
    return Outcome(resolved=result["is_resolved"], detail=detail, evidence=evidence)


GRADER = TerminalBenchGrader()
