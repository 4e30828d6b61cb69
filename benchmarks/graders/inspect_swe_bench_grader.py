"""Inspect's SWE-bench: `inspect eval inspect_evals/swe_bench`, whose scorer judges the sandbox."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import docker

from benchmarks.graders.trial import GraderTask, Outcome, Trial, longest_seconds

_FORM = Path(__file__).with_name("inspect_swe_bench")
_IMAGE = "agentbench-benchmark/graders-inspect"
_AGENT_SECONDS = 60
_SAMPLE_SECONDS = 90  # its scorer gets half as much again


class InspectSweBench:
    """The scorer of inspect-evals, in the task, the sandbox and the command that it comes with."""

    name = "Inspect, SWE-bench scorer"
    # The requirement inspect-evals-utils of 0.28.0 cannot be installed here, and the scorer is the
    # same. It imports tables of repositories that swebench 5 no longer has.
    requirement = "inspect-evals[swe-bench]==0.26.0 inspect-ai==0.3.285 swebench==4.1.0"
    python = "3.12"
    method = (
        "`inspect eval inspect_evals/swe_bench` with a solver that runs the script in the sandbox; "
        "swe_bench_scorer then applies the hidden tests in the same container, runs their files, "
        "and an attempt is resolved if SWE-bench's log parser finds every listed test passed. "
        "Where the hidden tests only add files, as here, the scorer's `git checkout` of the base "
        "commit names no file, and takes back what the agent committed."
    )

    def judge(
        self, trials: Sequence[Trial], programs: Path, place: Path, jobs: int
    ) -> Mapping[str, Outcome]:
        """Judge all trials in one evaluation, a sample for each."""
        tasks = {trial.task.name: trial.task for trial in trials}
        commits = {name: _prepare(task, place) for name, task in tasks.items()}
        ids = {trial.name: f"benchmark__{trial.task.name}-{n}" for n, trial in enumerate(trials)}
        scripts = place / "scripts"
        scripts.mkdir()
        dataset = place / "dataset"
        dataset.mkdir()
        with (dataset / "test.jsonl").open("w") as lines:
            for trial in trials:
                ident, task = ids[trial.name], trial.task
                (scripts / f"{ident}.sh").write_text(trial.script)
                lines.write(json.dumps(_instance(ident, task, commits[task.name])) + "\n")
        caches = place / "caches"
        folders = dict.fromkeys(("XDG_CACHE_HOME", "XDG_DATA_HOME", "HF_HOME"), str(caches))
        with (place / "output.log").open("w") as output:
            subprocess.run(
                [
                    programs / "inspect", "eval", "inspect_evals/swe_bench",
                    "-T", f"dataset={dataset}", "-T", f"image_name_template={_IMAGE}:{{repo}}",
                    "--solver", f"{os.path.relpath(_FORM / 'solver.py', place)}@trial",
                    "-S", f"scripts={scripts}", "-S", f"seconds={_AGENT_SECONDS}",
                    "--time-limit", str(_SAMPLE_SECONDS), "--no-fail-on-error",
                    "--max-samples", str(jobs), "--max-sandboxes", str(jobs),
                    "--model", "mockllm/model", "--log-dir", str(place / "logs"),
                    "--log-format", "json", "--display", "plain",
                ],
                cwd=place,
                env=os.environ | folders | {"HF_HUB_OFFLINE": "1"},
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=longest_seconds(trials),
            )  # fmt: skip
        shutil.rmtree(caches, ignore_errors=True)
        for name in tasks:
            docker.from_env().images.remove(f"{_IMAGE}:{name}", force=True)
        logs = list((place / "logs").glob("*.json"))
        if not logs:
            raise RuntimeError((place / "output.log").read_text()[-2000:])
        samples = {each["id"]: each for each in json.loads(logs[0].read_text())["samples"]}
        return {name: _outcome(samples.get(ident, {}), logs[0]) for name, ident in ids.items()}


def _prepare(task: GraderTask, place: Path) -> str:
    """Build the task's image in SWE-bench's form, and return the base commit."""
    client = docker.from_env()
    context = place / f"image-{task.name}"
    context.mkdir()
    dockerfile = (_FORM / "Dockerfile").read_text().replace("{base}", task.image)
    (context / "Dockerfile").write_text(dockerfile)
    tag = f"{_IMAGE}:{task.name}"
    client.images.build(path=str(context), tag=tag, rm=True)
    said = client.containers.run(tag, ["git", "rev-parse", "HEAD"], remove=True)
    return said.decode().strip()


def _instance(ident: str, task: GraderTask, commit: str) -> dict[str, str]:
    # The scorer runs the files of the patch only, so SWE-bench lists no other tests.
    files = set(re.findall(r"^\+\+\+ b/(.*)$", task.tests_patch, re.MULTILINE))
    in_patch = [test for test in task.pass_to_pass if test.partition("::")[0] in files]
    return {
        "instance_id": ident,
        "repo": "benchmark/task",
        "version": "1",
        "base_commit": commit,
        "environment_setup_commit": commit,
        "patch": task.solution_patch,
        "test_patch": task.tests_patch,
        "FAIL_TO_PASS": _listed(task.fail_to_pass),
        "PASS_TO_PASS": _listed(in_patch),
        "problem_statement": (task.folder / "instruction.md").read_text(),
        "hints_text": "",
        "created_at": "",
    }


def _listed(tests: Iterable[str]) -> str:
    """The tests as SWE-bench's parser reads them: it cuts an id at a space, in its lists too."""
    return json.dumps([*dict.fromkeys(test.split()[0] for test in tests)])


def _outcome(sample: Mapping[str, Any], log: Path) -> Outcome:
    score = (sample.get("scores") or {}).get("swe_bench_scorer")
    if score is None:
        error = sample.get("error") or {"message": "no such sample in the log"}
        return Outcome(resolved=None, detail=" ".join(error["message"].split()), evidence=log)
    return Outcome(
        resolved=score["value"] == 1.0, detail=f"swe_bench_scorer: {score['value']}", evidence=log
    )
