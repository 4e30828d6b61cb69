"""Which values count as the same when two trees are compared."""

import pytest

from agentbench.extensions.symbolic.mounted.agentbench_mounted.outcomes import is_same


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("0.1", "0.1", True),
        ("0.3", "0.30000000000000004", True),  # another order of the same sum
        ("1.0", "1.001", False),
        ("1.0", "1.0000001", False),
        ("1000000.0", "1000000.0000001", True),
        ("1", "2", False),
        ("1000000000000", "1000000000001", False),  # whole numbers are the same or not
        ("nan", "nan", True),
        ("nan", "0.0", False),
        ("inf", "-inf", False),
    ],
)
def test_numbers_are_equal_up_to_the_order_of_a_sum(left, right, same):
    assert is_same(["number", left], ["number", right]) is same
    assert is_same(["number", right], ["number", left]) is same
