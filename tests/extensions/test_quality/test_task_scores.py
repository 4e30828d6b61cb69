import json
import os
import signal
from contextlib import contextmanager

import pytest
import typer

from agentbench.extensions.test_quality.task_scores import measure_valid_tasks
from agentbench.runs.options import RunOptions
from agentbench.tasks.problem import TaskId
from agentbench.validation.mutation_results import (
    MutationScope,
    MutationScore,
    score_json,
    score_lines,
)
from agentbench.validation.stored_proof import read_proof
from agentbench.validation.task_validation import ValidationResult
from tests.e2e.small_task import BUGGY, SmallTask, patch_of
from tests.extensions.test_quality.test_mutation_measurement import SUMMED, WEAK, Faulty
from tests.fakes.staging import local_provider
from tests.validation.test_mutation_results import strength_of

pytestmark = pytest.mark.full


@pytest.fixture
def weak(tmp_path):
    (tmp_path / "weak").mkdir()
    files = {**SmallTask().files, "tests/test_basket.py": "def test_nothing():\n    pass\n"}
    folder = SmallTask(hidden=WEAK, files=files).write(tmp_path / "weak")
    (folder / "solution.patch").write_text(patch_of("basket.py", BUGGY, SUMMED))
    return folder


@pytest.fixture
def validate(cli, sandbox, tmp_path):
    def validate(path, *arguments):
        where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--repeat", "1")
        return cli("validate", path, *where, "--quiet", "--strength", *arguments)

    return validate


def test_what_the_tests_let_pass_is_named_and_kept(validate, weak):
    result = validate(weak, "--record", "--search-seconds", "0")
    assert result.code == 0, result.stderr
    assert "  survived: basket.py:5: 0 to 1\n" in result.stdout
    assert "    - result = 0\n    + result = 1\n" in result.stdout
    strength = read_proof(weak).strength
    assert f"strength: {strength.killed} of {strength.total} (" in result.stdout
    assert [one.change.added for one in strength.survivors] == ["result = 1"]


def test_stronger_tests_certify_what_the_tests_let_pass(validate, weak, tmp_path):
    exact = "import basket\n\n\ndef test_exact():\n    assert basket.total([1, 2]) == 3\n"
    (tmp_path / "stronger.patch").write_text(patch_of("tests/test_stronger.py", "", exact))
    stronger = ("--stronger-tests", tmp_path / "stronger.patch", "--search-seconds", "0")
    result = validate(weak, *stronger, "--record")
    assert result.code == 0, result.stderr
    assert "  certified wrong fix: basket.py:5: 0 to 1\n" in result.stdout
    assert "  fails tests/test_stronger.py::test_exact: assert 4 == 3\n" in result.stdout
    assert "killed, certified wrong fixes: 1\n" in result.stderr
    (certified,) = read_proof(weak).strength.certified
    assert certified.evidence[0].where == "tests/test_stronger.py::test_exact"


def test_stronger_tests_that_are_missing_are_named_before_anything_runs(validate, weak, tmp_path):
    result = validate(weak, "--stronger-tests", tmp_path / "nowhere.patch")
    assert result.code == 65, result.stderr
    assert "nowhere.patch: No such file" in result.stderr
    assert result.stdout == ""


def test_tests_weaker_than_asked_are_1(validate, weak):
    result = validate(weak, "--min-strength", "99", "--json")
    assert result.code == 1, result.stderr
    (row,) = json.loads(result.stdout)
    assert row["valid"] is True
    assert row["strength"]["killed"] == row["strength"]["total"] - 1
    assert row["strength"]["survivors"][0]["path"] == "basket.py"
    assert "warning: weak-tests: weak: " in result.stderr
    assert "; required: 99 %" in result.stderr


def test_task_that_is_not_valid_has_no_strength_and_reaches_none(validate, tasks):
    result = validate(tasks, "--min-strength", "0", "--mutants", "1")
    assert result.code == 1, result.stderr
    assert "strength: 1 of 1 (100.0 %) mutants killed" in result.stdout
    assert "  strength: not measured: the task is not valid\n" in result.stdout
    assert "weak-tests: second: not measured" in result.stderr
    assert "weak-tests: first" not in result.stderr


def test_without_being_asked_for_nothing_is_measured(cli, sandbox, tasks, tmp_path):
    where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--repeat", "1")
    result = cli("validate", tasks / "first", *where, "--json", "--quiet")
    assert "strength" not in json.loads(result.stdout)[0]


class Signalling(Faulty):
    @contextmanager
    def open(self, source, **options):
        with self._inner.open(source, **options) as sandbox:
            os.kill(os.getpid(), signal.SIGINT)
            yield sandbox


def test_ctrl_c_ends_it_with_130(weak):
    before = signal.getsignal(signal.SIGINT)
    proven = [ValidationResult(folder=weak, task_id=TaskId("weak"), reasons=())]
    options = RunOptions(sandbox=Signalling(local_provider(), ()))
    with pytest.raises(typer.Exit) as ended:
        measure_valid_tasks(proven, options, most=60, seed=0)
    assert ended.value.exit_code == 130
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("option", [("--min-strength", "101"), ("--mutants", "0")])
def test_numbers_that_make_no_sense_are_2(validate, weak, option):
    assert validate(weak, *option).code == 2


def test_survivors_are_shown_with_their_lines():
    assert list(score_lines(strength_of(killed=1, survived=1))) == [
        "strength: 1 of 2 (50.0 %) mutants killed, in the lines of the fix",
        "survived: a.py:3: < to <=",
        "  - a < b",
        "  + a <= b",
    ]


def test_all_that_is_not_plainly_killed_is_counted():
    strength = strength_of(killed=2, timed_out=1, broken=4, not_judged=1).replace(
        made=20, equivalent=3, seed=7, scope=MutationScope.FUNCTIONS
    )
    line = (
        "strength: 3 of 3 (100.0 %) mutants killed, in the functions that the fix touches; "
        "1 by the deadline; 4 broken and not counted; 3 equivalent and left out; 1 not judged; "
        "8 of 20 drawn, seed 7"
    )
    assert next(score_lines(strength)) == line


def test_what_was_not_measured_has_a_reason_and_no_figure():
    assert list(score_lines(MutationScore(why_not="there is none"))) == [
        "strength: not measured: there is none"
    ]
    assert score_json(MutationScore(why_not="there is none"))["percent"] is None


def test_row_has_the_counts_and_the_survivors():
    row = score_json(strength_of(killed=2, timed_out=1, survived=1, not_judged=1))
    assert (row["killed"], row["total"], row["timed_out"], row["not_judged"]) == (3, 4, 1, 1)
    assert [one["line"] for one in row["survivors"]] == [3]
    assert len(row["not_judged_mutants"]) == 1
    assert "mutants" not in row
