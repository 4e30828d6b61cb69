import pytest

from agentbench.models.conversation import TRANSIENT_ERRORS, UnansweredError
from agentbench.models.interface import (
    AGENTS_OWN_ERRORS,
    ModelErrorKind,
    ModelFailure,
    ModelTraffic,
    token_count,
)


@pytest.mark.parametrize("value", [None, "5", 1.5, True, -1, 10**10, [], {}])
def test_what_is_no_number_of_tokens_counts_nothing(value: object) -> None:
    assert token_count(value) == 0


def test_a_number_is_that_number() -> None:
    assert token_count(12) == 12


def test_nothing_that_an_agent_brings_upon_itself_passes_by_itself():
    assert not TRANSIENT_ERRORS & AGENTS_OWN_ERRORS
    assert not TRANSIENT_ERRORS & {
        ModelErrorKind.AUTH,
        ModelErrorKind.QUOTA,
        ModelErrorKind.UNKNOWN_MODEL,
    }


@pytest.mark.parametrize("kind", ModelErrorKind)
def test_by_default_the_kind_says_whether_to_try_again(kind):
    failure = ModelFailure(kind=kind, status=None, message="x")
    assert UnansweredError(failure).may_retry is (kind in TRANSIENT_ERRORS)
    assert not UnansweredError(failure, may_retry=False).may_retry


def test_an_unpriced_door_costs_nobody_knows_what_and_not_nothing():
    assert ModelTraffic().usage.cost_usd is None


@pytest.mark.parametrize(
    "kind",
    [
        ModelErrorKind.RATE_LIMIT,
        ModelErrorKind.OVERLOADED,
        ModelErrorKind.SERVER_ERROR,
        ModelErrorKind.AUTH,
        ModelErrorKind.QUOTA,
        ModelErrorKind.UNKNOWN_MODEL,
        ModelErrorKind.TIMEOUT,
        ModelErrorKind.CONNECTION,
        ModelErrorKind.CUT_STREAM,
    ],
)
def test_what_the_provider_does_is_never_held_against_an_agent(kind):
    assert kind not in AGENTS_OWN_ERRORS


def test_what_an_agent_sends_is_its_own():
    assert set(ModelErrorKind) > AGENTS_OWN_ERRORS > {ModelErrorKind.MALFORMED}
