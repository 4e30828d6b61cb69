"""baseline_run: the hidden tests on the buggy code, in a sandbox that no agent will see."""

from agentbench.pytest_results.run import reporter_mounts
from agentbench.pytest_results.tools import execute_tests
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.expectation import ExpectedTests
from agentbench.scoring.verdict import baseline_warnings
from agentbench.stages.hidden_tests import hidden_files
from agentbench.stages.interface import StageContext
from agentbench.stages.selection import judged_evidence, judged_request
from agentbench.stages.workspace import write_files
from agentbench.tasks.task import Task


def baseline_run(context: StageContext) -> Evidence:
    """Run the judged tests before any fix; they are expected to fail.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be made or is lost.
    """
    prepared, task = context.prepared, context.task
    assert prepared is not None  # made by setup
    hidden = hidden_files(context)
    with context.provider.open(
        prepared.snapshot,
        limits=context.limits,
        network=False,
        mounts=reporter_mounts(),
        cancel=context.cancel,
    ) as sandbox:
        write_files(sandbox, hidden)
        run = execute_tests(sandbox, judged_request(context), end_sandbox=True, sink=context.sink)
    context.save("baseline.json", run.result.model_dump_json(indent=1).encode())
    evidence = judged_evidence(context, Evidence(command=run.command, report=run.facts))
    warnings = baseline_warnings(expected_tests(task), evidence)
    return evidence.model_copy(update={"warnings": warnings})


def expected_tests(task: Task) -> ExpectedTests:
    """What the judge expects of a task's tests."""
    key = task.answer_key
    return ExpectedTests(fail_to_pass=key.fail_to_pass, pass_to_pass=key.pass_to_pass)
