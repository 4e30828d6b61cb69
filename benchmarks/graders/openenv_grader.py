"""OpenEnv's Harbor integration, the one part of its package where tests decide."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.graders import harbor
from benchmarks.graders.trial import Outcome, Trial, longest_seconds

_ROLLOUTS = Path(__file__).with_name("openenv_harbor") / "rollouts.py"


class OpenEnvGrader:
    """OpenEnv, whose reward is what Harbor's verifier says in OpenEnv's rollout."""

    name = "OpenEnv, Harbor rollout"
    # Harbor 0.26 cannot be installed beside it; its extra `harbor` adds the clients of many clouds.
    requirement = "openenv==0.10.0 harbor==0.25.0"
    python = "3.12"
    method = (
        "`openenv.harbor.rollout.run_rollout`, which `openenv harbor rollout` calls, with Harbor's "
        "agent `oracle` running the script in Docker; OpenEnv forwards the reward of Harbor's "
        "shared verifier, and its report counts a rollout as solved if that is above 0."
    )

    def judge(
        self, trials: Sequence[Trial], programs: Path, place: Path, jobs: int
    ) -> Mapping[str, Outcome]:
        """Judge all trials in one process, a task for each."""
        for trial in trials:
            form = harbor.SHARED.write_task(trial.task, place / "tasks" / trial.name)
            (form / "solution").mkdir()
            (form / "solution" / "solve.sh").write_text(f"#!/bin/sh -e\n{trial.script}\n")
        results = place / "results"
        results.mkdir()
        log = place / "output.log"
        with log.open("w") as output:
            subprocess.run(
                [programs / "python", _ROLLOUTS, place, str(jobs)],
                env=os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HARBOR_TELEMETRY": "0"},
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=longest_seconds(trials),
            )
        for printed in (place / "trials").glob("*/agent"):
            shutil.rmtree(printed)  # it may be large, and judges nothing
        if not any(results.iterdir()):
            raise RuntimeError(log.read_text()[-2000:])
        return {trial.name: _outcome(results / f"{trial.name}.json", log) for trial in trials}


def _outcome(path: Path, log: Path) -> Outcome:
    if not path.exists():
        return Outcome(resolved=None, detail="no result", evidence=log)
    result = json.loads(path.read_text())
    if result["reward"] is None:
        return Outcome(resolved=None, detail=" ".join(str(result["error"]).split()), evidence=path)
    return Outcome(
        resolved=result["reward"] > 0, detail=f"reward {result['reward']}", evidence=path
    )
