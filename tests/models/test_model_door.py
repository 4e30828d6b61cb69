import pytest

from agentbench.models.interface import AGENTS_OWN_ERRORS, ModelErrorKind, ModelTraffic


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
