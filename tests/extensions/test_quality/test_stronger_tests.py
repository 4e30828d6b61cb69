"""Stronger tests in real sandboxes, on a task whose hidden tests are weak."""

import pytest

from agentbench.errors import InputError, UsageError
from agentbench.extensions.test_quality.stronger_tests import StrongerPatches
from agentbench.validation.mutation_results import EvidenceKind, score_json, score_lines
from tests.e2e.small_task import BUGGY, SmallTask, patch_of
from tests.extensions.test_quality.test_mutation_measurement import (
    SUMMED,
    WEAK,
    measured,
    settings,
    with_solution,
)

pytestmark = pytest.mark.full

UNSEEN = "def test_nothing():\n    pass\n"
EXACT = "import basket\n\n\ndef test_exact():\n    assert basket.total([1, 2]) == 3\n"
WRONG = "\n\ndef test_wrong():\n    assert basket.total([1, 2]) == 5\n"
STRONGER = patch_of("tests/test_stronger.py", "", EXACT)


def weak_task(folder):
    files = {**SmallTask().files, "tests/test_basket.py": UNSEEN}
    return with_solution(folder / "weak", SUMMED, hidden=WEAK, files=files)


@pytest.fixture
def strength(tmp_path):
    def strength(patch):
        task = weak_task(tmp_path)
        (tmp_path / "stronger.patch").write_text(patch)
        patches = StrongerPatches.read(tmp_path / "stronger.patch", [task.id])
        return measured(task, settings(stronger=patches))

    return strength


def test_survivor_that_fails_a_stronger_test_is_a_certified_wrong_fix(strength):
    score = strength(STRONGER)
    (certified,) = score.certified
    assert certified.change.added == "result = 1"
    (sign,) = certified.evidence
    assert sign.kind is EvidenceKind.STRONGER_TEST
    assert sign.where == "tests/test_stronger.py::test_exact"
    assert sign.what == "assert 4 == 3"
    lines = list(score_lines(score))
    assert "stronger tests: 1 of 1 survivors fail one of 1" in lines
    assert "certified wrong fix: basket.py:5: 0 to 1" in lines
    assert "  fails tests/test_stronger.py::test_exact: assert 4 == 3" in lines
    assert not any(line.startswith("survived") for line in lines)
    (row,) = score_json(score)["certified"]
    assert row["evidence"][0]["where"] == "tests/test_stronger.py::test_exact"


def test_survivor_that_passes_the_stronger_tests_is_not_certified(strength):
    score = strength(patch_of("tests/test_stronger.py", "", EXACT.replace("== 3", "> 2")))
    assert len(score.survivors) == 1
    assert score.certified == ()
    assert "survived: basket.py:5: 0 to 1" in list(score_lines(score))


def test_stronger_test_that_the_reference_fails_does_not_count(strength):
    score = strength(patch_of("tests/test_stronger.py", "", EXACT + WRONG))
    assert (score.stronger.counted, score.stronger.not_counted) == (1, 1)
    ((sign,),) = [one.evidence for one in score.certified]
    assert (sign.where, sign.what) == ("tests/test_stronger.py::test_exact", "assert 4 == 3")


def test_stronger_tests_that_the_reference_fails_certify_nothing(strength):
    score = strength(patch_of("tests/test_stronger.py", "", f"import basket\n{WRONG}"))
    assert score.certified == ()
    assert (
        "stronger tests: none passes with the reference solution, so none counts: 1 fail"
        in list(score_lines(score))
    )


def test_stronger_patch_that_does_not_apply_is_one_line(strength):
    score = strength(patch_of("tests/test_other.py", "a = 1\n", "a = 2\n"))
    (line,) = [one for one in score_lines(score) if one.startswith("stronger tests: ")]
    assert "stronger.patch: does not apply to the base commit: " in line
    assert len(score.survivors) == 1


@pytest.mark.parametrize("before", [WEAK, ""], ids=["hidden tests", "base"])
def test_stronger_patch_applies_to_the_hidden_tests_or_to_the_base(strength, before):
    after = WEAK.replace("> 5", "== 6")
    score = strength(patch_of("tests/test_hidden.py", before, after))
    ((sign,),) = [one.evidence for one in score.certified]
    assert sign.where == "tests/test_hidden.py::test_every_price_counts"


def test_stronger_patch_may_change_visible_tests(strength):
    score = strength(patch_of("tests/test_basket.py", UNSEEN, EXACT))
    ((sign,),) = [one.evidence for one in score.certified]
    assert sign.where == "tests/test_basket.py::test_exact"


def test_stronger_patch_that_changes_the_solution_is_refused(strength):
    score = strength(patch_of("basket.py", BUGGY, f"{BUGGY}\nx = 1\n"))
    assert score.stronger.why_not.endswith(
        "expected only tests, found basket.py, which the solution changes"
    )
    assert score.certified == ()


def test_folder_has_a_patch_for_each_task(tmp_path):
    (tmp_path / "one.patch").write_text(STRONGER)
    found = StrongerPatches.read(tmp_path, ["one", "two"])
    assert set(found.by_task) == {"one"}


def test_task_without_a_patch_in_the_folder_is_named(tmp_path):
    (tmp_path / "other.patch").write_text(STRONGER)
    task = weak_task(tmp_path)
    patches = StrongerPatches.read(tmp_path, ["other", task.id])
    score = measured(task, settings(stronger=patches))
    assert score.stronger.why_not == f"there is no {tmp_path / 'weak.patch'}"


def test_one_patch_for_several_tasks_is_refused(tmp_path):
    (tmp_path / "a.patch").write_text(STRONGER)
    with pytest.raises(UsageError, match=r"expected a folder of TASK_ID\.patch files for 2 tasks"):
        StrongerPatches.read(tmp_path / "a.patch", ["one", "two"])


def test_folder_without_a_fitting_patch_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"expected TASK_ID\.patch files, found none"):
        StrongerPatches.read(tmp_path, ["one"])


def test_missing_patch_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.patch: No such file"):
        StrongerPatches.read(tmp_path / "nowhere.patch", ["one"])
