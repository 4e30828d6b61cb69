import pytest

from agentbench.taxonomy import Fault
from agentbench.view.queries import BadQueryError, parse_positive_int, parse_word


def test_a_word_is_one_of_those_that_there_are():
    assert parse_word(Fault, "fault", {"fault": "agent"}) is Fault.AGENT
    assert parse_word(Fault, "fault", {}) is None
    assert parse_word(Fault, "fault", {"fault": ""}) is None
    with pytest.raises(BadQueryError, match="fault: found 'x'; expected one of task, "):
        parse_word(Fault, "fault", {"fault": "x"})


@pytest.mark.parametrize(("said", "number"), [("1", 1), ("999999", 999_999), ("007", 7), ("", 3)])
def test_a_number_is_read(said, number):
    assert parse_positive_int("page", {"page": said}, default=3) == number


@pytest.mark.parametrize("said", ["0", "-1", "1.5", "x", "1e3", "1000000", "٣", "9" * 5_000, " 1"])
def test_what_is_no_number_is_told(said):
    with pytest.raises(BadQueryError, match=r"page: found .*; expected a number"):
        parse_positive_int("page", {"page": said}, default=1)
