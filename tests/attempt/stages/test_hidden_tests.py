from pathlib import PurePosixPath as P

import pytest

from agentbench.errors import GitCheckoutError
from tests.e2e.small_task import HIDDEN
from tests.fakes.staging import small_task, staged


def test_the_patch_becomes_files(provider, desk, tmp_path):
    with staged(small_task(tmp_path / "small"), provider, desk) as context:
        files = context.inputs.hidden_tests.files
    assert list(files) == [P("tests/test_hidden.py")]
    hidden = files[P("tests/test_hidden.py")]
    assert hidden is not None
    assert hidden.content == HIDDEN.encode()


def test_without_a_patch_there_are_none(provider, desk, tmp_path):
    with staged(small_task(tmp_path / "small", hidden=""), provider, desk) as context:
        assert context.inputs.hidden_tests.files == {}


def test_a_patch_that_does_not_fit_is_the_tasks_fault(provider, desk, tmp_path):
    task = small_task(tmp_path / "small")
    patch = b"--- a/basket.py\n+++ b/basket.py\n@@ -1 +1 @@\n-no such line\n+x\n"
    key = task.answer_key.replace(tests_patch=patch)
    with (
        staged(task.replace(answer_key=key), provider, desk) as context,
        pytest.raises(GitCheckoutError, match=r"tests\.patch: does not apply"),
    ):
        context.inputs.hidden_tests.check()
