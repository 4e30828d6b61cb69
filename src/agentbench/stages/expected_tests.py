"""What the judge expects of a task's tests."""

from agentbench.scoring.expectation import ExpectedTests
from agentbench.tasks.task import Task


def expected_tests(task: Task) -> ExpectedTests:
    """What the judge expects of a task's tests."""
    key = task.answer_key
    return ExpectedTests(
        fail_to_pass=key.fail_to_pass,
        pass_to_pass=key.pass_to_pass,
        quarantined=key.quarantined,
        reward_above=key.verifier.threshold if key.verifier is not None else None,
    )
