"""Wrong fixes of shipped tasks that weakened tests let through are found by the audit."""

import pytest

from tests.e2e.wrong_fix_audits import TASKS, findings, run_at_weakened

_SECONDS = 240
"""An end for a machine with much to do: the number of inputs and tests ends most before."""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    return run_at_weakened("wrong", tmp_path_factory.mktemp("wrong"))


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize("task", TASKS)
def test_a_wrong_fix_that_passes_weak_tests_is_found(wrong, task, environ, tmp_path):
    found = findings(wrong, task, _SECONDS, env=environ, cwd=tmp_path)
    told = [one for one in found if one["rule"] == "differs-from-reference"]
    assert told, found
    assert all(one["severity"] == "warning" for one in told)
    assert all("the reference " in one["what"] and "(base: " in one["what"] for one in told[:1])
