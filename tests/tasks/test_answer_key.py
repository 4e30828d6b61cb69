import pytest
from pydantic import ValidationError

from agentbench.tasks.task import AnswerKey


def test_passing_tests_are_ids_or_the_baselines():
    assert AnswerKey(pass_to_pass="baseline").pass_to_pass == "baseline"
    assert AnswerKey(pass_to_pass=("a::b",)).pass_to_pass == ("a::b",)
    with pytest.raises(ValidationError):
        AnswerKey(pass_to_pass="all")


def test_a_patch_is_kept_byte_for_byte():
    patch = "-ä\r\n+ö\n".encode()
    assert AnswerKey(solution_patch=patch).solution_patch == patch
