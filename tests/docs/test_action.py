"""The GitHub Action: its steps run as a runner runs them, with its inputs in their environment."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from agentbench.cli.process_setup import ExitCode
from tests.e2e.small_task import SmallTask

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
EXPRESSION = re.compile(r"\$\{\{ (inputs|github|steps\.run\.outputs)\.([\w-]+) \}\}")

pytestmark = pytest.mark.full


@dataclass(frozen=True)
class Job:
    """What a job's steps left."""

    code: int
    stderr: str
    outputs: dict[str, str]
    summary: str
    workspace: Path


def run_job(folder: Path, steps: tuple[str, ...] = ("Run the agent",), **inputs: str) -> Job:
    """Run some steps in a workspace with one task, after those before them succeeded."""
    workspace = folder / "workspace"
    SmallTask().write(workspace / "tasks" / "basket")
    given = {name: one["default"] for name, one in ACTION["inputs"].items()} | {
        name.replace("_", "-"): value for name, value in inputs.items()
    }
    files = {
        name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_PATH")
    }
    for file in files.values():
        file.touch()
    values = {"inputs": given, "github": {"action_path": str(ROOT)}}
    base = {
        **os.environ,
        **{name: str(file) for name, file in files.items()},
        "RUNNER_TEMP": str(folder / "temp"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    code, stderr = 0, ""
    for step in ACTION["runs"]["steps"]:
        if step["name"] not in steps:
            continue
        own = {
            name: EXPRESSION.sub(lambda found: values[found[1]][found[2]], text)
            for name, text in step.get("env", {}).items()
        }
        assert "${{" not in step["run"]  # an input would become a part of the script
        path = os.pathsep.join([*files["GITHUB_PATH"].read_text().split(), base["PATH"]])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=workspace,
            env={**base, **own, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        code, stderr = done.returncode, stderr + done.stderr
        if code:
            break
    lines = files["GITHUB_OUTPUT"].read_text().splitlines()
    return Job(
        code=code,
        stderr=stderr,
        outputs=dict(line.split("=", 1) for line in lines),
        summary=files["GITHUB_STEP_SUMMARY"].read_text(),
        workspace=workspace,
    )


def test_a_job_installs_runs_and_reports(tmp_path: Path) -> None:
    job = run_job(
        tmp_path,
        ("Install agentbench", "Run the agent"),
        agent="oracle",
        sandbox="process",
        extras="",
        fail_under="100%",
    )
    assert job.code == 0, job.stderr
    assert job.outputs == {"run": "runs/candidate", "resolved-rate": "1.0"}
    assert "resolved" in job.summary
    suites = ElementTree.parse(job.workspace / "runs" / "candidate" / "junit.xml").getroot()
    assert suites.get("failures", "0") == "0"


def test_a_job_below_its_rate_fails_and_reports_all_the_same(tmp_path: Path) -> None:
    job = run_job(tmp_path, agent="noop", sandbox="process", fail_under="50%", run_id="mine")
    assert job.code == 1, job.stderr
    assert job.outputs == {"run": "runs/mine", "resolved-rate": "0.0"}
    assert "resolved 0/1" in job.summary


def test_inputs_are_words_and_never_code(tmp_path: Path) -> None:
    command = "sed -i 's/\\[1:\\]//' basket.py; echo \"$AGENTBENCH_INSTRUCTION\""
    job = run_job(
        tmp_path,
        agent_command=command,
        sandbox="process",
        arguments="--allow-unsandboxed --timeout-scale '2'",
        run_id="$(touch stolen)",
    )
    assert job.code != 0
    assert not (job.workspace / "stolen").exists()
    again = run_job(
        tmp_path / "again",
        agent_command=command,
        sandbox="process",
        arguments="--allow-unsandboxed --timeout-scale '2'",
    )
    assert again.code == 0, again.stderr
    assert again.outputs["resolved-rate"] == "1.0"


def test_a_job_without_a_run_says_why(tmp_path: Path) -> None:
    job = run_job(tmp_path, agent="oracle", tasks="nowhere")
    assert job.code == ExitCode.INPUT
    assert "nowhere: no such folder" in job.stderr
    assert job.outputs == {}
