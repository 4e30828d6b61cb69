import pytest

from agentbench.extensions.symbolic.analysis import BehaviourDifference
from agentbench.extensions.symbolic.differential.input_search import reproduce_differences
from tests.extensions.symbolic.differential.test_input_search import MANY, WRONG, subject_of

_ = subject_of  # a fixture


@pytest.fixture(scope="module")
def subject(subject_of):
    return subject_of(MANY.replace("def f0(x: int) -> int:\n    return x\n", WRONG))


def difference(*program: str) -> tuple[str, BehaviourDifference]:
    claimed = BehaviourDifference(
        program=program, call="f0(…)", left="returns 1", right="returns 2"
    )
    return "lib.py::f0", claimed


def test_confirmed_result_replaces_the_claimed_one(subject):
    (finding,), doubtful = reproduce_differences(
        subject, [difference("from lib import f0", "f0(77)")]
    )
    assert finding.where == "lib.py::f0"
    assert finding.what == (
        "differs from the reference on f0(…): returns 78; the reference returns 77 "
        "(base: returns 77)"
    )
    assert doubtful == ()


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (("from lib import f0", "f0(1)"), "was not reproduced with each tree in its own sandbox"),
        (
            ("import random, lib", "random.random() + lib.f0(77)"),
            "does not count: the reference behaves differently each time",
        ),
        (("import os", "os._exit(0)"), "was not reproduced: with the reference, "),
    ],
    ids=["equal", "chance", "no-answer"],
)
def test_unconfirmed_finding_is_dropped_with_a_reason(subject, program, why):
    confirmed, (left,) = reproduce_differences(subject, [difference(*program)])
    assert confirmed == ()
    assert left.why.startswith(f"a difference on f0(…) {why}")


def test_empty_search_opens_no_sandbox(subject):
    assert reproduce_differences(subject, []) == ((), ())
