"""Rules about an attempt: its record, its control runs, its patch and its log."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping

from pydantic import ValidationError

from agentbench.attempt.record import rejudge
from agentbench.audit.rule import RuleHit, critical, info, warning
from agentbench.audit.run_facts import AttemptFacts, UnreadableRunFileError
from agentbench.audit.task_facts import found_in, without
from agentbench.core.network import network_text
from agentbench.integrity.records import ControlKind, control_findings
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportFacts, Severity
from agentbench.taxonomy import StageName
from agentbench.test_runs.model import PytestResult

_RECORD = "record.json"
_VERDICT_FIELDS = ("resolved", "quarantined", "failure_reason", "fault")
_DERIVED_FIELDS = ("detail", "failures", "tests", "counts")
_REPORT_FILES = {StageName.BASELINE_RUN: "baseline.json", StageName.FINAL_TEST: "final.json"}
WEIGHED_LACKS: Mapping[str, str] = {
    "no network for agent and tests": "the agent may have fetched the fix",
    "own file system view": "the agent may have read the task's folder, with tests and solution",
    "the whole process tree dies at the deadline": "processes of the agent may have survived",
    "no privileges, no capabilities, seccomp": "the agent may have left its sandbox",
}
_FINAL_TEST_STAGE = "final_test"
_ORACLE = "oracle"
# Characters; shorter test names are easy to guess.
_LEAST_NAME = 14


def verdict_differs(facts: AttemptFacts) -> Iterator[RuleHit]:
    """A verdict that differs from its own evidence was edited, or follows other rules."""
    record, verdict = facts.record, rejudge(facts.record)
    if any(getattr(record, name) != getattr(verdict, name) for name in _VERDICT_FIELDS):
        was, now = (one.failure_reason or "resolved" for one in (record, verdict))
        remedy = "`agentbench rescore` shows the changes"
        yield critical(_RECORD, f"the verdict is {was}, but its evidence gives {now} ({remedy})")
        return
    names = [name for name in _DERIVED_FIELDS if getattr(record, name) != getattr(verdict, name)]
    if names:
        what = f"{', '.join(names)}: different from what its evidence gives; the verdict is right"
        yield warning(_RECORD, what)


def findings_hidden(facts: AttemptFacts) -> Iterator[RuleHit]:
    """A record repeats the findings of its stages; a record that omits some was edited."""
    record = facts.record
    found = tuple(one for stage in record.stages for one in stage.evidence.findings)
    if found != record.findings:
        yield critical(
            _RECORD, f"its {len(record.findings)} findings are not the {len(found)} of its stages"
        )


def resolved_despite_finding(facts: AttemptFacts) -> Iterator[RuleHit]:
    """A critical finding quarantines an attempt, which then cannot count as resolved."""
    record = facts.record
    if not record.resolved:
        return
    of_stages = (one for stage in record.stages for one in stage.evidence.findings)
    for one in dict.fromkeys((*record.findings, *of_stages)):
        if one.severity is Severity.CRITICAL:
            yield critical(one.where, f"resolved despite {one.rule}: {one.what}")


def quarantined(facts: AttemptFacts) -> Iterator[RuleHit]:
    """A quarantined attempt has cheated, or a defect of its task looks like it."""
    if facts.record.quarantined:
        yield critical(_FINAL_TEST_STAGE, facts.record.detail)


def tampered_with_tests(facts: AttemptFacts) -> Iterator[RuleHit]:
    """An agent that changes tests or their configuration may want to pass without a fix."""
    for path in facts.record.tampered_paths:
        yield warning(path, "a test or its configuration, which the agent changed; not judged")


def files_disagree(facts: AttemptFacts) -> Iterator[RuleHit]:
    """A verdict rests on the patch and the reports; changed ones no longer support it."""
    patch = facts.record.patch
    if patch is not None:
        try:
            if hashlib.sha256(facts.read(patch.path)).hexdigest() != patch.sha256:
                what = "is not the patch that was judged: its sha256 differs"
                yield critical(patch.path, what)
        except UnreadableRunFileError as error:
            yield critical(patch.path, str(error))
    for stage in facts.record.stages:
        name, report = _REPORT_FILES.get(stage.name), stage.evidence.report
        if name is not None and report is not None:
            cases = ((case.node_id, case.outcome) for case in report.cases)
            why = _report_difference(facts, name, cases, report)
            if why is not None:
                yield critical(name, why)
        if stage.log is not None:
            try:
                facts.read(stage.log)
            except UnreadableRunFileError as error:
                yield warning(stage.log, str(error))


def sandbox_lacks(facts: AttemptFacts) -> Iterator[RuleHit]:
    """An agent may have used what its sandbox did not prevent."""
    environment = facts.record.environment
    where = f"sandbox {environment.sandbox}"
    networks = environment.network
    agents = networks.get(StageName.AGENT_RUN) if isinstance(networks, dict) else False
    if agents:
        what = f"the agent had a network ({network_text(agents)}), as the task asks"
        yield info(where, f"{what}: it may have fetched the fix")
    for lack in environment.lacks:
        if lack in WEIGHED_LACKS:
            yield warning(where, f"did not promise: {lack}; {WEIGHED_LACKS[lack]}")
        else:
            yield info(where, f"did not promise: {lack}")


def task_changed(facts: AttemptFacts) -> Iterator[RuleHit]:
    """If the task has changed, the other rules compare with another task."""
    task = facts.task
    if task is not None and task.task.digest != facts.record.task_digest:
        yield warning("the task", "has changed since the attempt: its digest differs")


def _report_difference(
    facts: AttemptFacts,
    name: str,
    recorded: Iterable[tuple[NodeId, CaseOutcome | None]],
    whole: ReportFacts | None = None,
) -> str | None:
    """How a report contradicts the record, by the run's ending or by its first differing test."""
    try:
        result = PytestResult.model_validate_json(facts.read(name))
    except UnreadableRunFileError as error:
        return str(error)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        return f"is not a valid report: {where}: {first['msg']}"
    if whole is not None and (result.outcome, result.complete) != (whole.outcome, whole.complete):
        return f"has the outcome {result.outcome}, but the record has {whole.outcome}"
    reported: dict[NodeId, set[CaseOutcome]] = {}
    for test in result.tests:
        reported.setdefault(test.node_id, set()).add(test.outcome)
    for node_id, outcome in recorded:
        outcomes = reported.get(node_id, set())
        if outcome not in outcomes:
            outcome_names = ", ".join(sorted(outcomes)) or "nothing"
            return f"has {outcome_names} for {node_id}, but the record has {outcome}"
    return None


