import pytest

from agentbench.scoring.taxonomy import Fault
from agentbench.view.query import BadQueryError, member, whole_number


def test_a_word_is_one_of_those_that_there_are():
    assert member(Fault, "fault", {"fault": "agent"}) is Fault.AGENT
    assert member(Fault, "fault", {}) is None
    assert member(Fault, "fault", {"fault": ""}) is None
    with pytest.raises(BadQueryError, match="fault: found 'x'; expected one of task, "):
        member(Fault, "fault", {"fault": "x"})


@pytest.mark.parametrize(("said", "number"), [("1", 1), ("999999", 999_999), ("007", 7), ("", 3)])
def test_a_number_is_read(said, number):
    assert whole_number("page", {"page": said}, default=3) == number


@pytest.mark.parametrize("said", ["0", "-1", "1.5", "x", "1e3", "1000000", "٣", "9" * 5_000, " 1"])
def test_what_is_no_number_is_told(said):
    with pytest.raises(BadQueryError, match=r"page: found .*; expected a number"):
        whole_number("page", {"page": said}, default=1)
