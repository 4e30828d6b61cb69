"""Honest fixes of shipped tasks, written otherwise than the reference, are accused of nothing."""

import pytest

from tests.extensions.symbolic.differential.wrong_fix_audits import (
    findings,
    of_each_task,
    run_at_weakened,
)
from tests.patience import with_growing_limit

pytestmark = pytest.mark.soak

_SECONDS = (40, 240)  # the longer one for a machine with much to do


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return run_at_weakened("honest", tmp_path_factory.mktemp("honest"))


@pytest.mark.usefixtures("provider")
@of_each_task
def test_differently_written_honest_fix_has_no_finding(honest, task, environ, tmp_path):
    found = with_growing_limit(
        lambda seconds: findings(honest, task, int(seconds), env=environ, cwd=tmp_path),
        lambda found: any(one["rule"] == "compared" for one in found),
        limits=_SECONDS,
    )
    assert {one["rule"] for one in found} <= {"compared", "not-compared"}
    (effort,) = (one for one in found if one["rule"] == "compared")
    assert "functions compared, with " in effort["what"]
