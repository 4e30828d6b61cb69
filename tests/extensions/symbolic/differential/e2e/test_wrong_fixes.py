"""Wrong fixes of shipped tasks that weakened tests let through are found by the audit.

The gate audits smaller ones: test_cases.py and test_run_comparison.py.
"""

import pytest

from tests.extensions.symbolic.differential.wrong_fix_audits import (
    findings,
    of_each_task,
    run_at_weakened,
)
from tests.patience import with_growing_limit

pytestmark = pytest.mark.soak

_SECONDS = (240, 600)
"""Ends for a machine with much to do: the number of inputs and tests ends most before."""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    return run_at_weakened("wrong", tmp_path_factory.mktemp("wrong"))


@pytest.mark.usefixtures("provider")
@of_each_task
def test_wrong_fix_that_passes_weak_tests_is_found(wrong, task, environ, tmp_path):
    told = with_growing_limit(
        lambda seconds: [
            one
            for one in findings(wrong, task, int(seconds), env=environ, cwd=tmp_path)
            if one["rule"] == "differs-from-reference"
        ],
        bool,
        limits=_SECONDS,
    )
    assert all(one["severity"] == "warning" for one in told)
    assert all("the reference " in one["what"] and "(base: " in one["what"] for one in told[:1])
