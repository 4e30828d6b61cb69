import pytest
from pydantic import ValidationError

from agentbench.tasks.problem import AgentLimits, Problem, TaskId
from agentbench.tasks.task import AnswerKey


@pytest.fixture
def problem():
    return Problem(
        id=TaskId("t"), title="T", instruction="Fix it", test_command="pytest", test_timeout_s=1
    )


def test_no_field_of_the_answer_key_is_a_field_of_the_problem():
    assert not set(Problem.model_fields) & set(AnswerKey.model_fields)


def test_a_problem_refuses_what_it_should_not_know(problem):
    with pytest.raises(ValidationError, match="solution_patch"):
        Problem.model_validate({**problem.model_dump(), "solution_patch": b"x"})


def test_a_problem_survives_json(problem):
    assert Problem.model_validate_json(problem.model_dump_json()) == problem


def test_an_agent_has_half_an_hour_fifty_steps_and_two_dollars(problem):
    assert problem.limits == AgentLimits(timeout_s=1800, max_steps=50, max_cost_usd=2)
