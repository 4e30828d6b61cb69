"""baseline_run and final_test: the hidden tests without any change, and on the agent's change."""

import time

from agentbench.attempt.context import FinalTestOutput, PreparedContext, StageOutput
from agentbench.attempt.stages import fresh_sandboxes, judged_tests
from agentbench.attempt.stages.control_runner import ChangedFiles
from agentbench.attempt.stages.control_runs import ControlRuns
from agentbench.attempt.stages.final_test_preparation import FinalTestPreparation
from agentbench.attempt.stages.verifier import run_verifier
from agentbench.errors import DoesNotFitError, RunCancelled
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import Controls, control_findings
from agentbench.pytest_results.execution import execute_tests
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import Evidence
from agentbench.scoring.expectation import resolve_expectation, shortfall_of
from agentbench.scoring.taxonomy import Fault
from agentbench.scoring.verdict import baseline_warnings


def baseline_run(context: PreparedContext) -> StageOutput:
    """Run the judged tests before any change; they are expected to fail.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be created or is lost.
    """
    task = context.task
    if task.answer_key.verifier is not None:
        evidence = run_verifier(context, None, name="baseline")
    else:
        hidden = context.hidden_tests.files
        with fresh_sandboxes.fresh_sandbox(context) as sandbox:
            fresh_sandboxes.write_files(sandbox, hidden)
            request = judged_tests.judged_request(context)
            run = execute_tests(sandbox, request, end_sandbox=True, sink=context.sink)
        context.save("baseline.json", run.result.model_dump_json(indent=1).encode())
        evidence = judged_tests.judged_evidence(
            context, Evidence(command=run.command, report=run.facts)
        )
    warnings = baseline_warnings(judged_tests.expected_tests(task), evidence)
    return StageOutput(evidence=evidence.model_copy(update={"warnings": warnings}))


_SKIPPED_FOR_A_SCRIPT = (
    "not applicable: a script of the task judges, and they change tests of pytest"
)


def final_test(
    context: PreparedContext,
    *,
    baseline: Evidence,
    change: JudgedChange | None,
    preparation: FinalTestPreparation,
) -> FinalTestOutput:
    """Apply the change to the state before the agent, write the hidden tests, and run them.

    Control runs run beside it; what they show against the attempt is among the findings.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be created or is lost.
    """
    if context.task.answer_key.verifier is not None:
        return _final_verifier_run(context, change)
    changed = ChangedFiles.of(change)
    with preparation.started_controls(changed) as controls:
        evidence = _run_hidden_tests(context, baseline, changed, preparation.take_sandbox())
        began = time.monotonic()
        shown = _finished_controls(context, baseline, evidence, controls, changed)
        seconds = time.monotonic() - began
    return FinalTestOutput(
        evidence=evidence.model_copy(update={"findings": control_findings(shown)}),
        controls=shown,
        controls_seconds=seconds,
    )


def _final_verifier_run(context: PreparedContext, change: JudgedChange | None) -> FinalTestOutput:
    skipped = Controls(level=context.control_level, skipped=_SKIPPED_FOR_A_SCRIPT)
    try:
        evidence = run_verifier(context, change, name="final")
    except (Exception, RunCancelled) as error:  # noqa: BLE001 - raised again for the record
        return FinalTestOutput(evidence=Evidence(), controls=skipped, error=error)
    return FinalTestOutput(evidence=evidence, controls=skipped)


def _run_hidden_tests(
    context: PreparedContext,
    baseline: Evidence,
    change: ChangedFiles,
    preopened: fresh_sandboxes.PreopenedSandbox | None,
) -> Evidence:
    unchanged = judged_tests.unchanged_tests(context, baseline)
    files = {**unchanged, **change.files, **context.hidden_tests.files}

    def fill(sandbox: Sandbox) -> None:
        """Write the judged files into a new sandbox."""
        try:
            fresh_sandboxes.write_files(sandbox, files, emptied=change.emptied)
        except DoesNotFitError as error:
            if change.files:  # the agent left more than a sandbox may hold
                raise error.blamed_on(Fault.AGENT.value) from error
            raise

    with fresh_sandboxes.filled_sandbox(context, preopened, fill) as sandbox:
        request = judged_tests.judged_request(context)
        run = execute_tests(sandbox, request, end_sandbox=True, sink=context.sink)
    context.save("final.json", run.result.model_dump_json(indent=1).encode())
    return judged_tests.judged_evidence(context, Evidence(command=run.command, report=run.facts))


def _finished_controls(
    context: PreparedContext,
    baseline: Evidence,
    final: Evidence,
    controls: ControlRuns,
    change: ChangedFiles,
) -> Controls:
    expected = judged_tests.expected_tests(context.task)
    expectation = resolve_expectation(expected, baseline)
    if shortfall_of(expected, expectation, baseline, final) is not None:
        return controls.skip("the final test did not pass")
    return controls.finish(final, change)
