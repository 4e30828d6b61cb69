"""The stages baseline_run and final_test; the final test is prepared while the agent works."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext

from msgspec.structs import replace

from agentbench.attempt.context import AgentRunOutput, FinalTestOutput, PreparedContext, StageOutput
from agentbench.attempt.stages import agent_outcome, judged_tests
from agentbench.attempt.stages.control_runner import ChangedFiles
from agentbench.attempt.stages.control_runs import ControlRuns
from agentbench.attempt.stages.health import await_health
from agentbench.attempt.stages.service_logs import (
    require_services,
    service_warnings,
    watched_services,
)
from agentbench.attempt.stages.steps import judge_last_step, walk_idle
from agentbench.attempt.stages.verifier import BASELINE, open_agent_sandbox, run_verifier
from agentbench.core.choices import ControlLevel
from agentbench.errors import DoesNotFitError, RunCancelled
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import Controls, control_findings
from agentbench.pytest_results.execution import PytestRun
from agentbench.pytest_results.model import PytestResult
from agentbench.sandbox.interface import Sandbox, Stream
from agentbench.scoring.evidence import CaseOutcome, Evidence, ExceptionFact
from agentbench.scoring.expectation import resolve_expectation, shortfall_of, with_node_ids
from agentbench.scoring.steps import combined_evidence
from agentbench.scoring.taxonomy import FailureReason, Fault
from agentbench.scoring.verdict import baseline_warnings

_MAX_LOGGED = 100  # tests
_SKIPPED_FOR_A_SCRIPT = (
    "not applicable: a script of the task judges, and they change tests of pytest"
)
_JUDGED_IN_PLACE = (
    "not applicable: a script of the task judges in the agent's own container, which is weaker: "
    "what the agent installed or left running can deceive it"
)


class FinalTestPreparation:
    """Owns the preparations of one final test; `close` removes the unused ones."""

    def __init__(self, context: PreparedContext, baseline: Evidence) -> None:
        self._context = context
        self._baseline = baseline
        self.sandbox: judged_tests.UpcomingSandbox | None = None
        self.controls: ControlRuns | None = None
        self.kept = ExitStack()  # the agent's sandbox, if the task's script judges in it

    def begin(self) -> None:
        """Open the sandbox, plan the sealed run and open the sandbox of the sealed run.

        Raises:
            GitCheckoutError: the hidden tests do not fit the base commit.
        """
        self.sandbox = judged_tests.preopen_sandbox(self._context)
        if self._context.control_level is not ControlLevel.OFF:
            self.controls = ControlRuns(self._context, self._baseline)
            self.controls.prepare()

    def start_sealed(self) -> None:
        """Start the tests of the sealed run after the agent's end, while its change is read."""
        if self.controls is not None:
            self.controls.start_tests()

    def start_final(self) -> None:
        """Start the final test, which waits for its files while the sealed run runs."""
        if self.sandbox is not None:
            self.sandbox.start_tests(judged_tests.judged_request(self._context))

    def take_sandbox(self) -> judged_tests.UpcomingSandbox | None:
        """Hand the sandbox over to the caller."""
        sandbox, self.sandbox = self.sandbox, None
        return sandbox

    @contextmanager
    def alone(self) -> Iterator[ControlRuns]:
        """The control runs, in this attempt's turn to be judged; they have ended afterwards.

        Raises:
            RunCancelled: the run was cancelled.
        """
        controls, self.controls = self.controls or ControlRuns(self._context, self._baseline), None
        try:
            with controls.alone():
                yield controls
        finally:
            controls.close()

    def close(self) -> None:
        """Remove everything that the final test has not taken."""
        if self.controls is not None:
            self.controls.close()
        if self.sandbox is not None:
            self.sandbox.close()
        self.kept.close()


