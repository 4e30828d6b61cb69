import pytest
from pydantic import ValidationError

from agentbench.scoring.evidence import CaseOutcome, NodeId, PytestOutcome, ReportSource
from agentbench.test_runs.model import CaseResult, PytestResult, PytestSummary
from agentbench.test_runs.report_files import result_as_dict

CASE = CaseResult(
    node_id=NodeId("a.py::b"), outcome=CaseOutcome.PASSED, duration=0.5, phases=(1, 1, 1)
)
RESULT = PytestResult(
    exit_code=0,
    summary=PytestSummary(total=1, passed=1),
    tests=(CASE,),
    outcome=PytestOutcome.PASSED,
    source=ReportSource.STREAM,
    internals_changed=("pluggy.x",),
)


def test_a_test_is_written_in_the_five_fields_of_the_decision_record():
    assert list(result_as_dict(RESULT)["tests"][0]) == [
        "node_id",
        "outcome",
        "duration",
        "message",
        "traceback",
    ]


def test_a_result_survives_the_round_trip_through_json():
    back = PytestResult.model_validate_json(RESULT.model_dump_json())
    assert result_as_dict(back) == result_as_dict(RESULT)


def test_an_unknown_field_is_refused():
    with pytest.raises(ValidationError, match="surprise"):
        PytestResult.model_validate({**result_as_dict(RESULT), "surprise": 1})
