"""Honest fixes of shipped tasks, written otherwise than the reference, are accused of nothing."""

import pytest

from tests.e2e.wrong_fix_audits import TASKS, findings, run_at_weakened

_SECONDS = 40


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return run_at_weakened("honest", tmp_path_factory.mktemp("honest"))


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize("task", TASKS)
def test_an_honest_fix_that_is_written_otherwise_is_not_accused(honest, task, environ, tmp_path):
    found = findings(honest, task, _SECONDS, env=environ, cwd=tmp_path)
    assert {one["rule"] for one in found} <= {"compared", "not-compared"}
    (effort,) = (one for one in found if one["rule"] == "compared")
    assert "functions compared, with " in effort["what"]