def no_controls(facts: AttemptFacts) -> Iterator[RuleHit]:
    """Without control runs, a report that was forged in the tested process goes unnoticed."""
    record = facts.record
    if not record.resolved:
        return
    controls = record.controls
    if controls is None or not (controls.runs or controls.sealed):
        why = (controls.skipped if controls else None) or "the record has none"
        what = f"resolved without control runs: {why}; a forged report would go unnoticed"
        yield warning(_FINAL_TEST_STAGE, what)
        return
    listed = set(record.expected_node_ids().fail_to_pass)
    # The sealed tests, and those that had to fail in a blind run in which that is evidence
    controlled = {test.node_id for test in controls.tests if test.control is ControlKind.SEALED}
    for run in controls.runs:
        failing = {test.node_id for test in run.tests if test.must == "fail"}
        controlled |= failing - set(run.dismissed)
    spared = sorted(listed - controlled)
    if spared:
        what = (
            f"{len(spared)} of {len(listed)} fail_to_pass tests were neither sealed nor required "
            f"to fail in a blind run (controls: {controls.level.value}); the first is {spared[0]}"
        )
        yield info(_FINAL_TEST_STAGE, what)


def controls_disagree(facts: AttemptFacts) -> Iterator[RuleHit]:
    """Control runs that contradict an attempt, or whose reports are gone, must be reported."""
    controls = facts.record.controls
    if controls is None:
        return
    against = control_findings(controls)
    found = any(one.severity is Severity.CRITICAL for one in facts.record.findings)
    if against and not found:
        what = f"has no critical finding, but its control runs give one: {against[0].what}"
        yield critical(_RECORD, what)
    for run in controls.runs:
        name = f"control-{run.half}.json"
        # Ids with brackets differ in each run: their values are made up anew.
        known = [test for test in run.tests if "[" not in test.node_id and test.outcome is not None]
        why = _report_difference(facts, name, ((test.node_id, test.outcome) for test in known))
        if why is not None:
            yield critical(name, why)


def hidden_tests_in_patch(facts: AttemptFacts) -> Iterator[RuleHit]:
    """An agent that writes hidden tests has seen them: they were never in its sandbox."""
    if facts.task is None or facts.record.agent == _ORACLE:
        return
    instruction = facts.task.task.problem.instruction
    hidden = without(facts.task.hidden_fingerprints, [instruction])
    known_words = set(re.findall(r"\w+", instruction))
    names = {name for name in facts.task.hidden_names - known_words if len(name) >= _LEAST_NAME}
    for file in facts.raw_patch:
        added = "\n".join(line for _, line in file.added())
        found = found_in(added, hidden)
        if found:
            what = f"adds {len(found)} of {len(hidden)} distinctive lines of the hidden tests"
            yield warning(file.path, what)
        named = sorted(names & set(re.findall(r"\w+", added)))
        if named:
            yield warning(file.path, f"names hidden tests: {', '.join(named)}")
