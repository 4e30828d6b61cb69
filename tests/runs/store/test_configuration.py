import json

import pytest
from pydantic import ValidationError

from agentbench.errors import InputError
from agentbench.runs.store.configuration import RunConfiguration, RunEnding, refuse_newer
from tests.runs.records import configuration


def test_a_run_comes_back_from_its_file_as_it_was():
    made = configuration(ending=RunEnding.FINISHED, max_cost_usd=1.5, host={"cpus": "2"})
    assert RunConfiguration.model_validate_json(made.model_dump_json()) == made


def test_a_run_that_was_killed_says_nothing_about_its_end():
    assert '"ending":null' in configuration().model_dump_json()


def test_a_field_that_nobody_knows_is_refused():
    with pytest.raises(ValidationError):
        configuration(surprise=1)


def test_a_document_of_a_newer_version_is_refused():
    with pytest.raises(InputError, match="x: schema_version 9 is of a newer agentbench"):
        refuse_newer("x", json.dumps({"schema_version": 9}).encode())
    for other in (b"", b"[]", b'{"schema_version": 1}', b'{"schema_version": "9"}', b"[" * 100_000):
        refuse_newer("x", other)
