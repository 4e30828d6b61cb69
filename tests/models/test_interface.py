import pytest

from agentbench.models.interface import token_count


@pytest.mark.parametrize("value", [None, "5", 1.5, True, -1, 10**10, [], {}])
def test_what_is_no_number_of_tokens_counts_nothing(value: object) -> None:
    assert token_count(value) == 0


def test_a_number_is_that_number() -> None:
    assert token_count(12) == 12
