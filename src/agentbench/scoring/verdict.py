"""The verdict: did the attempt resolve its task, and if not, what is the primary reason?"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from agentbench.core.display_text import counted
from agentbench.core.schema import Schema
from agentbench.scoring.classification import (
    AGENT_CRASHES,
    Failure,
    classify,
    collection_error_message,
    stated_error,
)
from agentbench.scoring.evidence import (
    FAILING_OUTCOMES,
    CaseOutcome,
    CollectionFact,
    Ending,
    Evidence,
    NodeId,
    PytestOutcome,
    ReportFacts,
    Severity,
    StageResult,
    reward_shortfall,
)
from agentbench.scoring.expectation import (
    ExpectedTests,
    outcomes_of,
    resolve_expectation,
    shared_shortfall,
    shortfall_of,
    whole_run_shortfall,
    with_node_ids,
)
from agentbench.scoring.node_ids import files_of
from agentbench.taxonomy import AGENT_STAGES, FailureReason, Fault, StageName

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")  # addresses, times and counts differ between equal runs


class CaseChange(Schema):
    """One test in the baseline and the final run; `None`: the run did not have the test."""

    node_id: NodeId
    """The test."""
    listed: Literal["fail_to_pass", "pass_to_pass"] | None
    """The list of the task that has it; null: none."""
    baseline: CaseOutcome | None
    """How it ended before the change; null: it did not run."""
    final: CaseOutcome | None
    """How it ended after the change; null: it did not run."""


class ChangeCounts(Schema):
    """How many tests were fixed, still fail, regressed or did not run."""

    fixed: int = 0
    """Tests that failed before the change and pass after it."""
    still_failing: int = 0
    """Tests that had to be fixed and were not."""
    regressed: int = 0
    """Tests that passed before the change and fail after it."""
    unrun: int = 0
    """Tests that the final test did not run."""


class Verdict(Schema):
    """The verdict on one attempt; `failure_reason` is `None` exactly if it is resolved."""

    resolved: bool
    quarantined: bool = False
    failure_reason: FailureReason | None
    fault: Fault | None
    detail: str = ""
    failures: tuple[Failure, ...] = ()
    tests: tuple[CaseChange, ...] = ()
    counts: ChangeCounts = ChangeCounts()


def judge(expected: ExpectedTests, stages: Sequence[StageResult]) -> Verdict:
    """Judge an attempt by the evidence of its stages.

    The final test decides (decision 5). If it passed, the attempt is resolved, regardless of how
    the agent stopped. Otherwise every stage's failure is a candidate, and the precedence picks one.
    """
    by_stage = {result.stage: result.evidence for result in stages}
    baseline = by_stage.get(StageName.BASELINE_RUN, Evidence())
    final = by_stage.get(StageName.FINAL_TEST)
    expected = with_node_ids(expected, baseline, *([final] if final is not None else []))
    expectation = resolve_expectation(expected, baseline)
    before, after = _reported_outcomes(baseline), _reported_outcomes(final or Evidence())
    listed: dict[NodeId, Literal["fail_to_pass", "pass_to_pass"]] = {}
    listed.update(dict.fromkeys(expectation.pass_to_pass, "pass_to_pass"))
    listed.update(dict.fromkeys(expectation.fail_to_pass, "fail_to_pass"))
    node_ids = tuple(dict.fromkeys((*listed, *before, *after)))
    if expectation.fail_to_pass:
        node_ids = (*expectation.fail_to_pass, *expectation.pass_to_pass)
    tests = tuple(
        CaseChange(
            node_id=node_id,
            listed=listed.get(node_id),
            baseline=before.get(node_id),
            final=after.get(node_id),
        )
        for node_id in node_ids
    )
    failures = _stage_failures(expected, stages)
    shortfall = shortfall_of(expected, expectation, baseline, final) if final else None
    # A fix that was written before the step limit is a fix (decision 5 in failure_taxonomy.md).
    if final is not None and shortfall is None and not _stopped_early(failures):
        critical = _critical(baseline, stages)
        if critical is None:
            counts = _counts(tests)
            return Verdict(
                resolved=True, failure_reason=None, fault=None, tests=tests, counts=counts
            )
        failure = _failure(FailureReason.TESTS_FAILED, f"quarantined: {critical}")
        return _failed((failure,), tests).replace(quarantined=True)
    if shortfall is not None and final is not None:
        # An attempt in a broken environment says nothing about the agent.
        shared = shared_shortfall(expected, expectation, baseline, final)
        if shared is not None and not _stopped_early(failures):
            detail = f"{shared}, as in the baseline; every other deciding test passed"
            tests_failed = _failure(FailureReason.TESTS_FAILED, detail)
            return _failed((tests_failed.replace(fault=Fault.TASK),), tests)
    if shortfall is not None and all(f.stage is not StageName.FINAL_TEST for f in failures):
        failures = (*failures, _failure(FailureReason.TESTS_FAILED, shortfall))
    # A broken agent should not look like one that tried.
    if _crashed(by_stage.get(StageName.AGENT_RUN, Evidence())):
        failures = tuple(map(_as_consequence, failures))
    return _failed(failures, tests)


def _reported_outcomes(evidence: Evidence) -> Mapping[NodeId, CaseOutcome]:
    """The outcomes to be recorded: of the runner's report, or of that of the task's own script."""
    rewards = evidence.rewards
    if rewards is None:
        return outcomes_of(evidence)
    return {test.node_id: test.outcome for test in rewards.tests}


def baseline_failure(expected: ExpectedTests, evidence: Evidence) -> Failure | None:
    """The failure in a task's baseline run; None if a test to fix fails in it.

    A test that began and did not pass shows the bug, whatever the process returned: the bug may be
    an `os._exit(0)`, an endless loop or a crash.
    """
    expected = with_node_ids(expected, evidence)
    failure = classify(StageName.BASELINE_RUN, evidence)
    if expected.reward_above is not None:
        shortfall = reward_shortfall(evidence.rewards, expected.reward_above)
        if failure is not None or shortfall is not None or not evidence.ran_to_end:
            return failure
        detail = f"the reward is above {expected.reward_above:g} before any work"
        return _failure(FailureReason.BASELINE_NOT_FAILING, detail)
    report = evidence.report
    if report is None or _shows_bug(expected, evidence):
        return failure if report is None or evidence.exception is not None else None
    if failure is not None and failure.reason is not FailureReason.BASELINE_NOT_FAILING:
        return failure
    outcomes = outcomes_of(evidence)
    listed = {n: outcomes[n] for n in expected.fail_to_pass if n in outcomes}
    if expected.fail_to_pass and all(
        listed.get(n) is CaseOutcome.PASSED for n in expected.fail_to_pass
    ):
        detail = "every fail_to_pass test passes before any fix"
        return failure or _failure(FailureReason.BASELINE_NOT_FAILING, detail)
    if not expected.fail_to_pass and whole_run_shortfall(report) is None:
        return _failure(FailureReason.BASELINE_NOT_FAILING, "the tests pass before any fix")
    to_fix = set(files_of(expected.fail_to_pass))
    if failure is None or to_fix.intersection(report.collection_errors):
        return None  # the final test shows if the change mends it
    if not _ran_none(report) and (listed or (outcomes and not expected.fail_to_pass)):
        detail = "no test to fix fails before any fix: " + ", ".join(
            f"{node_id} {was}" for node_id, was in (listed or outcomes).items()
        )
        return _failure(FailureReason.BASELINE_NOT_FAILING, detail)
    stage, reason = StageName.BASELINE_RUN, FailureReason.NO_TESTS_COLLECTED
    why = _why_none_ran(evidence)
    if not why and outcomes and expected.fail_to_pass:
        more = len(expected.fail_to_pass) - 1
        why = f": {expected.fail_to_pass[0]}{f' and {more} more' if more else ''}: not among the "
        why += f"{counted(len(outcomes), 'test')} that ran; does tests.patch add them?"
    detail = f"no test to fix ran in the baseline{why}"
    return Failure(stage=stage, reason=reason, fault=Fault.TASK, detail=detail)


def baseline_warnings(expected: ExpectedTests, evidence: Evidence) -> tuple[str, ...]:
    """Warnings about a failing baseline that looks wrong (decision 4)."""
    command = evidence.command
    code = command.exit_code if command else None
    if evidence.rewards is not None:
        fault = evidence.rewards.fault
        return (f"on the untouched files {fault}",) if fault else ()
    expected = with_node_ids(expected, evidence)
    warnings = []
    if _shows_bug(expected, evidence):
        pass  # whatever the process returned
    elif command and command.ending is not Ending.EXITED:
        warnings.append(f"the baseline ended in {command.ending.value}")
    elif code != 1:
        warnings.append(f"the baseline exited {code}, where a failing test run exits 1")
    if expected.pass_to_pass == "baseline" and evidence.report is None:
        warnings.append("no report says which tests passed in the baseline; none are held to it")
    return (*warnings, *_fail_to_pass_warnings(expected, evidence))


# Whether a test to fix began in the baseline and did not pass. If the run did not end by itself,
# this test must have been running at its end: otherwise a limit that is too low would count as the
# bug, and later as the agent's failure.
def _shows_bug(expected: ExpectedTests, evidence: Evidence) -> bool:
    outcomes = outcomes_of(evidence)
    if evidence.report is not None and _ran_none(evidence.report):
        return False
    by_itself = evidence.command is None or evidence.ran_to_end
    if expected.fail_to_pass:
        failing = FAILING_OUTCOMES if by_itself else {CaseOutcome.UNFINISHED}
        return any(outcomes.get(node_id) in failing for node_id in expected.fail_to_pass)
    crashed = evidence.command is not None and evidence.command.ending is Ending.KILLED
    return (by_itself or crashed) and any(was in FAILING_OUTCOMES for was in outcomes.values())


def _why_none_ran(evidence: Evidence) -> str:
    """Why no listed test ran, after a colon; empty if other tests ran."""
    report, command = evidence.report, evidence.command
    if report is not None and report.collection_errors:
        return f": {collection_error_message(report)}"
    if report is None or command is None or not _ran_none(report):
        return ""
    stated = stated_error(command)
    end = f"exit code {command.exit_code}{f' ({stated})' if stated else ''}"
    if report.complete and report.collected and command.exit_code == 0:
        return (
            f": {report.collected} tests were collected and none ran, with {end}; look for an "
            "option such as --collect-only in the project's configuration"
        )
    return f": the test run ended with {end} before a test ran"


# Whether no test was called; with --setup-plan a session goes through all of them so.
def _ran_none(report: ReportFacts) -> bool:
    uncalled = [c.outcome is CaseOutcome.UNFINISHED and not c.phases[1] for c in report.cases]
    return all(uncalled) and (report.complete or not uncalled)


def _failure(reason: FailureReason, detail: str) -> Failure:
    of_baseline = reason is FailureReason.BASELINE_NOT_FAILING
    stage = StageName.BASELINE_RUN if of_baseline else StageName.FINAL_TEST
    return Failure(stage=stage, reason=reason, fault=reason.fault, detail=detail)


def _fail_to_pass_warnings(expected: ExpectedTests, evidence: Evidence) -> list[str]:
    outcomes = outcomes_of(evidence)
    listed = dict.fromkeys(with_node_ids(expected, evidence).fail_to_pass)
    skipped = [i for i in listed if outcomes.get(i) is CaseOutcome.SKIPPED]
    ran = [i for i in listed if i in outcomes and i not in skipped]
    early = [i for i in ran if outcomes[i] is CaseOutcome.PASSED]
    warnings = []
    if listed and not ran:
        warnings.append(f"no fail_to_pass test ran in the baseline{_why_none_ran(evidence)}")
    if skipped:
        warnings.append(f"skipped in the baseline, not failing: {', '.join(skipped)}")
    if early:
        warnings.append(f"passes before any fix, though listed as fail_to_pass: {', '.join(early)}")
    return warnings


def _stage_failures(expected: ExpectedTests, stages: Sequence[StageResult]) -> tuple[Failure, ...]:
    found = []
    never_started = False
    baseline = Evidence()
    for result in stages:
        if result.stage is StageName.BASELINE_RUN:
            baseline = result.evidence
            failure = baseline_failure(expected, baseline)
            never_started = _could_not_start(baseline)
        elif result.stage is StageName.FINAL_TEST:
            failure = _final_failure(expected, baseline, result.evidence)
        else:
            failure = classify(result.stage, result.evidence)
        if failure and never_started and _could_not_start(result.evidence):
            failure = failure.replace(fault=Fault.TASK)
        found.append(failure)
    return tuple(failure for failure in found if failure is not None)


# The failure in the final test; the task's fault if the baseline ended in the same way. A
# collection error that is also in a file without tests to fix has its cause there, too. In a file
# with tests to fix it may be the bug itself.
def _final_failure(expected: ExpectedTests, baseline: Evidence, final: Evidence) -> Failure | None:
    report, before = final.report, baseline.report
    if report is None or before is None:
        return classify(StageName.FINAL_TEST, final)
    if not report.collection_facts:
        failure = classify(StageName.FINAL_TEST, final)
        return _as_tasks(failure) if _ended_alike(expected, baseline, final) else failure
    all_known = len(report.collection_facts) == len(report.collection_errors)
    to_fix = set(files_of(expected.fail_to_pass))
    # Without lists, every file may have a test to fix.
    of_others = {
        _cause_of(fact) for fact in before.collection_facts if to_fix and fact.file not in to_fix
    }
    known = {
        (fact.file, _cause_of(fact))
        for fact in before.collection_facts
        if _cause_of(fact) in of_others
    }
    new = tuple(f for f in report.collection_facts if (f.file, _cause_of(f)) not in known)
    if new or not all_known:  # the first of these is named
        report = report.replace(collection_facts=new or report.collection_facts)
        return classify(StageName.FINAL_TEST, final.replace(report=report))
    failure = classify(StageName.FINAL_TEST, final)
    is_collection = failure is not None and failure.reason is FailureReason.INTERNAL_ERROR
    return _as_tasks(failure) if is_collection else failure


def _as_tasks(failure: Failure | None) -> Failure | None:
    if failure is None:
        return None
    detail = f"{failure.detail}; the baseline has the same error"
    return failure.replace(fault=Fault.TASK, detail=detail)


# The error, its message and the file that raised it, alike for every file that it stops. The line
# is left out, since it changes with edits above it.
def _cause_of(fact: CollectionFact) -> tuple[str, str, str]:
    name = fact.file.rpartition("/")[2]
    message = fact.message.replace(fact.file, "").replace(name, "")
    return fact.error, message, "" if fact.path == fact.file else fact.path


def _ended_alike(expected: ExpectedTests, baseline: Evidence, final: Evidence) -> bool:
    """Whether the baseline ended like the final test, and not by a test to fix."""
    before, after = baseline.command, final.command
    if before is None or after is None or baseline.report is None or final.report is None:
        return False
    if _has_only_errors(expected, baseline) and _has_only_errors(expected, final):
        return True
    return (
        not _shows_bug(expected, baseline)
        and baseline.report.outcome is final.report.outcome is not PytestOutcome.PASSED
        and (before.ending, before.exit_code, before.signal)
        == (after.ending, after.exit_code, after.signal)
        and _NUMBER.sub("", stated_error(before)) == _NUMBER.sub("", stated_error(after))
    )


# Whether the set-up of every test failed, also of tests that are not to be fixed. A fixture of a
# plugin that is not installed is the usual cause.
def _has_only_errors(expected: ExpectedTests, evidence: Evidence) -> bool:
    outcomes = outcomes_of(evidence)
    others = outcomes.keys() - set(expected.fail_to_pass)
    errors = all(was is CaseOutcome.ERROR for was in outcomes.values())
    return bool(expected.fail_to_pass and others) and errors


def _crashed(agent_run: Evidence) -> bool:
    """Whether the agent's own program failed before it answered the task."""
    failure = classify(StageName.AGENT_RUN, agent_run)
    own_reasons = {FailureReason.UNKNOWN, FailureReason.INTERRUPTED}
    by_itself = agent_run.exception is not None or agent_run.agent in AGENT_CRASHES
    if failure is None or not by_itself:
        return False
    return failure.reason in own_reasons and failure.fault is Fault.AGENT


