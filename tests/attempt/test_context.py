from datetime import timedelta
from pathlib import PurePosixPath as P

import pytest

from agentbench.errors import GitCheckoutError
from agentbench.sandbox.interface import Limits
from tests.e2e.small_task import HIDDEN
from tests.fakes.staging import small_task, staged


def test_context_has_the_limits_of_the_task(provider, desk, tmp_path):
    environment = "cpus = 0.5\nmemory_mib = 300\npids = 50\ndisk_mib = 400\nfiles = 7000"
    task = small_task(tmp_path / "small", environment=environment)
    with staged(task, provider, desk, timeout_scale=1.5) as context:
        assert context.inputs.limits == Limits(
            cpus=0.5, memory_mib=300, pids=50, disk_mib=400, files=7000
        )
        assert context.settings.scaled(10) == timedelta(seconds=15)


def test_tests_patch_becomes_files(provider, desk, tmp_path):
    with staged(small_task(tmp_path / "small"), provider, desk) as context:
        files = context.inputs.hidden_tests.files
    assert list(files) == [P("tests/test_hidden.py")]
    hidden = files[P("tests/test_hidden.py")]
    assert hidden is not None
    assert hidden.content == HIDDEN.encode()


def test_no_tests_patch_gives_no_files(provider, desk, tmp_path):
    with staged(small_task(tmp_path / "small", hidden=""), provider, desk) as context:
        assert context.inputs.hidden_tests.files == {}


def test_inapplicable_tests_patch_is_the_tasks_fault(provider, desk, tmp_path):
    task = small_task(tmp_path / "small")
    patch = b"--- a/basket.py\n+++ b/basket.py\n@@ -1 +1 @@\n-no such line\n+x\n"
    key = task.answer_key.replace(tests_patch=patch)
    with (
        staged(task.replace(answer_key=key), provider, desk) as context,
        pytest.raises(GitCheckoutError, match=r"tests\.patch: does not apply"),
    ):
        context.inputs.hidden_tests.check()
