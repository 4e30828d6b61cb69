"""A failure is a value that crosses files."""

import pytest
from hypothesis import given
from pydantic import ValidationError

from agentbench.scoring.classification import Failure
from tests.scoring.strategies import failures


@given(failures)
def test_a_failure_survives_the_round_trip_through_json(failure):
    assert Failure.model_validate_json(failure.model_dump_json()) == failure


def test_a_failure_is_terminal_unless_said_otherwise():
    failure = Failure(stage="setup", reason="SETUP_FAILED", fault="task", detail="exit code 1")
    assert failure.terminal


def test_a_failure_with_a_reason_outside_the_taxonomy_is_refused():
    with pytest.raises(ValidationError, match="reason"):
        Failure(stage="setup", reason="BAD_WEATHER", fault="task", detail="")