# A failure after an agent's crash: the agent's own failures in the final test do not count.
def _as_consequence(failure: Failure) -> Failure:
    follows = failure.stage is StageName.FINAL_TEST and failure.fault is Fault.AGENT
    return failure.replace(terminal=False) if follows else failure


# Whether the tests could not start. If this is so in the baseline, too, no agent caused it.
def _could_not_start(evidence: Evidence) -> bool:
    if evidence.rewards is not None:
        return bool(evidence.rewards.fault)
    return evidence.report is not None and evidence.report.outcome is PytestOutcome.SPAWN


# Whether a stage before the agent's failed; such an attempt has no valid final test.
def _stopped_early(failures: Sequence[Failure]) -> bool:
    return any(failure.stage not in AGENT_STAGES for failure in failures)


# The first critical finding; changes to the runner that the baseline has, too, are none.
def _critical(baseline: Evidence, stages: Sequence[StageResult]) -> str | None:
    usual = set(baseline.report.internals_changed) if baseline.report else set()
    for result in stages:
        for finding in result.evidence.findings:
            if finding.severity is Severity.CRITICAL:
                return f"{finding.rule} at {finding.where}: {finding.what}"
        report = result.evidence.report
        changed = set(report.internals_changed) - usual if report else set()
        if result.stage is StageName.FINAL_TEST and changed:
            return f"internals of the test runner were replaced: {', '.join(sorted(changed))}"
    return None


