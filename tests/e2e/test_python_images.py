"""Base images of other Pythons: built from nothing, and a task judged in each."""

from pathlib import Path

import pytest

from tests.e2e.program import run_program
from tests.e2e.small_task import SmallTask


@pytest.mark.docker
@pytest.mark.soak
@pytest.mark.usefixtures("docker")
@pytest.mark.parametrize("python", ["3.9", "3.13"])
def test_an_older_and_a_newer_python_get_an_image_that_judges(
    python: str, tmp_path: Path, environ: dict[str, str]
) -> None:
    name = f"agentbench/python:{python}"
    task = SmallTask(environment=f'image = "{name}"').write(tmp_path / "small")

    built = run_program("images", "build", "--python", python, env=environ, cwd=tmp_path)
    ended = run_program(
        "run", task, "--agent", "oracle", "--sandbox", "docker", env=environ, cwd=tmp_path
    )

    assert built.stdout.startswith(f"{name} (Python {python}, "), built.stderr
    assert ended.returncode == 0
    assert "resolved 1/1" in ended.stderr
