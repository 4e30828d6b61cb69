"""baseline_run and final_test.

The hidden tests on the buggy code, and on the agent's change in a fresh sandbox.
"""

import time

from agentbench.attempt.context import StageContext
from agentbench.attempt.stages.control_runner import Files
from agentbench.attempt.stages.control_runs import ControlRuns, controlled
from agentbench.attempt.stages.fresh_sandboxes import (
    PreopenedSandbox,
    filled_sandbox,
    fresh_sandbox,
    write_files,
)
from agentbench.attempt.stages.judged_tests import (
    expected_tests,
    hidden_files,
    judged_evidence,
    judged_request,
    unchanged_tests,
)
from agentbench.attempt.stages.verifier import run_verifier
from agentbench.errors import DoesNotFitError
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import Controls, control_findings
from agentbench.pytest_results.execution import execute_tests
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.expectation import resolve_expectation, shortfall_of
from agentbench.scoring.taxonomy import Fault
from agentbench.scoring.verdict import baseline_warnings


def baseline_run(context: StageContext) -> Evidence:
    """Run what judges before any fix; it is expected to fail.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be made or is lost.
    """
    task, hidden = context.task, hidden_files(context)
    if task.answer_key.verifier is not None:
        judged = run_verifier(context, None, name="baseline")
        warnings = baseline_warnings(expected_tests(task), judged)
        return judged.model_copy(update={"warnings": warnings})
    with fresh_sandbox(context) as sandbox:
        write_files(sandbox, hidden)
        run = execute_tests(sandbox, judged_request(context), end_sandbox=True, sink=context.sink)
    context.save("baseline.json", run.result.model_dump_json(indent=1).encode())
    evidence = judged_evidence(context, Evidence(command=run.command, report=run.facts))
    warnings = baseline_warnings(expected_tests(task), evidence)
    return evidence.model_copy(update={"warnings": warnings})


_SKIPPED_FOR_A_SCRIPT = (
    "not applicable: a script of the task judges, and they change tests of pytest"
)


def final_test(context: StageContext) -> Evidence:
    """Apply the change to the state before the agent, the hidden tests over it, and run them.

    Blind controls run beside it; what they show against the attempt is among the findings.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be made or is lost.
    """
    hidden = hidden_files(context)
    if context.task.answer_key.verifier is not None:
        context.controls = Controls(level=context.control_level, skipped=_SKIPPED_FOR_A_SCRIPT)
        return run_verifier(context, context.change, name="final")
    with controlled(context, hidden) as controls:
        evidence = _run_hidden_tests(context, hidden)
        began = time.monotonic()
        context.controls = _controlled(context, evidence, controls)
        context.controls_seconds = time.monotonic() - began
    return evidence.model_copy(update={"findings": control_findings(context.controls)})


def _run_hidden_tests(context: StageContext, hidden: Files) -> Evidence:
    ahead, context.final_ahead = context.final_ahead, None
    ready = ahead if isinstance(ahead, PreopenedSandbox) else None
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
            raise error.blamed_on(Fault.AGENT.value) from error
        raise


def _controlled(context: StageContext, final: Evidence, controls: ControlRuns) -> Controls:
    expected, baseline = expected_tests(context.task), context.baseline or Evidence()
    expectation = resolve_expectation(expected, baseline)
    if shortfall_of(expected, expectation, baseline, final) is not None:
        return controls.skip("the final test did not pass")
    return controls.finish(final)
