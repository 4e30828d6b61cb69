import pytest

from agentbench.report.summary import common_agent_error
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.taxonomy import FailureReason, Fault
from tests.runs.records import failed, resolved


def crashed(detail, reason=FailureReason.UNKNOWN, fault=Fault.AGENT):
    changes = {"failure_reason": reason, "fault": fault, "detail": detail}
    return AttemptSummary.of(failed().replace(**changes))


ZERO = crashed("ZeroDivisionError: division by zero (mine.py, line 7)")


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ([], None),
        ([ZERO], "The attempt ended in an agent error: ZeroDivisionError: division by zero"),
        ([ZERO, ZERO], "All 2 attempts ended in the same agent error: ZeroDivisionError: division"),
        (
            [crashed("KeyError: 'a'"), crashed("KeyError: 'b'")],
            "All 2 attempts ended in the same agent error: KeyError: 'a'",
        ),
        (
            [crashed("Agent command not found: my-agent", FailureReason.TOOL_ERROR)],
            "The attempt ended in an agent error: Agent command not found: my-agent",
        ),
        ([ZERO, crashed("KeyError: 'b'")], None),
        ([ZERO, AttemptSummary.of(resolved())], None),
        ([ZERO, crashed("ZeroDivisionError: 0", FailureReason.TOOL_ERROR)], None),
        ([crashed("1 of 2 tests failed", FailureReason.TESTS_FAILED)], None),
        ([crashed("bug", fault=Fault.INFRASTRUCTURE)], None),
    ],
)
def test_one_error_of_all_attempts_is_told(attempts, said):
    told = common_agent_error(attempts)
    assert told == said or (said is not None and told is not None and told.startswith(said))
