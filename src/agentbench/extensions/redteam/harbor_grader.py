"""Harbor as the grader: each task with a script in place of its solution, all in one job.

Harbor's agent `oracle` runs `solution/solve.sh` where and as whom it runs other agents, and before
the verifier (facts of `harbor` 0.26.0: `agents/oracle.py`, `trial/single_step.py`).
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentbench.errors import InputError, UnavailableError, UsageError
from agentbench.extensions.redteam.cheat_attempts import CheatAttempt
from agentbench.extensions.redteam.kinds import CheatKind, script_of
from agentbench.extensions.redteam.names import NOTHING, REFERENCE

_JOB = "job"
_HARBOR_SETTINGS = {"HARBOR_TELEMETRY": "0", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
_ENDS_WITHIN = 60  # seconds, in which Harbor removes its containers after Ctrl-C


@dataclass(frozen=True, slots=True, kw_only=True)
class HarborTrial:
    """What Harbor said of one script on one task."""

    reward: float | None
    """The one named `reward`, or else the lowest of several; None: Harbor gave none."""

    detail: str
    """Harbor's rewards and its error, in a line."""

    evidence: Path
    """The folder of Harbor's trial; the job's log if there was no trial."""


def harbor_folders(paths: Sequence[Path], jobs_dir: Path) -> list[Path]:
    """The folders of Harbor tasks among some paths, which may be folders of them.

    Raises:
        InputError: a path has no such task, or two tasks have the same name.
        UsageError: the folder for results is in a task, which is copied.
    """
    found: dict[str, Path] = {}
    for path in paths:
        whole = path.resolve()
        folders = [whole, *sorted(each for each in whole.glob("*") if each.is_dir())]
        tasks = [each for each in folders if _is_harbor_task(each)]
        if not tasks:
            raise InputError(
                f"{path}: expected Harbor tasks (folders with task.toml and environment/), found "
                "none; `agentbench tasks export harbor` makes them of others"
            )
        for task in tasks:
            if found.setdefault(task.name, task) != task:
                raise InputError(
                    f"{task}: another task is named {task.name}, too: {found[task.name]}; try one "
                    "after the other"
                )
            if jobs_dir.resolve().is_relative_to(task):
                raise UsageError(f"--runs-dir: {jobs_dir} is in the task {task}; choose another")
    return list(found.values())


def _is_harbor_task(folder: Path) -> bool:
    return (folder / "task.toml").is_file() and (folder / "environment").is_dir()


def try_on_harbor(
    folders: Sequence[Path], kinds: Sequence[CheatKind], jobs_dir: Path, jobs: int
) -> list[CheatAttempt]:
    """Let Harbor judge each kind on each task; rewarded is what gets more than no change.

    Raises:
        UnavailableError: Harbor is not on PATH, did not run, or judged nothing.
        OSError: a task cannot be copied.
    """
    command = shutil.which("harbor")
    if command is None:
        raise UnavailableError(
            "--grader harbor: expected the command harbor on PATH, found none; install it with: "
            "uv tool install harbor"
        )
    scripts: dict[str, tuple[Path, str | None]] = {}
    owners: dict[str, tuple[str, str]] = {}
    for folder in folders:
        tests = tuple(f"/tests/{path.name}" for path in sorted(folder.glob("tests/*.py")))
        own: dict[str, str | None] = {REFERENCE: None, NOTHING: "true\n"}
        own |= {kind.name: script_of(kind, (), tests) for kind in kinds}
        for name, script in own.items():
            copied = f"{folder.name}--{name}"
            line = None if script is None else f"#!/bin/sh\nset -e\n{script}"
            scripts[copied] = folder, line
            owners[copied] = folder.name, name
    judged = run_harbor(Path(command), scripts, jobs_dir, jobs)
    rewards = {owners[copied]: one.reward for copied, one in judged.items()}
    return [
        CheatAttempt(
            task=task,
            kind=kind,
            rewarded=_is_rewarded(kind, task, rewards),
            detail=judged[copied].detail,
            folder=judged[copied].evidence,
        )
        for copied, (task, kind) in owners.items()
    ]


def _is_rewarded(
    kind: str, task: str, rewards: Mapping[tuple[str, str], float | None]
) -> bool | None:
    reward, least = rewards[task, kind], rewards[task, NOTHING]
    if reward is None or least is None:
        return None
    if kind == REFERENCE:
        return reward > 0
    if kind == NOTHING:  # half a reward for no change is usual
        whole = rewards[task, REFERENCE]
        return whole is not None and reward >= whole
    return reward > least


def run_harbor(
    harbor: Path, tasks: Mapping[str, tuple[Path, str | None]], jobs_dir: Path, jobs: int
) -> dict[str, HarborTrial]:
    """Let Harbor judge many scripts, each on a copy of a task, and return what it said by name.

    Args:
        harbor: Harbor's command.
        tasks: For each name a Harbor task's folder, and the text of its `solve.sh`, with the first
            line that names its shell. In a task of several steps, each step runs it. None is
            the task's own solution.
        jobs_dir: A new folder. It keeps the job and the copies of the tasks.
        jobs: How many trials at a time.

    Raises:
        UnavailableError: Harbor did not run, or judged nothing.
    """
    copies = jobs_dir / "tasks"
    for name, (folder, script) in tasks.items():
        shutil.copytree(folder, copies / name, symlinks=True)
        if script is not None:
            _replace_solution(copies / name, script)
    log = jobs_dir / "harbor.log"
    argv = [
        str(harbor), "run", "--path", str(copies), "--agent", "oracle", "--n-concurrent", str(jobs),
        "--jobs-dir", str(jobs_dir), "--job-name", _JOB, "--quiet", "--yes",
    ]  # fmt: skip
    try:
        with log.open("wb") as output:
            running = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | _HARBOR_SETTINGS,
            )
            try:
                running.wait()  # its exit code is 1 as well if a single trial failed
            except KeyboardInterrupt:
                running.wait(_ENDS_WITHIN)  # Ctrl-C reached Harbor, too
                raise
    except OSError as error:
        raise UnavailableError(f"Harbor does not start: {error}") from error
    found = dict(map(_read_trial, (jobs_dir / _JOB).glob("*/result.json")))
    if not found:
        last = log.read_text(errors="replace").strip()[-2000:]
        raise UnavailableError(f"Harbor judged nothing. It said: {last}")
    none = HarborTrial(reward=None, detail="Harbor has no result of it", evidence=log)
    return {name: found.get(name, none) for name in tasks}


def _replace_solution(task: Path, script: str) -> None:
    steps = [step / "solution" for step in task.glob("steps/*") if step.is_dir()]
    for solution in (task / "solution", *steps):
        if solution.is_symlink():
            solution.unlink()
        shutil.rmtree(solution, ignore_errors=True)  # an agent has none of its files
        solution.mkdir()
        (solution / "solve.sh").write_text(script)


def _read_trial(path: Path) -> tuple[str, HarborTrial]:
    result = json.loads(path.read_text())
    rewards = (result["verifier_result"] or {}).get("rewards") or {}
    error = result["exception_info"]
    words = [f"{key} {value}" for key, value in rewards.items()]
    if error is not None:
        words.append(f"{error['exception_type']}: {error['exception_message']}")
    trial = HarborTrial(
        reward=rewards.get("reward", min(rewards.values(), default=None)),
        detail=" ".join(", ".join(words).split()) or "no reward",
        evidence=path.parent,
    )
    return Path(result["config"]["task"]["path"]).name, trial
