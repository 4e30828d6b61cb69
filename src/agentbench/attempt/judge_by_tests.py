"""Judges an attempt by the task's tests, with the control runs that make their result credible."""

import secrets
import time

from agentbench.attempt.context import AgentRunOutput, FinalTestOutput, PreparedContext
from agentbench.attempt.controls.blind_runs import run_blind, tests_before
from agentbench.attempt.expected_tests import has_passed
from agentbench.attempt.judged_tests import (
    JudgedRuns,
    judged_evidence,
    repeated_if_services_fail,
    run_judged_tests,
)
from agentbench.attempt.sandboxes import require_services, service_warnings
from agentbench.core.file_locks import FileLock
from agentbench.integrity.protection import JudgedChange
from agentbench.integrity.records import Controls, control_findings
from agentbench.sandbox.interface import Stream
from agentbench.scoring.evidence import CaseOutcome, Evidence, ExceptionFact
from agentbench.tasks.control_level import ControlLevel
from agentbench.taxonomy import FailureReason, Fault
from agentbench.test_runs.runner import TestRun

SEED_BITS = 52
"""Of the seed of control runs; every JSON reader reads numbers of this size exactly."""

_MAX_LOGGED = 100  # tests
_DIFFERS = "no final test, since the code gave wrong values in the sealed run"


class JudgeByTests:
    """See `context.Judge`."""

    def baseline(self, context: PreparedContext) -> Evidence:
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

        Each one starts from the state before the agent, with the agent's change. A sealed run has
        the tests without their expected values; code that gives a wrong one there has failed, and
        never sees the right one. In blind runs the tests expect wrong values, and have to fail.

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
        runs = JudgedRuns(context=context, baseline=baseline, change=change)
        if level is ControlLevel.OFF:
            # It waits for runs that have to be alone. Its own result rests on the tests' word.
            evidence, off = _hidden_tests(runs, context.judging_lock(shared=True)), "turned off"
            return FinalTestOutput(evidence=evidence, controls=Controls(level=level, skipped=off))
        seed = secrets.randbits(SEED_BITS)
        tests, sealed = tests_before(runs), None
        if tests is not None and not change.is_empty:
            # The engine that seals tests takes 0.1 s to import.
            from agentbench.attempt.controls.sealed_runs import sealed_run

            sealed = sealed_run(runs, tests, seed)
            # Without a reference solution it has no report, and a mismatch becomes a finding.
            # The final test would bring the right values into a sandbox with code that did not know
            # them. It could carry them through the page cache to the next attempt at the task
            # (decision 8).
            if sealed.report is not None:
                evidence = _sealed_evidence(context, sealed.report)
                differs = Controls(level=level, seed=seed, sealed=sealed.record, skipped=_DIFFERS)
                return FinalTestOutput(evidence=evidence, controls=differs)
        # Code that has given all right values has nothing left to learn from another sandbox of the
        # task. Eight attempts took 2.2 times as long when each was alone (decision 9).
        is_proven = sealed is not None and tests is not None and sealed.proves(tests.fixed)
        # Without a change no code is an agent's, and nobody has to be kept from it.
        lock = None if change.is_empty else context.judging_lock(shared=is_proven)
        evidence = _hidden_tests(runs, lock)
        began = time.monotonic()
        if has_passed(context.task, baseline, evidence):
            controls = run_blind(runs, evidence, tests, sealed, seed)
        else:
            controls = Controls(level=level, skipped="the final test did not pass")
        return FinalTestOutput(
            evidence=evidence.replace(findings=control_findings(controls)),
            controls=controls,
            controls_seconds=time.monotonic() - began,
        )


def _hidden_tests(runs: JudgedRuns, lock: FileLock | None) -> Evidence:
    context = runs.context

    def run_once() -> Evidence:
        run = runs.final(lock)
        context.save("final.json", run.tests.result.model_dump_json(indent=1).encode())
        warnings = service_warnings(run.failed_services)
        return judged_evidence(context, run.tests).replace(warnings=warnings)

    return repeated_if_services_fail(
        run_once, lambda final: has_passed(context.task, runs.baseline, final)
    )


# The evidence of an attempt that gave wrong values: its sealed run, which also is its log.
def _sealed_evidence(context: PreparedContext, run: TestRun) -> Evidence:
    result = run.result
    context.save("final.json", result.model_dump_json(indent=1).encode())
    failed = [case for case in result.tests if case.outcome is not CaseOutcome.PASSED]
    lines = [f"{case.node_id} {case.outcome.value}: {case.message or ''}" for case in failed]
    log = (
        "No final test was run: the code gave wrong values in the sealed run before it.",
        *lines[:_MAX_LOGGED],
        "",
        "The output of the sealed run, whose tests lack their expected values:",
        f"{result.text_output}\n",
    )
    context.sink(Stream.STDOUT, "\n".join(log).encode("utf-8", "replace"))
    return judged_evidence(context, run)
