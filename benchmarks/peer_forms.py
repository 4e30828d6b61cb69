"""The peers: what each harness is told, in what form it gets the task, what it says was solved.

All start from one image of the repository, IMAGE; what one needs besides is baked into another on
top of it, so that no time counts a download. Each is told what its own documents tell to.
"""

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import docker

FORMS = Path(__file__).with_name("peer_tasks")
IMAGE = "agentbench-benchmark/peers"
SIZES = ((1, 1), (8, 4))
"""Attempts, and how many at a time."""

_MOST = max(attempts for attempts, _ in SIZES)
_RESULTS = "results"  # folder of what a peer writes, inside that of its task


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A harness, and how it is told to make attempts."""

    requirement: str
    python: str
    line: Callable[[Path, Path, int, int], list[str]]
    """Of its environment's programs, the place of its task, attempts, and how many at a time."""
    prepare: Callable[[Path, Path], None] = lambda _task, _place: None
    """Write a task in its form into a place, where the patches are already."""
    solved: Callable[[Path], int | None] = lambda _place: None
    """How many attempts it has told to be solved, of all so far; None: it fails otherwise."""
    note: str = ""
    """What belongs to its figures."""

    @property
    def name(self) -> str:
        """Without the version."""
        return self.requirement.partition("==")[0]


def _inspect(programs: Path, place: Path, attempts: int, jobs: int) -> list[str]:
    task = os.path.relpath(place / "inspect_ai" / "task.py")  # it finds no other paths
    return [
        str(programs / "inspect"), "eval", task, "--model",
        "mockllm/model", "--epochs", str(attempts), "--max-sandboxes", str(jobs), "--max-samples",
        str(jobs), "--log-dir", str(place / "inspect-logs"), "--log-format", "json", "--display",
        "none",
    ]  # fmt: skip


def _inspect_prepare(_task: Path, place: Path) -> None:
    form = shutil.copytree(FORMS / "inspect_ai", place / "inspect_ai")
    for patch in place.glob("*.patch"):
        shutil.copy(patch, form)


def _inspect_solved(place: Path) -> int:
    logs = [json.loads(log.read_text()) for log in (place / "inspect-logs").glob("*.json")]
    return sum(
        sample["scores"]["tests"]["value"] == "C" for log in logs for sample in log["samples"]
    )


def _harbor(programs: Path, place: Path, attempts: int, jobs: int) -> list[str]:
    return [
        str(programs / "harbor"), "run", "--path", str(place / "harbor"), "--agent", "oracle",
        "--n-attempts", str(attempts), "--n-concurrent", str(jobs), "--jobs-dir",
        str(place / "harbor-jobs"), "--quiet", "--yes",
    ]  # fmt: skip


def _harbor_prepare(_task: Path, place: Path) -> None:
    form = shutil.copytree(FORMS / "harbor", place / "harbor")
    for folder, script, patch in (
        ("solution", "solve.sh", "solution.patch"),
        ("tests", "test.sh", "tests.patch"),
    ):
        (form / folder).mkdir()
        (form / script).rename(form / folder / script)
        shutil.copy(place / patch, form / folder)
    (form / "environment").mkdir()
    shutil.copy(FORMS / "Dockerfile", form / "environment")
    (form / "instruction.md").write_text("mend it\n")


def _harbor_solved(place: Path) -> int:
    rewards = (place / "harbor-jobs").glob("*/*/verifier/reward.txt")
    return sum(reward.read_text().strip() == "1" for reward in rewards)


def _mini(programs: Path, place: Path, attempts: int, jobs: int) -> list[str]:
    script = FORMS / "mini_swe_agent.py"
    return [str(programs / "python"), str(script), str(place), str(attempts), str(jobs)]


def _swebench(programs: Path, place: Path, attempts: int, jobs: int) -> list[str]:
    form = place / "swebench"
    results = form / _RESULTS
    runs = len(list(results.glob("*.json")))  # what a run of the same name did is not done again
    return [
        "sh", "-c", 'cd "$0" && exec "$@"', str(form),  # it logs to the current folder
        str(programs / "python"), "-m", "swebench.harness.run_evaluation",
        "--dataset_name", str(form / "dataset.json"), "--predictions_path", "gold",
        "--instance_ids", *_attempt_names(attempts), "--max_workers", str(jobs),
        "--run_id", f"run-{runs}", "--report_dir", str(results),
    ]  # fmt: skip


