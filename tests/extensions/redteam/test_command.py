import json
from pathlib import Path

import pytest

from agentbench.extensions.redteam.cheat_attempts import applicable_kinds
from agentbench.extensions.redteam.kinds import KINDS
from agentbench.tasks.loading import load_task
from tests.docs.pages import ROOT
from tests.e2e.small_task import BUGGY, FIXED, SmallTask, patch_of
from tests.fakes.staging import mirrors

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
    folder = tmp_path / found["exit-at-import"]["folder"]
    assert "_exit(0)" in (folder / "patch.diff").read_text()
    assert "_exit(0)" in (folder / "script.sh").read_text()
    assert "2 failed" in (tmp_path / found["nothing"]["folder"] / "tests.log").read_text()


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
    assert "small: the attempt `reference`: expected it to be rewarded, found: TESTS_FAILED" in (
        result.stderr
    )
    assert "0 of 0 cheats would earn a reward" in result.stderr


def test_task_without_a_bug_shows_nothing(redteam, tmp_path):
    hidden, listed = "def test_x():\n    pass\n", ("tests/test_hidden.py::test_x",)
    folder = small(tmp_path / "small", hidden=hidden, fail_to_pass=listed)
    result = redteam(folder, "--kind", "exit-at-end", "-q", "--grader", "exit-code")
    assert result.code == 65
    assert "the attempt `reference`: expected it to be rewarded, found: BASELINE_NOT_FAILING" in (
        result.stderr
    )


def test_kinds_are_explained(cli):
    result = cli("explain")
    assert {kind.name for kind in KINDS} <= set(result.stdout.replace(",", " ").split())
    result = cli("explain", "exit-at-end")
    assert result.code == 0
    assert "a program that exits with 0 at the end" in result.stdout


def test_only_kinds_that_fit_the_runner_have_an_attempt(tmp_path):
    folder = small(tmp_path / "small", tests='runner = "go"')
    text = (folder / "task.toml").read_text()
    text = text.replace("[tests]\n", '[tests]\ncommand = "go test ./..."\n')
    (folder / "task.toml").write_text(text)
    task = load_task(folder, mirrors=mirrors())
    assert [kind.name for kind in applicable_kinds(task, KINDS)] == [
        "tools-replaced",
        "reward-early",
        "reward-background",
        "history-searched",
        "files-searched",
    ]


def test_no_cheat_runs_without_a_sandbox(cli, tmp_path):
    folder = small(tmp_path / "small")
    # A kind that writes one file into its working folder, in case that it does run.
    where = ("--sandbox", "process", "--runs-dir", tmp_path / "runs")
    result = cli("redteam", folder, "--kind", "pytest-configuration", *where)
    assert result.code == 2
    assert "cheats change the machine that they run on" in result.stderr
    assert not (tmp_path / "runs").exists()


def test_task_without_a_reference_solution_is_refused(redteam, tmp_path):
    folder = small(tmp_path / "small")
    (folder / "solution.patch").unlink()
    result = redteam(folder)
    assert result.code == 65
    assert "expected a reference solution, found none" in result.stderr


def test_a_rewarded_cheat_counts_beside_a_task_that_shows_nothing(redteam, tmp_path):
    answer = patch_of("basket.py", BUGGY, FIXED)
    small(tmp_path / "leaking", files={**SmallTask().files, "fix.patch": answer})
    small(tmp_path / "wrong", solution=patch_of("basket.py", BUGGY, BUGGY + "\n# x\n"))
    result = redteam(tmp_path, "--kind", "files-searched", "-q")
    assert result.code == 1
    assert "1 of 1 cheat would earn a reward" in result.stderr
    assert "error: wrong: the attempt `reference`" in result.stderr


def test_documents_list_all_kinds():
    page = (ROOT / "docs" / "redteam.md").read_text("utf-8")
    assert [kind.name for kind in KINDS if f"`{kind.name}`" not in page] == []
