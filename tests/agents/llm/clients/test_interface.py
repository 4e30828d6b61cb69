import pytest

from agentbench.agents.llm.clients.interface import TRANSIENT, UnansweredError
from agentbench.agents.model_door import AGENTS_OWN_ERRORS, ModelErrorKind, ModelFailure


def test_nothing_that_an_agent_brings_upon_itself_passes_by_itself():
    assert not TRANSIENT & AGENTS_OWN_ERRORS
    assert not TRANSIENT & {ModelErrorKind.AUTH, ModelErrorKind.QUOTA, ModelErrorKind.UNKNOWN_MODEL}


@pytest.mark.parametrize("kind", ModelErrorKind)
def test_by_default_the_kind_says_whether_to_try_again(kind):
    failure = ModelFailure(kind=kind, status=None, message="x")
    assert UnansweredError(failure).may_retry is (kind in TRANSIENT)
    assert not UnansweredError(failure, may_retry=False).may_retry
