import jsonschema
import pytest
from pydantic import ValidationError

from agentbench.scoring.evidence import PytestOutcome
from agentbench.test_runs.model import PytestResult
from agentbench.test_tools.answers import answer_to_error, invalid_arguments
from agentbench.test_tools.envelope import SERIALIZED_FIELDS, PytestAnswer


def test_every_field_that_the_serializer_shows_is_in_the_envelope():
    shown = {name for name, field in PytestResult.model_fields.items() if not field.exclude}
    assert set(SERIALIZED_FIELDS) == shown


def test_every_outcome_of_a_run_is_an_outcome_of_the_envelope():
    for outcome in PytestOutcome:
        PytestAnswer(status="success", outcome=outcome.value, message="")


def test_an_outcome_that_is_not_in_the_table_is_refused():
    with pytest.raises(ValidationError):
        PytestAnswer(status="success", outcome="fine", message="")


@pytest.mark.parametrize(
    "answer", [invalid_arguments(["a"]), answer_to_error("path_outside_root", "a")]
)
def test_answers_fit_the_schema_and_the_schema_is_one(answer):
    jsonschema.Draft202012Validator.check_schema(
        PytestAnswer.model_json_schema(mode="serialization")
    )
    jsonschema.validate(answer, PytestAnswer.model_json_schema(mode="serialization"))
