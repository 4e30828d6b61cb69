from agentbench.validation.task_validation import find_leaks
from tests.e2e.small_task import FIXED, SmallTask
from tests.fakes.staging import mirrors, small_task


def test_what_leaks_is_found_and_what_a_proof_knows_better_is_not_told(tmp_path):
    files = {**SmallTask().files, "basket.py.orig": FIXED}
    rules = {leak.rule for leak in find_leaks(small_task(tmp_path / "a", files=files), mirrors())}
    assert "solution-in-base" in rules
    assert "weak-control" not in rules


def test_a_clean_task_leaks_nothing(tmp_path):
    assert find_leaks(small_task(tmp_path / "a"), mirrors()) == ()
