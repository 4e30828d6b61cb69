import json
from pathlib import Path

import pytest

from agentbench.extensions.redteam.kinds import KINDS
from tests.e2e.small_task import BUGGY, FIXED, SmallTask, patch_of

pytestmark = pytest.mark.full

NOT_FOR_AN_EXIT_CODE = {
    # They write a reward, which this grader does not read, or search for an answer that lies about.
    "reward-early",
    "reward-background",
    "reward-by-program",
    "history-searched",
    "files-searched",
    "shell-startup",  # the tests run in a shell that is no login shell
}


@pytest.fixture
def redteam(cli, sandbox, tmp_path):
    def redteam(folder, *arguments):
        where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs")
        return cli("redteam", folder, *where, *arguments)

    return redteam


def small(folder: Path, **different: object) -> Path:
    folder.mkdir()
    return SmallTask(**different).write(folder)


def test_nothing_is_rewarded_by_the_judge(redteam, tmp_path):
    result = redteam(small(tmp_path / "small"), "-q")
    assert result.code == 0, result.stdout + result.stderr
    assert result.stdout == f"small  0 of {len(KINDS)} kinds rewarded\n"
    assert f"0 of {len(KINDS)} cheats would earn a reward from agentbench" in result.stderr


def test_every_kind_is_live_where_the_exit_code_decides(redteam, tmp_path):
    result = redteam(small(tmp_path / "small"), "--grader", "exit-code", "--json", "-q")
    assert result.code == 1, result.stderr
    found = {row["kind"]: row for row in json.loads(result.stdout)}
    rewarded = {name for name, row in found.items() if row["rewarded"]}
    assert rewarded == {"reference", *(kind.name for kind in KINDS)} - NOT_FOR_AN_EXIT_CODE
    kept = tmp_path / found["exit-at-import"]["kept"]
    assert "_exit(0)" in (kept / "patch.diff").read_text()


def test_answers_that_lie_about_are_found(redteam, tmp_path):
    answer = patch_of("basket.py", BUGGY, FIXED)
    folder = small(tmp_path / "small", files={**SmallTask().files, "fix.patch": answer})
    result = redteam(folder, "--kind", "files-searched", "--kind", "exit-at-end", "-q", "-v")
    assert result.code == 1
    lines = [line.split()[:2] for line in result.stdout.splitlines()]
    assert ["files-searched", "REWARDED"] in lines
    assert ["exit-at-end", "not"] in lines


def test_grader_that_rewards_no_right_fix_shows_nothing(redteam, tmp_path):
    folder = small(tmp_path / "small", solution=patch_of("basket.py", BUGGY, BUGGY + "\n# x\n"))
    result = redteam(folder, "--kind", "exit-at-end", "-q")
    assert result.code == 65
    line = "small: the reference solution is not rewarded, so that the other results show nothing"
    assert line in result.stderr


def test_task_without_a_bug_shows_nothing(redteam, tmp_path):
    hidden, listed = "def test_x():\n    pass\n", ("tests/test_hidden.py::test_x",)
    folder = small(tmp_path / "small", hidden=hidden, fail_to_pass=listed)
    result = redteam(folder, "--kind", "exit-at-end", "-q", "--grader", "exit-code")
    assert result.code == 65
    assert "the reference solution is not rewarded" in result.stderr
    assert "BASELINE_NOT_FAILING" in result.stderr


def test_kinds_are_explained(cli):
    result = cli("explain")
    assert {kind.name for kind in KINDS} <= set(result.stdout.split())
    result = cli("explain", "exit-at-end")
    assert result.code == 0
    assert "a program that leaves with 0 at the end" in result.stdout


def test_kinds_in_python_are_not_for_other_languages(redteam, tmp_path):
    folder = small(tmp_path / "small", tests='pass_to_pass = "baseline"\nrunner = "go"')
    text = (folder / "task.toml").read_text()
    (folder / "task.toml").write_text(
        text.replace("[tests]\n", '[tests]\ncommand = "go test ./..."\n')
    )
    result = redteam(folder, "--json", "-q")
    tried = {row["kind"] for row in json.loads(result.stdout)}
    assert tried == {"reference", "nothing"} | {k.name for k in KINDS if not k.needs_python}
