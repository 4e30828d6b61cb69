"""The Python of a task in Docker: by its project, and named by the run, its records and `show`."""

import json
from pathlib import Path

import pytest

from agentbench import RunOptions
from agentbench.runs.start import resume_run, start_run
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.e2e.program import records_of, run_program
from tests.e2e.small_task import SmallTask

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker")]
DEFAULT = "agentbench/python:3.11"


def asking(specifier: str) -> SmallTask:
    setup_cfg = f"[options]\npython_requires = {specifier}\n"
    return SmallTask(files={**SmallTask().files, "setup.cfg": setup_cfg})


def test_the_python_that_a_project_asks_for_is_needed_before_any_attempt(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    task = asking(">=3.7,<3.9").write(tmp_path / "small")

    ended = run_program(
        "run", task, "--agent", "oracle", "--sandbox", "docker", env=environ, cwd=tmp_path
    )

    assert ended.returncode == 69
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("agentbench: ")]
    assert line.startswith("agentbench: small: needs Python 3.8 (Requires-Python is ")
    assert line.endswith("run `agentbench images build --python 3.8`")
    assert not (tmp_path / "runs").exists()


def test_a_run_its_record_and_show_name_the_image_and_the_python(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    task = asking(">=3.8").write(tmp_path / "small")
    options = ("--sandbox", "docker", "--run-id", "named")

    ended = run_program("run", task, "--agent", "oracle", *options, env=environ, cwd=tmp_path)
    shown = run_program("show", "named", "small", env=environ, cwd=tmp_path)

    assert f"python: 3.11 of {DEFAULT}" in ended.stderr.splitlines()
    document = json.loads((tmp_path / "runs" / "named" / "run.json").read_text())
    (entry,) = document["tasks"]
    assert (entry["image"], entry["python"]) == (DEFAULT, "3.11")
    (record,) = records_of(tmp_path / "runs" / "named")
    assert record.resolved
    assert record.environment.image_name == DEFAULT
    assert record.environment.python is not None
    assert record.environment.python.startswith("3.11.")
    expected = f"ran with Python {record.environment.python} of {DEFAULT}, sandbox docker"
    assert expected in shown.stdout.splitlines()


def test_a_resumed_run_keeps_the_images_that_it_began_with(cache_dir: Path, tmp_path: Path) -> None:
    folder = SmallTask().write(tmp_path / "small")
    task = load_task(folder, mirrors=Mirrors(cache_dir / "mirrors"))
    options = RunOptions(
        agent="noop", sandbox="docker", runs_dir=tmp_path / "runs", cache_dir=cache_dir
    )
    run = start_run([task], options)

    def resumed_after(image: str | None) -> tuple[str | None, tuple[str, ...]]:
        (entry,) = run.configuration.tasks
        entries = (entry.replace(image=image, python=None),)
        run.store.write_configuration(run.configuration.replace(tasks=entries))
        resumed = resume_run(run.store.folder, cache_dir=cache_dir)
        return resumed.planned.tasks[0].environment.image, resumed.warnings

    assert resumed_after("agentbench/python:3.9") == ("agentbench/python:3.9", ())
    assert resumed_after(None) == (
        DEFAULT,
        (
            f"{run.configuration.run_id}: its images were not recorded; "
            f"the remaining attempts run in {DEFAULT}",
        ),
    )


@pytest.mark.soak
@pytest.mark.parametrize(("asked", "python"), [("<3.10", "3.9"), (">=3.13,<3.14", "3.13")])
def test_a_task_is_judged_with_the_python_that_its_project_asks_for(
    tmp_path: Path, environ: dict[str, str], asked: str, python: str
) -> None:
    task = asking(asked).write(tmp_path / "small")
    options = ("--sandbox", "docker", "--run-id", "other")

    built = run_program("images", "build", "--python", python, env=environ, cwd=tmp_path)
    ended = run_program("run", task, "--agent", "oracle", *options, env=environ, cwd=tmp_path)

    name = f"agentbench/python:{python}"
    assert built.stdout.startswith(f"{name} (Python {python}, "), built.stderr
    assert ended.returncode == 0
    assert "resolved 1/1" in ended.stderr
    (record,) = records_of(tmp_path / "runs" / "other")
    assert record.environment.image_name == name
    assert record.environment.python is not None
    assert record.environment.python.startswith(f"{python}.")
