import pytest

from agentbench.models.conversation import TRANSIENT_ERRORS, UnansweredError
from agentbench.models.interface import (
    AGENTS_OWN_ERRORS,
    ModelErrorKind,
    ModelFailure,
    token_count,
)


@pytest.mark.parametrize("value", [None, "5", 1.5, True, -1, 10**10, [], {}])
def test_malformed_token_count_is_zero(value: object) -> None:
    assert token_count(value) == 0


def test_token_count_is_read() -> None:
    assert token_count(12) == 12


def test_errors_of_agent_are_not_transient():
    assert not TRANSIENT_ERRORS & AGENTS_OWN_ERRORS
    assert not TRANSIENT_ERRORS & {
        ModelErrorKind.AUTH,
        ModelErrorKind.QUOTA,
        ModelErrorKind.UNKNOWN_MODEL,
    }


@pytest.mark.parametrize("kind", ModelErrorKind)
def test_kind_decides_whether_to_retry(kind):
    failure = ModelFailure(kind=kind, status=None, message="x")
    assert UnansweredError(failure).may_retry is (kind in TRANSIENT_ERRORS)
    assert not UnansweredError(failure, may_retry=False).may_retry


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
def test_errors_of_provider_are_not_the_agents(kind):
    assert kind not in AGENTS_OWN_ERRORS


def test_malformed_request_is_the_agents_error():
    assert set(ModelErrorKind) > AGENTS_OWN_ERRORS > {ModelErrorKind.MALFORMED}
