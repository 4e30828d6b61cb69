"""The image of agentbench itself, built from wheels and run with the engine's socket."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.small_task import SmallTask

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.soak, pytest.mark.docker]


def run(*argv: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(one) for one in argv], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_image_judges_with_the_engine_and_with_bubblewrap(tmp_path: Path) -> None:
    built = run("make", "image", "BASE=agentbench/python:3.11")
    assert built.returncode == 0, built.stderr
    SmallTask().write(tmp_path / "tasks" / "basket")
    engine = ("-v", "/var/run/docker.sock:/var/run/docker.sock")
    own = ("--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined")
    for sandbox, options in (("docker", engine), ("bubblewrap", own)):
        done = run(
            *("docker", "run", "--rm", *options, "-v", f"{tmp_path}:/work"),
            *("agentbench/agentbench", "run", "tasks/", "--agent", "oracle", "--sandbox", sandbox),
        )
        assert done.returncode == 0, done.stderr
        assert "resolved 1/1" in done.stderr + done.stdout
