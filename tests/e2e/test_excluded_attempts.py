"""The exit code of a run in which tasks, and not agents, failed."""

import pytest

from tests.e2e.program import run_program
from tests.e2e.small_task import FIXED, SmallTask

FILES = SmallTask().files
BROKEN = {
    "no bug": SmallTask(files={**FILES, "basket.py": FIXED}, solution=" "),
    "no set-up": SmallTask(setup='commands = ["exit 3"]'),
    "no repository": SmallTask(repo='url = "file:///nowhere.git"\ncommit = "' + "a" * 40 + '"'),
}


@pytest.mark.parametrize("names", [("no bug",), ("no set-up",), ("no repository", "no bug")])
def test_a_run_in_which_only_tasks_failed_exits_with_65(names, environ, tmp_path):
    for name in names:
        BROKEN[name].write(tmp_path / "tasks" / name.replace(" ", "-"))
    said = run_program(
        "run", "tasks", "--agent", "noop", "--sandbox", "process", env=environ, cwd=tmp_path
    )
    assert said.returncode == 65, said.stderr
    assert "no attempt was judged: each failed by the fault of its task" in said.stderr


def test_one_judged_attempt_is_a_result(environ, tmp_path):
    BROKEN["no bug"].write(tmp_path / "tasks" / "broken")
    SmallTask().write(tmp_path / "tasks" / "small")
    said = run_program(
        "run", "tasks", "--agent", "noop", "--sandbox", "process", env=environ, cwd=tmp_path
    )
    assert said.returncode == 0, said.stderr
    assert "no attempt was judged" not in said.stderr