def _failed(failures: tuple[Failure, ...], tests: tuple[CaseChange, ...]) -> Verdict:
    primary_reason = FailureReason.resolve(f.reason for f in failures if f.terminal)
    if primary_reason is None:
        primary_reason = FailureReason.UNKNOWN
        detail = "the attempt ended before its final test, and no stage says why"
        failures = (*failures, _failure(primary_reason, detail))
    primary = next(f for f in failures if f.terminal and f.reason is primary_reason)
    return Verdict(
        resolved=False,
        failure_reason=primary.reason,
        fault=primary.fault,
        detail=primary.detail,
        failures=failures,
        tests=tests,
        counts=_counts(tests),
    )


def _counts(tests: Sequence[CaseChange]) -> ChangeCounts:
    passed = CaseOutcome.PASSED
    broken = [test for test in tests if _was_broken(test)]
    return ChangeCounts(
        fixed=sum(t.final is passed for t in broken),
        still_failing=sum(_fails_now(t) for t in broken),
        regressed=sum(t.baseline is passed and t.final in FAILING_OUTCOMES for t in tests),
        unrun=sum(t.final is None for t in tests),
    )


# Whether a test had to be fixed; skipped tests that are not listed do not count.
def _was_broken(test: CaseChange) -> bool:
    if test.listed == "fail_to_pass":
        return test.baseline is not CaseOutcome.PASSED
    return test.baseline is None or test.baseline in FAILING_OUTCOMES


def _fails_now(test: CaseChange) -> bool:
    if test.listed == "fail_to_pass":
        return test.final is not None and test.final is not CaseOutcome.PASSED
    return test.final in FAILING_OUTCOMES
