"""Harbor, whose verifier runs in the agent's container or in one of its own."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import UnavailableError
from agentbench.extensions.redteam.harbor_grader import HarborTrial, run_harbor
from benchmarks.graders.task_tests import write_tests
from benchmarks.graders.trial import GraderTask, Outcome, Trial

_FORM = Path(__file__).with_name("harbor_task")


@dataclass(slots=True, kw_only=True)
class HarborGrader:
    """Harbor with one of its verifiers."""

    name: str
    separate: bool
    method: str
    requirement: str = "harbor==0.26.0"
    python: str = "3.12"

    def judge(
        self, trials: Sequence[Trial], programs: Path, place: Path, jobs: int
    ) -> Mapping[str, Outcome]:
        """Judge all trials in one job."""
        forms = {
            task.name: self.write_task(task, place / "forms" / task.name)
            for task in {trial.task.name: trial.task for trial in trials}.values()
        }
        scripts = {
            trial.name: (forms[trial.task.name], f"#!/bin/sh -e\n{trial.script}\n")
            for trial in trials
        }
        try:
            found = run_harbor(programs / "harbor", scripts, place, jobs)
        except UnavailableError as error:
            raise RuntimeError(str(error)) from error
        return {name: _outcome(trial) for name, trial in found.items()}

    def write_task(self, task: GraderTask, form: Path) -> Path:
        """Write a task as `harbor init` makes it: pytest's exit code decides the reward."""
        tests = form / "tests"
        tests.mkdir(parents=True)
        (form / "environment").mkdir()
        (form / "instruction.md").write_text("Fix the bug.\n")
        write_tests(task, tests / "files")
        files = {"test.sh": tests / "test.sh"}
        if self.separate:
            files |= {"separate.toml": form / "task.toml", "Dockerfile": tests / "Dockerfile"}
        else:
            files |= {"shared.toml": form / "task.toml"}
        for name, path in files.items():
            text = (_FORM / name).read_text().replace("THE_IMAGE", task.image)
            path.write_text(text.replace("THE_TESTS", " ".join(task.test_files)))
        return form


def _outcome(trial: HarborTrial) -> Outcome:
    shutil.rmtree(trial.evidence / "artifacts", ignore_errors=True)  # a copy of the repository
    resolved = None if trial.reward is None else trial.reward == 1
    return Outcome(resolved=resolved, detail=trial.detail, evidence=trial.evidence)


SHARED = HarborGrader(
    name="Harbor, shared verifier",
    separate=False,
    method="`harbor run` runs the script as its agent `oracle` in a container, and then in the "
    "same container `tests/test.sh`, which copies the tests over the repository and runs pytest; "
    "resolved is the reward 1 in `/logs/verifier/reward.txt`. A task without `environment_mode` "
    "is judged so.",
)
SEPARATE = HarborGrader(
    name="Harbor, separate verifier",
    separate=True,
    method='As with the shared verifier, but with `environment_mode = "separate"`, which `harbor '
    "init` writes: `tests/test.sh` runs in a container of its own, of an image that "
    "`tests/Dockerfile` makes of the task's, and the repository is the artifact that Harbor "
    "copies there.",
)
