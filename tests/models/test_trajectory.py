import json

import jsonschema
import pytest
from pydantic import ValidationError

from agentbench.models.trajectory import Step, Trajectory
from tests.models.test_build import CALL, RESULT, TASK, completion, exchange, says, told

# What ATIF 1.8 demands beyond the shape of each object.
AGENT_ONLY = ("model_name", "reasoning_content", "tool_calls", "metrics", "llm_call_count")


def written():
    made = told(
        exchange([TASK], completion(CALL)),
        exchange([TASK, CALL, RESULT], completion(says("done"))),
    )
    return json.loads(made.model_dump_json(exclude_none=True))


def test_what_is_written_fits_the_schema():
    jsonschema.validate(written(), Trajectory.model_json_schema())


def test_only_an_agents_step_bears_what_only_an_agent_has():
    for step in written()["steps"]:
        if step["source"] != "agent":
            assert not set(AGENT_ONLY) & set(step)


def test_an_observation_answers_a_call_of_its_own_step():
    for step in written()["steps"]:
        calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
        results = step.get("observation", {"results": ()})["results"]
        assert {result["source_call_id"] for result in results} <= calls


def test_steps_count_from_one():
    with pytest.raises(ValidationError, match="step_id"):
        Step(step_id=0, source="user", message="")