def baseline_run(context: PreparedContext) -> StageOutput:
    """Run the judged tests before any change; they are expected to fail.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        ServiceError: a service has failed.
        SandboxError: the sandbox could not be created or is lost.
    """
    task = context.task
    if task.steps:
        evidence = _idle_steps(context)
    elif task.answer_key.verifier is not None:
        evidence = run_verifier(context, None, name=BASELINE)
    else:
        hidden = context.hidden_tests.files
        with (
            judged_tests.fresh_sandbox(context) as sandbox,
            watched_services(context, sandbox) as failures,
        ):
            judged_tests.write_files(sandbox, hidden, edited_at=context.edited_at)
            request = judged_tests.judged_request(context)
            tests = judged_tests.TestsAfterCommands(context, sandbox, request)
            run = tests.finish(sink=context.sink)
        require_services(context, failures)
        context.save("baseline.json", run.result.model_dump_json(indent=1).encode())
        evidence = judged_tests.judged_evidence(context, run)
    warnings = baseline_warnings(judged_tests.expected_tests(task), evidence)
    return StageOutput(evidence=evidence.model_copy(update={"warnings": warnings}))


def _idle_steps(context: PreparedContext) -> Evidence:
    """The steps without an agent, in a container like an agent's."""

    def save(name: str, content: bytes) -> None:
        """Save a file under a path that no file of the attempt itself has."""
        context.save(name if name.startswith("services/") else f"baseline/{name}", content)

    own = replace(context, save=save)
    with (
        open_agent_sandbox(own, (), plain_workspace=False) as sandbox,
        watched_services(own, sandbox) as failures,
    ):
        await_health(own, sandbox)
        evidence = walk_idle(own, sandbox)
    require_services(context, failures)
    return evidence


def final_test(
    context: PreparedContext,
    *,
    baseline: Evidence,
    change: JudgedChange | None,
    preparation: FinalTestPreparation,
    work: AgentRunOutput | None = None,
) -> FinalTestOutput:
    """Apply the change to the state before the agent, write the hidden tests, and run them.

    The sealed run comes first; evidence of control runs against the attempt is among the findings.

    Args:
        context: The inputs.
        baseline: The evidence of the baseline run.
        change: The agent's change.
        preparation: The preparation that was made while the agent worked.
        work: The agent's work, for a script that judges.

    Raises:
        GitCheckoutError: the hidden tests do not fit the base commit.
        SandboxError: the sandbox could not be created or is lost.
    """
    if context.task.answer_key.verifier is not None:
        return _final_verifier_run(context, baseline, change, work)
    if change is not None and change.broken:
        # pytest would refuse to start, or an old one would read what the standard does not allow.
        fact = ExceptionFact(
            type_name="",
            message=change.broken,
            reason=FailureReason.INTERNAL_ERROR.value,
            fault=Fault.AGENT.value,
        )
        skipped = Controls(level=context.control_level, skipped="there was no final test")
        return FinalTestOutput(evidence=Evidence(exception=fact), controls=skipped)
    changed = ChangedFiles.of(change)
    with preparation.alone() as controls:
        preparation.start_final()
        differing = controls.run_sealed(changed)
        if differing is not None:
            return _differing_output(context, controls, differing)
        controls.share()
        evidence = _repeated_if_services_fail(
            lambda: _run_hidden_tests(context, baseline, changed, preparation.take_sandbox()),
            lambda final: _has_passed(context, baseline, final),
        )
        began = time.monotonic()
        control_results = _finished_controls(context, baseline, evidence, controls, changed)
        seconds = time.monotonic() - began
    return FinalTestOutput(
        evidence=evidence.model_copy(update={"findings": control_findings(control_results)}),
        controls=control_results,
        controls_seconds=seconds,
    )


def _differing_output(
    context: PreparedContext, controls: ControlRuns, run: PytestRun
) -> FinalTestOutput:
    """The output of an attempt that gave wrong values in the sealed run."""
    context.save("final.json", run.result.model_dump_json(indent=1).encode())
    context.sink(Stream.STDOUT, _log_of_sealed_run(run.result).encode("utf-8", "replace"))
    evidence = judged_tests.judged_evidence(context, run)
    return FinalTestOutput(evidence=evidence, controls=controls.finish_differing())


