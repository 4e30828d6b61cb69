"""The naive grader: pytest in the agent's own container, resolved if its exit code is 0."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.graders.agent_container import agent_container
from benchmarks.graders.trial import Outcome, Trial

# A home-made harness does not look at what `git apply` says, and runs what pytest finds.
_LINE = "git apply; exec python -m pytest -q"
_TESTS_S = 60
_TIMEOUT = 124


class ExitCode:
    """No package: what a harness does that somebody writes in an afternoon."""

    name = "pytest's exit code"
    requirement = ""
    python = "3.11"
    method = (
        "The agent works in a container. There the hidden tests are applied and `python -m pytest` "
        "runs. Exit code 0 makes the attempt resolved."
    )

    def judge(
        self, trials: Sequence[Trial], _programs: Path, place: Path, jobs: int
    ) -> Mapping[str, Outcome]:
        with ThreadPoolExecutor(jobs) as pool:
            outcomes = pool.map(partial(_judge, place), trials)
            return {trial.name: outcome for trial, outcome in zip(trials, outcomes, strict=True)}


def _judge(place: Path, trial: Trial) -> Outcome:
    evidence = place / f"{trial.name}.log"
    try:
        with agent_container(trial.task.image) as container:
            container.work(trial.script)
            code = container.test(_LINE, trial.task.tests_patch, _TESTS_S, evidence)
    except RuntimeError as error:
        evidence.write_text(str(error))
        return Outcome(resolved=None, detail=str(error), evidence=evidence)
    with evidence.open("a") as log:
        log.write(f"\nexit code {code}\n")
    if code == _TIMEOUT:
        return Outcome(resolved=None, detail=f"still running after {_TESTS_S} s", evidence=evidence)
    return Outcome(resolved=code == 0, detail=f"exit code {code}", evidence=evidence)
