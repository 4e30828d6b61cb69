"""Runs Harbor's own command on the tasks of this corpus and writes expected.json.

    python run_harbor.py --harbor VENV/bin/harbor [TASK ...]

Each task runs with Harbor's agents `oracle` and `nop`, and with `oracle` on a copy whose solution
is the task's `wrong/`. Results of tasks that are not named are kept. A task that has a note in
expected.json runs only if it is named. build_images.sh makes the images first.

Two images of Harbor's network sidecar come from a registry. Since they cannot be pulled everywhere,
the sidecar is built on tests/e2e/service_images/gost, and a `docker` in front of the real one gives
Harbor's probe of the kernel another image. Harbor's rules and commands stay as they are.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NotRequired, TypedDict

CORPUS = Path(__file__).parent
EXPECTED = CORPUS / "expected.json"
AGENTS = ("oracle", "nop", "wrong")
TIMEOUT_S = 900
DOCKER = """#!/bin/sh
case "$1 $2 $3 $4" in
"container run --rm alpine:"*) shift 4; set -- container run --rm agentbench/python:3.11 "$@";;
esac
exec {docker} "$@"
"""
SIDECAR = """
import asyncio
from harbor.environments.docker.docker import DockerEnvironment as Docker
from harbor.environments.docker.utils import default_docker_platform
from harbor.utils.container_cache import docker_build_context_hash

context = Docker._EGRESS_CONTROL_SIDECAR_CONTEXT_PATH
digest = docker_build_context_hash(
    context=context,
    dockerfile_path=context / "Dockerfile",
    build_args={},
    platform=asyncio.run(default_docker_platform()),
)
print(context, f"{Docker._EGRESS_CONTROL_SIDECAR_DOCKER_NAME}--{digest}")
"""


class Judged(TypedDict):
    """What Harbor says about a trial, or about a step of it."""

    rewards: dict[str, float] | None
    exception: str | None
    refused: NotRequired[str]
    steps: NotRequired[dict[str, "Judged"]]


def judged(result: dict) -> Judged:
    rewards = (result["verifier_result"] or {}).get("rewards")
    return {
        "rewards": rewards and dict(sorted(rewards.items())),  # of steps, their order is by chance
        "exception": (result["exception_info"] or {}).get("exception_type"),
    }


def run_trial(harbor: Path, task: Path, agent: str, environment: dict[str, str]) -> Judged:
    """Run one trial; of a command that refuses the task, keep the first line that it prints."""
    jobs = task.parent / "jobs"
    command = [harbor, "run", "-p", task, "-a", agent, "-o", jobs, "--job-name", "job", "-y", "-q"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    results = list(jobs.glob("job/*/result.json"))
    if not results:
        return {
            "rewards": None,
            "exception": None,
            "refused": done.stdout.strip().split("\n")[0].rstrip(),
        }
    (result,) = [json.loads(path.read_text()) for path in results]
    steps = {step["step_name"]: judged(step) for step in result["step_results"] or ()}
    return {**judged(result), **({"steps": steps} if steps else {})}


def stage(task: Path, agent: str, folder: Path) -> Path:
    """Copy the task; for `wrong`, with wrong/ as the only solution."""
    copy = folder / task.name
    shutil.copytree(task, copy)
    if agent != "wrong":
        shutil.rmtree(copy / "wrong")
        return copy
    for solution in (copy / "solution", *copy.glob("steps/*/solution")):
        shutil.rmtree(solution, ignore_errors=True)
    (copy / "wrong").rename(copy / "solution")
    return copy


def build_sidecar(python: Path) -> None:
    """Build Harbor's sidecar under the name that Harbor looks for, on another base."""
    found = subprocess.run([python, "-c", SIDECAR], check=True, capture_output=True, text=True)
    context, image = found.stdout.split()
    _, *rest = (Path(context) / "Dockerfile").read_text().splitlines()
    dockerfile = "\n".join(["FROM agentbench-tests/gost:1", *rest])
    build = ["docker", "build", "-q", "-t", image, "-f", "-", context]
    subprocess.run(build, input=dockerfile, check=True, text=True)


def environment_of_harbor(folder: Path) -> dict[str, str]:
    docker = folder / "docker"
    docker.write_text(DOCKER.format(docker=shutil.which("docker")))
    docker.chmod(0o755)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("CORPUS_")}
    return kept | {"PATH": f"{folder}:{os.environ['PATH']}", "HARBOR_TELEMETRY": "0"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--harbor", type=Path, required=True, help="Harbor's command, in a venv")
    parser.add_argument("--keep", type=Path, help="a folder for the files of Harbor's jobs")
    parser.add_argument("tasks", nargs="*", help="names of tasks (default: all)")
    options = parser.parse_args()
    present = {task.parent.name: task.parent for task in sorted(CORPUS.glob("*/task.toml"))}
    if unknown := sorted(set(options.tasks) - set(present)):
        parser.error(f"unknown task {', '.join(unknown)}; the tasks are {', '.join(present)}")
    build_sidecar(options.harbor.parent / "python")
    version = subprocess.check_output([options.harbor, "--version"], text=True).strip()
    written = json.loads(EXPECTED.read_text())
    tasks = {name: judgements for name, judgements in written["tasks"].items() if name in present}
    with tempfile.TemporaryDirectory(prefix="harbor-corpus-") as scratch:
        environment = environment_of_harbor(Path(scratch))
        for name in options.tasks or [name for name in present if name not in written["notes"]]:
            tasks[name] = {}
            for agent in AGENTS:
                copy = stage(present[name], agent, (options.keep or Path(scratch)) / agent / name)
                harbors = "nop" if agent == "nop" else "oracle"
                tasks[name][agent] = run_trial(options.harbor, copy, harbors, environment)
                print(name, agent, json.dumps(tasks[name][agent]), flush=True)
            new = {
                "harbor": version,
                "notes": written["notes"],
                "tasks": dict(sorted(tasks.items())),
            }
            EXPECTED.write_text(json.dumps(new, indent=2) + "\n")


if __name__ == "__main__":
    main()
