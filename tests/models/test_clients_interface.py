import pytest

from agentbench.models.conversation import TRANSIENT_ERRORS, UnansweredError
from agentbench.models.interface import AGENTS_OWN_ERRORS, ModelErrorKind, ModelFailure


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