def _swebench_prepare(task: Path, place: Path) -> None:
    form = place / "swebench"
    form.mkdir()
    image = _built(FORMS / "swebench", f"{IMAGE}-swebench")
    tests, solution = ((place / f"{name}.patch").read_text() for name in ("tests", "solution"))
    failing = tomllib.loads((task / "task.toml").read_text())["tests"]["fail_to_pass"]
    instance = {
        "repo": "benchmark/task",
        "version": "1",
        "image": image,
        "patch": solution,
        "test_patch": tests,
        "eval_script": _with_patch(FORMS / "swebench" / "eval.sh", tests),
        "eval_type": "pass_and_fail",
        "log_parser": "parse_log_pytest",
        "FAIL_TO_PASS": failing,
        "PASS_TO_PASS": _passing(tests),
    }
    instances = [{"instance_id": name, **instance} for name in _attempt_names(_MOST)]
    (form / "dataset.json").write_text(json.dumps(instances))


def _swebench_solved(place: Path) -> int:
    reports = (place / "swebench" / _RESULTS).glob("*.json")
    return sum(json.loads(report.read_text())["resolved_instances"] for report in reports)


def _terminal(programs: Path, place: Path, attempts: int, jobs: int) -> list[str]:
    form = place / "terminal-bench"
    return [
        str(programs / "tb"), "run", "--dataset-path", str(form / "tasks"), "--agent", "oracle",
        "--n-tasks", str(attempts), "--n-concurrent", str(jobs), "--no-rebuild", "--no-cleanup",
        "--output-path", str(form / _RESULTS),
    ]  # fmt: skip


def _terminal_prepare(_task: Path, place: Path) -> None:
    source = FORMS / "terminal_bench"
    _built(source, f"{IMAGE}-terminal-bench")
    solution = _with_patch(source / "solution.sh", (place / "solution.patch").read_text())
    for name in _attempt_names(_MOST):
        form = shutil.copytree(source, place / "terminal-bench" / "tasks" / name)
        (form / "solution.sh").write_text(solution)
        (form / "tests").mkdir()
        shutil.copy(place / "tests.patch", form / "tests")


def _terminal_solved(place: Path) -> int:
    """A trial without a single test would count as resolved, too."""
    found = (place / "terminal-bench" / _RESULTS).glob("*/results.json")
    trials = (trial for path in found for trial in json.loads(path.read_text())["results"])
    return sum(bool(trial["is_resolved"] and trial["parser_results"]) for trial in trials)


def _attempt_names(attempts: int) -> list[str]:
    """For harnesses that have tasks instead of attempts."""
    return [f"attempt-{number}" for number in range(1, attempts + 1)]


def _with_patch(script: Path, patch: str) -> str:
    return script.read_text().replace("THE_PATCH\n", patch)


def _built(folder: Path, image: str) -> str:
    docker.from_env().images.build(path=str(folder), tag=image, rm=True)
    return image


def _passing(tests: str) -> list[str]:
    """The tests that pass before the fix."""
    script = 'printf %s "$TESTS" | git apply - && python -m pytest -q -rA tests; true'
    said = docker.from_env().containers.run(
        IMAGE, ["sh", "-c", script], environment={"TESTS": tests}, network_mode="none", remove=True
    )
    lines = said.decode().splitlines()
    return [line.split()[1] for line in lines if line.startswith("PASSED ")]


PEERS = (
    Peer(
        requirement="inspect-ai==0.3.285",
        python="3.11",
        line=_inspect,
        prepare=_inspect_prepare,
        solved=_inspect_solved,
        note="inspect-ai's check for engine 24.0.6 is told that 20.10 will do, which it does",
    ),
    Peer(
        requirement="harbor==0.25.0",
        python="3.12",
        line=_harbor,
        prepare=_harbor_prepare,
        solved=_harbor_solved,
    ),
    Peer(requirement="mini-swe-agent==2.4.6", python="3.11", line=_mini),
    Peer(
        requirement="swebench==5.0.2",
        python="3.11",
        line=_swebench,
        prepare=_swebench_prepare,
        solved=_swebench_solved,
        note="swebench judges the reference solution of as many instances as attempts, all of one "
        "image; it runs no agent",
    ),
    Peer(
        requirement="terminal-bench==0.2.18",
        python="3.12",
        line=_terminal,
        prepare=_terminal_prepare,
        solved=_terminal_solved,
        note="terminal-bench gets a task for each attempt, since it makes attempts at one task one "
        "at a time; it records the terminal, as it does unless a task forbids it",
    ),
)


if __name__ == "__main__":
    sys.exit("peer_forms.py is what peers.py runs; run that")
