"""final_test: the agent's change and the hidden tests, in a fresh sandbox from before the agent."""

from agentbench.pytest_results.run import reporter_mounts
from agentbench.pytest_results.tools import execute_tests
from agentbench.scoring.evidence import Evidence
from agentbench.stages.hidden_tests import hidden_files
from agentbench.stages.interface import StageContext
from agentbench.stages.selection import judged_evidence, judged_request
from agentbench.stages.workspace import write_files


def final_test(context: StageContext) -> Evidence:
    """Apply the change to the state before the agent, write the hidden tests last, run them.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be made or is lost.
    """
    prepared, change = context.prepared, context.change
    assert prepared is not None  # made by setup
    hidden = hidden_files(context)
    with context.provider.open(
        prepared.snapshot,
        limits=context.limits,
        network=False,
        mounts=reporter_mounts(),
        cancel=context.cancel,
    ) as sandbox:
        if change is not None:
            write_files(sandbox, change.files, emptied=change.emptied)
        write_files(sandbox, hidden)
        run = execute_tests(sandbox, judged_request(context), end_sandbox=True, sink=context.sink)
    context.save("final.json", run.result.model_dump_json(indent=1).encode())
    return judged_evidence(context, Evidence(command=run.command, report=run.facts))
