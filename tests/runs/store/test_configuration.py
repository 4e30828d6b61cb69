import pytest
from pydantic import ValidationError

from agentbench.runs.store.configuration import RunConfiguration, RunEnding
from tests.runs.records import configuration


def test_a_run_comes_back_from_its_file_as_it_was():
    made = configuration(ending=RunEnding.FINISHED, max_cost_usd=1.5, host={"cpus": "2"})
    assert RunConfiguration.model_validate_json(made.model_dump_json()) == made


def test_a_run_that_was_killed_says_nothing_about_its_end():
    assert '"ending":null' in configuration().model_dump_json()


def test_a_field_that_nobody_knows_is_refused():
    with pytest.raises(ValidationError):
        configuration(surprise=1)
