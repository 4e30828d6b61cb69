"""final_test: the agent's change and the hidden tests, in a fresh sandbox from before the agent."""

import time

from agentbench.errors import DoesNotFitError
from agentbench.pytest_results.tools import execute_tests
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.expectation import resolve_expectation, shortfall_of
from agentbench.scoring.taxonomy import Fault
from agentbench.stages.blind_controls import BlindControls, blind_controls
from agentbench.stages.blind_runs import Files
from agentbench.stages.expected_tests import expected_tests
from agentbench.stages.fresh import MadeAhead, filled_sandbox
from agentbench.stages.hidden_tests import hidden_files, unchanged_tests
from agentbench.stages.interface import StageContext
from agentbench.stages.selection import judged_evidence, judged_request
from agentbench.stages.verification.controls import Controls, control_findings
from agentbench.stages.verification.protection import JudgedChange
from agentbench.stages.verifier_run import verified
from agentbench.stages.workspace import write_files

_A_SCRIPT = "not applicable: a script of the task judges, and they change tests of pytest"


def final_test(context: StageContext) -> Evidence:
    """Apply the change to the state before the agent, the hidden tests over it, and run them.

    Blind controls run beside it; what they show against the attempt is among the findings.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be made or is lost.
    """
    hidden = hidden_files(context)
    if context.task.answer_key.verifier is not None:
        context.controls = Controls(level=context.control_level, skipped=_A_SCRIPT)
        return verified(context, context.change, name="final")
    with blind_controls(context, hidden) as controls:
        evidence = _run(context, hidden)
        began = time.monotonic()
        context.controls = _controlled(context, evidence, controls)
        context.controls_seconds = time.monotonic() - began
    return evidence.model_copy(update={"findings": control_findings(context.controls)})


def _run(context: StageContext, hidden: Files) -> Evidence:
    ahead, context.final_ahead = context.final_ahead, None
    ready = ahead if isinstance(ahead, MadeAhead) else None
    unchanged = unchanged_tests(context)
    with filled_sandbox(
        context, ready, lambda made: _write(made, unchanged, context.change, hidden)
    ) as sandbox:
        run = execute_tests(sandbox, judged_request(context), end_sandbox=True, sink=context.sink)
    context.save("final.json", run.result.model_dump_json(indent=1).encode())
    return judged_evidence(context, Evidence(command=run.command, report=run.facts))


def _write(sandbox: Sandbox, unchanged: Files, change: JudgedChange | None, hidden: Files) -> None:
    """Write the agent's change, and the hidden tests over it.

    Raises:
        DoesNotFitError: by the fault of an agent that left more than a sandbox may hold.
        SandboxError: the sandbox is lost or refuses the files.
    """
    changed = change.files if change is not None else {}
    emptied = change.emptied if change is not None else ()
    try:
        write_files(sandbox, {**unchanged, **changed, **hidden}, emptied=emptied)
    except DoesNotFitError as error:
        if changed:
            error.fault = Fault.AGENT.value
        raise


def _controlled(context: StageContext, final: Evidence, controls: BlindControls) -> Controls:
    expected, baseline = expected_tests(context.task), context.baseline or Evidence()
    expectation = resolve_expectation(expected, baseline)
    if shortfall_of(expected, expectation, baseline, final) is not None:
        return controls.skip("the final test did not pass")
    return controls.finish(final)
