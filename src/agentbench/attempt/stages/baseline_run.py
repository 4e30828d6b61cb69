"""baseline_run: the tests, or the task's script, before any change; they are expected to fail."""

from agentbench.attempt.context import PreparedContext, StageOutput
from agentbench.attempt.expected_tests import expected_tests
from agentbench.scoring.verdict import baseline_warnings


def baseline_run(context: PreparedContext) -> StageOutput:
    """Judge the state before the agent's work.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        ServiceError: a service has failed.
        SandboxError: the sandbox could not be created or is lost.
    """
    evidence = context.judge.baseline(context)
    warnings = baseline_warnings(expected_tests(context.task), evidence)
    return StageOutput(evidence=evidence.replace(warnings=warnings))