def _log_of_sealed_run(result: PytestResult) -> str:
    """The log of a final test that was not run; control runs write none themselves."""
    failed = [case for case in result.tests if case.outcome is not CaseOutcome.PASSED]
    lines = [f"{case.node_id} {case.outcome.value}: {case.message or ''}" for case in failed]
    return "\n".join(
        (
            "No final test was run: the code gave wrong values in the sealed run before it.",
            *lines[:_MAX_LOGGED],
            "",
            "The output of the sealed run, whose tests lack their expected values:",
            f"{result.text_output}\n",
        )
    )


def _repeated_if_services_fail(
    run: Callable[[], Evidence], is_final: Callable[[Evidence], bool]
) -> Evidence:
    """The evidence of a run; repeated once if it did not pass and services failed in it.

    If the agent's work is the cause, services fail again; otherwise their failure does not count
    against the agent.
    """
    first = run()
    if not first.warnings or is_final(first):
        return first
    second = run()
    warnings = (*(f"in a first run: {each}" for each in first.warnings), *second.warnings)
    return second.model_copy(update={"warnings": warnings})


def _has_passed(context: PreparedContext, baseline: Evidence, final: Evidence) -> bool:
    expected = with_node_ids(judged_tests.expected_tests(context.task), baseline, final)
    expectation = resolve_expectation(expected, baseline)
    return shortfall_of(expected, expectation, baseline, final) is None


def _final_verifier_run(
    context: PreparedContext,
    baseline: Evidence,
    change: JudgedChange | None,
    work: AgentRunOutput | None,
) -> FinalTestOutput:
    place = work.sandbox if work is not None else None
    is_weak = place is not None or any(step.verifier.is_shared for step in context.task.steps)
    why = _JUDGED_IN_PLACE if is_weak else _SKIPPED_FOR_A_SCRIPT
    skipped = Controls(level=context.control_level, skipped=why)
    steps = work.steps if work is not None else ()
    try:
        with nullcontext() if place is None else agent_outcome.blamed_on_agent(context):
            if work is not None and steps:
                steps = judge_last_step(context, change, work)
                task = context.task
                evidence = combined_evidence(steps, len(task.steps), task.reward_strategy)
            else:
                evidence = _repeated_if_services_fail(
                    lambda: run_verifier(context, change, name="final", work=work),
                    lambda final: place is not None or _has_passed(context, baseline, final),
                )
    except (Exception, RunCancelled) as error:  # noqa: BLE001 - raised again for the record
        return FinalTestOutput(evidence=Evidence(), controls=skipped, error=error, steps=steps)
    return FinalTestOutput(evidence=evidence, controls=skipped, steps=steps)


def _run_hidden_tests(
    context: PreparedContext,
    baseline: Evidence,
    change: ChangedFiles,
    preopened: judged_tests.UpcomingSandbox | None,
) -> Evidence:
    unchanged = judged_tests.unchanged_tests(context, baseline)
    files = {**unchanged, **change.files, **context.hidden_tests.files}

    def fill(sandbox: Sandbox) -> None:
        """Write the judged files into a new sandbox."""
        try:
            judged_tests.write_files(
                sandbox, files, emptied=change.emptied, edited_at=context.edited_at
            )
        except DoesNotFitError as error:
            if change.files:  # the agent's files exceed the disk limit
                raise error.blamed_on(Fault.AGENT.value) from error
            raise

    request = judged_tests.judged_request(context)
    with (
        judged_tests.filled_sandbox(context, preopened, fill, request) as tests,
        watched_services(context, tests.sandbox) as failures,
    ):
        run = tests.finish(sink=context.sink)
    context.save("final.json", run.result.model_dump_json(indent=1).encode())
    evidence = judged_tests.judged_evidence(context, run)
    return evidence.model_copy(update={"warnings": service_warnings(failures)})


def _finished_controls(
    context: PreparedContext,
    baseline: Evidence,
    final: Evidence,
    controls: ControlRuns,
    change: ChangedFiles,
) -> Controls:
    if not _has_passed(context, baseline, final):
        return controls.skip("the final test did not pass")
    return controls.finish(final, change)
