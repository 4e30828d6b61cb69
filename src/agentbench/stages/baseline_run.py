"""baseline_run: the hidden tests on the buggy code, in a sandbox that no agent will see."""

from agentbench.pytest_results.tools import execute_tests
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.verdict import baseline_warnings
from agentbench.stages.expected_tests import expected_tests
from agentbench.stages.fresh import fresh_sandbox
from agentbench.stages.hidden_tests import hidden_files
from agentbench.stages.interface import StageContext
from agentbench.stages.selection import judged_evidence, judged_request
from agentbench.stages.verifier_run import verified
from agentbench.stages.workspace import write_files


def baseline_run(context: StageContext) -> Evidence:
    """Run what judges before any fix; it is expected to fail.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be made or is lost.
    """
    task, hidden = context.task, hidden_files(context)
    if task.answer_key.verifier is not None:
        judged = verified(context, None, name="baseline")
        warnings = baseline_warnings(expected_tests(task), judged)
        return judged.model_copy(update={"warnings": warnings})
    with fresh_sandbox(context) as sandbox:
        write_files(sandbox, hidden)
        run = execute_tests(sandbox, judged_request(context), end_sandbox=True, sink=context.sink)
    context.save("baseline.json", run.result.model_dump_json(indent=1).encode())
    evidence = judged_evidence(context, Evidence(command=run.command, report=run.facts))
    warnings = baseline_warnings(expected_tests(task), evidence)
    return evidence.model_copy(update={"warnings": warnings})
