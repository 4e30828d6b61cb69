"""SWE-bench's own harness: it judges an agent's patch in a new container, by pytest's output."""

import json
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import docker

from benchmarks.graders.agent_container import agent_container
from benchmarks.graders.trial import GraderTask, Outcome, Trial

_EVAL = Path(__file__).with_name("swe_bench_eval.sh")
_NEW_FILE = re.compile(r"^--- /dev/null\n\+\+\+ b/(.*)$", re.MULTILINE)
_CHANGED_FILE = re.compile(r"^--- a/(.*)$", re.MULTILINE)
_TESTS_S = 60
_MODEL = "trial"
# The harness applies patches in /testbed, whatever the image says.
_DOCKERFILE = "FROM {image}\nRUN cp -a /app /testbed\nWORKDIR /testbed\n"


class SweBench:
    """One dataset with an instance for each trial, judged in one run."""

    name = "SWE-bench's harness"
    requirement = "swebench==5.0.2"
    python = "3.11"
    method = (
        "The agent works in a container, and its patch is a prediction. `python -m "
        "swebench.harness.run_evaluation` applies it in a new container, runs `eval_script` and "
        "reads the lines that pytest prints for each test. The script is made as those of the "
        "published data sets: it restores the files of the tests, applies the hidden tests and "
        "runs pytest. `resolved` in the instance's report makes the attempt resolved."
    )

    def judge(
        self, trials: Sequence[Trial], programs: Path, place: Path, jobs: int
    ) -> Mapping[str, Outcome]:
        with ThreadPoolExecutor(jobs) as pool:
            patches = list(pool.map(_patch, trials))
        tasks = {trial.task.name: trial.task for trial in trials}
        images = {name: _testbed(task, place) for name, task in tasks.items()}
        predictions = [
            {"instance_id": trial.name, "model_name_or_path": _MODEL, "model_patch": patch}
            for trial, patch in zip(trials, patches, strict=True)
        ]
        (place / "predictions.json").write_text(json.dumps(predictions))
        instances = [_instance(trial, images[trial.task.name]) for trial in trials]
        (place / "dataset.json").write_text(json.dumps(instances))
        run_id = f"graders-{uuid4().hex}"  # a part of the containers' names
        argv = [
            str(programs / "python"), "-m", "swebench.harness.run_evaluation",
            "--dataset_name", "dataset.json", "--predictions_path", "predictions.json",
            "--max_workers", str(jobs), "--timeout", str(_TESTS_S),
            "--run_id", run_id,
        ]  # fmt: skip
        with (place / "output.log").open("wb") as output:
            subprocess.run(
                argv, cwd=place, stdout=output, stderr=subprocess.STDOUT, check=False,
                timeout=_TESTS_S * len(trials) + 600,
            )  # fmt: skip
        for image in images.values():
            docker.from_env().images.remove(image, force=True)
        summary = place / f"{_MODEL}.{run_id}.json"
        if not summary.exists():
            raise RuntimeError(f"no report: {(place / 'output.log').read_text()[-500:]}")
        told = json.loads(summary.read_text())
        logs = place / "logs" / "run_evaluation" / run_id / _MODEL
        return {trial.name: _outcome(trial.name, told, summary, logs) for trial in trials}


def _patch(trial: Trial) -> str:
    try:
        with agent_container(trial.task.image) as container:
            container.work(trial.script)
            return container.patch()
    except RuntimeError:  # the harness says that the patch is empty
        return ""


def _testbed(task: GraderTask, place: Path) -> str:
    tag = f"{task.image}-swebench"
    context = place / f"image-{task.name}"
    context.mkdir()
    (context / "Dockerfile").write_text(_DOCKERFILE.format(image=task.image))
    docker.from_env().images.build(path=str(context), tag=tag, rm=True)
    return tag


def _instance(trial: Trial, image: str) -> dict[str, object]:
    task = trial.task
    new = set(_NEW_FILE.findall(task.tests_patch))
    # In the published data sets, all files that run are files of the patch, which are restored.
    changed = ({*_CHANGED_FILE.findall(task.tests_patch), *task.test_files}) - new
    reset = [["rm", "-f", *sorted(new)]] if new else []
    reset += [["git", "checkout", "HEAD", *sorted(changed)]] if changed else []
    script = _EVAL.read_text()
    for word, text in (
        ("THE_RESET\n", "".join(f"{shlex.join(line)}\n" for line in reset)),
        ("THE_PATCH\n", task.tests_patch),
        ("THE_FILES", shlex.join(task.test_files)),
    ):
        script = script.replace(word, text)
    return {
        "instance_id": trial.name,
        "repo": "benchmark/task",
        "version": "1",
        "image": image,
        "patch": task.solution_patch,
        "test_patch": task.tests_patch,
        "eval_script": script,
        "eval_type": "pass_and_fail",
        "log_parser": _parser(task),
        "FAIL_TO_PASS": list(task.fail_to_pass),
        "PASS_TO_PASS": list(task.pass_to_pass),
    }


def _parser(task: GraderTask) -> str:
    # Most published instances with pytest have the first parser; it cuts ids at a space, so those
    # with such ids have the other.
    spaces = any(" " in test for test in (*task.fail_to_pass, *task.pass_to_pass))
    return "parse_log_pytest_v2" if spaces else "parse_log_pytest"


def _outcome(name: str, told: Mapping[str, Sequence[str]], summary: Path, logs: Path) -> Outcome:
    folder = logs / name
    evidence = folder if folder.exists() else summary
    if name in told["resolved_ids"]:
        return Outcome(resolved=True, detail="resolved", evidence=evidence)
    if name in told["empty_patch_ids"]:
        return Outcome(resolved=False, detail="empty patch", evidence=evidence)
    if name in told["unresolved_ids"]:
        tests = json.loads((folder / "report.json").read_text())[name].get("tests_status", {})
        failed = ", ".join(test for kind in tests.values() for test in kind["failure"])
        detail = f"unresolved, failed: {failed}" if failed else "unresolved"
        return Outcome(resolved=False, detail=detail, evidence=evidence)
    log = folder / "run_instance.log"
    lines = log.read_text().splitlines() if log.exists() else []
    errors = [line for line in lines if "Error" in line]
    return Outcome(resolved=None, detail=errors[-1] if errors else "error", evidence=evidence)
