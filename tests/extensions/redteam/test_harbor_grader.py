"""Many scripts on Harbor tasks in one job, with a program that writes results as Harbor does."""

import sys
from pathlib import Path

import pytest

from agentbench.errors import UnavailableError
from agentbench.extensions.redteam.harbor_grader import run_harbor

_HARBOR = f"""#!{sys.executable}
import json
import sys
from pathlib import Path

options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
for task in Path(options["--path"]).iterdir():
    script = (task / "solution" / "solve.sh").read_text()
    if script == "absent":
        continue
    rewards, error = {{"reward": 1.0, "style": 0.5}}, None
    if script == "raises":
        rewards = None
        error = {{"exception_type": "RewardFileNotFoundError", "exception_message": "none found"}}
    if script == "styles":
        rewards = {{"style": 0.5, "speed": 0.25}}
    result = {{
        "config": {{"task": {{"path": str(task)}}}},
        "verifier_result": rewards and {{"rewards": rewards}},
        "exception_info": error,
    }}
    trial = Path(options["--jobs-dir"], options["--job-name"], task.name + "__x7")
    trial.mkdir(parents=True)
    (trial / "result.json").write_text(json.dumps(result))
    (trial / "files").write_text(" ".join(sorted(p.name for p in (task / "solution").iterdir())))
"""


@pytest.fixture
def task(tmp_path: Path) -> Path:
    solution = tmp_path / "task" / "solution"
    solution.mkdir(parents=True)
    (solution / "solve.sh").write_text("own")
    (solution / "solution.patch").write_text("a patch")
    return solution.parent


def _program(tmp_path: Path, text: str) -> Path:
    program = tmp_path / "harbor"
    program.write_text(text)
    program.chmod(0o755)
    return program


def test_each_script_gets_its_reward(tmp_path: Path, task: Path) -> None:
    tasks = {name: (task, name) for name in ("solves", "raises", "styles", "absent")}
    jobs_dir = tmp_path / "jobs"
    found = run_harbor(_program(tmp_path, _HARBOR), tasks, jobs_dir, 2)
    assert {name: trial.reward for name, trial in found.items()} == {
        "solves": 1.0,
        "raises": None,
        "styles": 0.25,
        "absent": None,
    }
    assert found["solves"].says == "reward 1.0, style 0.5"
    assert found["raises"].says == "RewardFileNotFoundError: none found"
    assert found["solves"].kept.is_relative_to(jobs_dir)
    assert found["absent"].kept.is_file()


def test_script_finds_no_file_of_the_solution(tmp_path: Path, task: Path) -> None:
    tasks: dict[str, tuple[Path, str | None]] = {"script": (task, "solves"), "own": (task, None)}
    found = run_harbor(_program(tmp_path, _HARBOR), tasks, tmp_path / "jobs", 1)
    assert (found["script"].kept / "files").read_text() == "solve.sh"
    assert (found["own"].kept / "files").read_text() == "solution.patch solve.sh"


def test_harbor_that_fails_is_unavailable(tmp_path: Path, task: Path) -> None:
    program = _program(tmp_path, "#!/bin/sh\necho no engine >&2\nexit 1\n")
    with pytest.raises(UnavailableError, match="no engine"):
        run_harbor(program, {"one": (task, None)}, tmp_path / "jobs", 1)


def test_missing_harbor_is_unavailable(tmp_path: Path, task: Path) -> None:
    with pytest.raises(UnavailableError, match="does not start"):
        run_harbor(tmp_path / "harbor", {"one": (task, None)}, tmp_path / "jobs", 1)
