"""Evidence holds facts, survives JSON, and says whether a command came to its own end."""

import pytest
from hypothesis import given
from pydantic import ValidationError

from agentbench.scoring.evidence import Ending, Evidence, StageResult
from tests.scoring.strategies import A, attempts, case, command, commands, evidences, ran, report


@given(evidences)
def test_evidence_survives_the_round_trip_through_json(evidence):
    assert Evidence.model_validate_json(evidence.model_dump_json()) == evidence


@given(attempts())
def test_stages_survive_the_round_trip_through_json(stages):
    for result in stages:
        assert StageResult.model_validate_json(result.model_dump_json()) == result


@given(commands)
def test_only_a_command_that_exited_0_by_itself_is_ok(result):
    assert result.ok == (result.ending is Ending.EXITED and result.exit_code == 0)


@pytest.mark.parametrize(
    ("ending", "exit_code", "expected"),
    [
        (Ending.EXITED, 0, True),
        (Ending.EXITED, 137, True),
        (Ending.TIMED_OUT, 0, False),
        (Ending.KILLED, 0, False),
        (Ending.LOST, None, False),
        (Ending.OUT_OF_DISK, 0, False),
        (Ending.OUT_OF_MEMORY, None, False),
        (Ending.OUT_OF_MEMORY, 137, False),
        (Ending.OUT_OF_MEMORY, 1, False),
        (Ending.OUT_OF_MEMORY, 0, True),
    ],
)
def test_a_command_runs_to_its_end_by_exiting_itself(ending, exit_code, expected):
    assert Evidence(command=command(exit_code, ending)).ran_to_end is expected


@pytest.mark.parametrize(
    ("exit_code", "complete", "expected"),
    [(1, True, True), (1, False, False), (2, True, False), (137, True, False), (0, False, True)],
)
def test_a_parent_whose_child_ran_out_of_memory_is_believed_with_a_whole_report(
    exit_code, complete, expected
):
    evidence = Evidence(
        command=command(exit_code, Ending.OUT_OF_MEMORY),
        report=report(case(A, "failed"), complete=complete),
    )
    assert evidence.ran_to_end is expected


def test_without_a_command_nothing_ran():
    assert not Evidence().ran_to_end
    assert not Evidence(report=ran(case(A)).report).ran_to_end


def test_a_field_that_nobody_knows_is_refused():
    with pytest.raises(ValidationError, match="verdict"):
        Evidence.model_validate({"verdict": "resolved"})


def test_a_fact_cannot_be_changed_afterwards():
    result = command(1)
    with pytest.raises(ValidationError, match="frozen"):
        result.exit_code = 0
