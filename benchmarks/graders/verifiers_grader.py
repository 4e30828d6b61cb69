"""verifiers' Harbor taskset, which judges in the agent's container or in one of its own."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.graders import harbor
from benchmarks.graders.harbor import HarborGrader
from benchmarks.graders.trial import Outcome, Trial, longest_seconds

_PLUGIN = Path(__file__).with_name("verifiers_taskset")
_SECONDS = 60
_SOLVED = 1.0  # as `vf-validate` has it


class VerifiersGrader:
    """The one taskset that verifiers ships whose tests run in a sandbox, by its own command."""

    requirement = "verifiers[harbor]==0.4.0"
    python = "3.12"

    def __init__(self, name: str, form: HarborGrader, method: str) -> None:
        self.name = name
        self.method = method
        self._form = form

    def judge(
        self, trials: Sequence[Trial], programs: Path, place: Path, jobs: int
    ) -> Mapping[str, Outcome]:
        """Judge all trials in one evaluation, a task for each."""
        scripts = place / "scripts"
        scripts.mkdir()
        for trial in trials:
            (scripts / f"{trial.name}.sh").write_text(trial.script)
            form = self._form.write_task(trial.task, place / "tasks" / trial.name)
            # verifiers builds no image: without this it copies the tests into a fresh container.
            (form / "tests" / "Dockerfile").unlink(missing_ok=True)
        argv: list[str | Path] = [
            programs / "vf-eval", "graded_trials",
            "--env.taskset.folder", place / "tasks",
            "--env.agent.harness.id", "graded_trials", "--env.agent.harness.scripts", scripts,
            "--env.agent.runtime.type", "docker",
            "--env.agent.timeout.rollout", str(_SECONDS),
            "--env.agent.timeout.scoring", str(_SECONDS),
            # A verifier that hangs is not started anew, which takes three times as long.
            "--env.verifier.retries", "0",
            "--max-concurrent", str(jobs), "--no-push", "--no-rich",
            "--output-dir", place, "--run.name", "run",
        ]  # fmt: skip
        with (place / "output.log").open("w") as output:
            subprocess.run(
                argv,
                cwd=place,
                env=os.environ | {"PYTHONPATH": str(_PLUGIN), "PRIME_API_KEY": "none"},
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=longest_seconds(trials),
            )
        traces = place / "run" / "traces.jsonl"
        if not traces.exists():
            raise RuntimeError((place / "output.log").read_text()[-2000:])
        (place / "output.log").unlink()  # says all again
        with traces.open() as lines:
            episodes = [json.loads(line) for line in lines]
        found = {episode["task"]["data"]["name"]: episode for episode in episodes}
        return {trial.name: _outcome(found.get(trial.name), traces) for trial in trials}


def _outcome(episode: Mapping[str, Any] | None, evidence: Path) -> Outcome:
    if episode is None:
        return Outcome(resolved=None, detail="no such episode in the traces", evidence=evidence)
    traces = episode["traces"]
    errors = [*episode["errors"], *(error for trace in traces for error in trace["errors"])]
    if errors:
        said = f"{errors[0]['type']}: {errors[0]['message']}"
        return Outcome(resolved=None, detail=" ".join(said.split()), evidence=evidence)
    rewards = traces[0]["rewards"]
    if None in rewards.values():
        return Outcome(
            resolved=None, detail=f"no reward: {traces[0]['stop_condition']}", evidence=evidence
        )
    total = sum(each["score"] * each["weight"] for each in rewards.values())
    scores = ", ".join(f"{name} {each['score']}" for name, each in rewards.items())
    return Outcome(resolved=total >= _SOLVED, detail=scores, evidence=evidence)


SHARED = VerifiersGrader(
    name="verifiers, Harbor taskset",
    form=harbor.SHARED,
    method="`vf-eval` on verifiers' Harbor taskset in its Docker runtime: a harness runs the "
    "script in a container, then the taskset removes old reward files, copies the tests there and "
    "runs `tests/test.sh`; an attempt is resolved if the reward in `/logs/verifier/` is 1.",
)
SEPARATE = VerifiersGrader(
    name="verifiers, Harbor taskset, separate verifier",
    form=harbor.SEPARATE,
    method='As the other, but of a task with `environment_mode = "separate"`: verifiers removes '
    "the agent's container, starts a fresh one of the task's image, restores the repository there "
    "as the declared artifact and runs `tests/test.sh` in it.",
)
