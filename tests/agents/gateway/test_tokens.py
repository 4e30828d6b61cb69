import pytest

from agentbench.agents.gateway.tokens import counted


@pytest.mark.parametrize("value", [None, "5", 1.5, True, -1, 10**10, [], {}])
def test_what_is_no_number_of_tokens_counts_nothing(value: object) -> None:
    assert counted(value) == 0


def test_a_number_is_that_number() -> None:
    assert counted(12) == 12
