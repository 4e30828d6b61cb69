"""Judges an attempt by the task's tests, with the control runs that make their result credible."""

import secrets
import time

from agentbench.attempt.context import AgentRunOutput, FinalTestOutput, PreparedContext
from agentbench.attempt.controls.blind_runs import run_blind, tests_before
from agentbench.attempt.expected_tests import has_passed
from agentbench.attempt.judged_tests import (
    ControlRunner,
    judged_evidence,
    repeated_if_services_fail,
    run_judged_tests,
    unchanged_tests,
)
from agentbench.attempt.sandboxes import require_services, service_warnings
from agentbench.core.file_locks import FileLock
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import Controls, control_findings
from agentbench.sandbox.interface import Stream
from agentbench.scoring.evidence import CaseOutcome, Evidence, ExceptionFact
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import FailureReason, Fault
from agentbench.test_runs.model import PytestResult
from agentbench.test_runs.runner import TestRun

_SEED_BITS = 52  # every JSON reader reads numbers of this size exactly
_MAX_LOGGED = 100  # tests
_DIFFERS = "no final test, since the code gave wrong values in the sealed run"


class JudgeByTests:
    """See `context.Judge`."""

    def baseline(self, context: PreparedContext) -> Evidence:
        """Run the judged tests before any change; they are expected to fail.

        Raises:
            GitCheckoutError: the hidden tests do not fit the base commit.
            ServiceError: a service has failed.
            SandboxError: the sandbox could not be created or is lost.
        """
        run = run_judged_tests(context, context.hidden_tests.files, sink=context.sink)
        require_services(context, run.failed_services)
        context.save("baseline.json", run.tests.result.model_dump_json(indent=1).encode())
        return judged_evidence(context, run.tests)

    def final(
        self,
        context: PreparedContext,
        baseline: Evidence,
        change: JudgedChange,
        _work: AgentRunOutput,
    ) -> FinalTestOutput:
        """Run the sealed tests, the hidden tests, and the blind runs of tests that are not sealed.

        Each one starts from the state before the agent, with the agent's change. Code that gives a
        wrong value in the sealed run has failed, and never sees the right one.

        Raises:
            GitCheckoutError: the hidden tests do not fit the base commit.
            SandboxError: a sandbox could not be created or is lost.
            RunCancelled: the run was cancelled.
        """
        level = context.control_level
        if change.broken:
            # pytest would refuse to start, or an old one would read what the standard forbids.
            fact = ExceptionFact(
                type_name="",
                message=change.broken,
                reason=FailureReason.INTERNAL_ERROR,
                fault=Fault.AGENT,
            )
            skipped = Controls(level=level, skipped="there was no final test")
            return FinalTestOutput(evidence=Evidence(exception=fact), controls=skipped)
        is_changed = bool(change.files or change.emptied)
        if level is ControlLevel.OFF:
            lock = context.judging_lock(shared=True) if is_changed else None
            evidence, off = _run_hidden_tests(context, baseline, change, lock), "turned off"
            return FinalTestOutput(evidence=evidence, controls=Controls(level=level, skipped=off))
        runs = ControlRunner(context=context, baseline=baseline)
        seed = secrets.randbits(_SEED_BITS)
        tests, sealed = tests_before(runs), None
        if tests is not None and is_changed:
            # The engine that seals tests takes 0.1 s to import.
            from agentbench.attempt.controls.sealed_runs import sealed_run

            sealed = sealed_run(runs, tests, seed, change)
            if sealed.report is not None:
                evidence = _sealed_evidence(context, sealed.report)
                differs = Controls(level=level, seed=seed, sealed=sealed.record, skipped=_DIFFERS)
                return FinalTestOutput(evidence=evidence, controls=differs)
        is_proven = sealed is not None and tests is not None and sealed.proves(tests.fixed)
        lock = context.judging_lock(shared=is_proven) if is_changed else None
        evidence = _run_hidden_tests(context, baseline, change, lock)
        began = time.monotonic()
        if has_passed(context.task, baseline, evidence):
            controls = run_blind(runs, evidence, change, tests, sealed, seed)
        else:
            controls = Controls(level=level, skipped="the final test did not pass")
        return FinalTestOutput(
            evidence=evidence.model_copy(update={"findings": control_findings(controls)}),
            controls=controls,
            controls_seconds=time.monotonic() - began,
        )


def _run_hidden_tests(
    context: PreparedContext, baseline: Evidence, change: JudgedChange, lock: FileLock | None
) -> Evidence:
    """The evidence of the hidden tests; repeated once if a service failed and they did not pass."""
    unchanged = unchanged_tests(context, baseline)

    def run_once() -> Evidence:
        """Run them in a fresh sandbox."""
        run = run_judged_tests(
            context,
            {**unchanged, **change.files, **context.hidden_tests.files},
            emptied=change.emptied,
            sink=context.sink,
            lock=lock,
        )
        context.save("final.json", run.tests.result.model_dump_json(indent=1).encode())
        warnings = service_warnings(run.failed_services)
        return judged_evidence(context, run.tests).model_copy(update={"warnings": warnings})

    return repeated_if_services_fail(
        run_once, lambda final: has_passed(context.task, baseline, final)
    )


def _sealed_evidence(context: PreparedContext, run: TestRun) -> Evidence:
    """The evidence of an attempt that gave wrong values: its sealed run."""
    context.save("final.json", run.result.model_dump_json(indent=1).encode())
    context.sink(Stream.STDOUT, _log_of_sealed_run(run.result).encode("utf-8", "replace"))
    return judged_evidence(context, run)


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
