"""Rules about an attempt: its record, its control runs, its patch and its log."""

import hashlib
import re
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from agentbench.attempt.record import rejudge
from agentbench.audit.patch import FilePatch, apply_patch
from agentbench.audit.rule import RuleHit
from agentbench.audit.run_facts import AttemptFacts, UnreadableRunFileError
from agentbench.integrity.records import ControlRun, Controls, control_findings
from agentbench.integrity.suspicious_code import SUSPICIOUS_CODE as SUSPICIOUS
from agentbench.integrity.suspicious_code import suspicious_code
from agentbench.pytest_results.model import PytestResult
from agentbench.scoring.evidence import CaseOutcome, NodeId, ReportFacts, Severity
from agentbench.scoring.taxonomy import FailureReason, StageName

_RECORD = "record.json"
_VERDICT_FIELDS = ("resolved", "quarantined", "failure_reason", "fault")
_DERIVED_FIELDS = ("detail", "failures", "tests", "counts")
_REPORT_FILES = {StageName.BASELINE_RUN: "baseline.json", StageName.FINAL_TEST: "final.json"}
_NO_NETWORK = "no network for agent and tests"
WEIGHED_LACKS: Mapping[str, str] = {
    _NO_NETWORK: "the agent may have fetched the fix",
    "own file system view": "the agent may have read the task's folder, with tests and solution",
    "the whole process tree dies at the deadline": "what the agent started may have lived on",
    "no privileges, no capabilities, seccomp": "the agent may have left its sandbox",
}


def verdict_differs(facts: AttemptFacts) -> Iterator[RuleHit]:
    """A verdict that its own evidence does not give was edited, or judged by other rules."""
    record, verdict = facts.record, rejudge(facts.record)
    if any(getattr(record, name) != getattr(verdict, name) for name in _VERDICT_FIELDS):
        was, now = (_verdict_word(one.failure_reason) for one in (record, verdict))
        what = f"says {was}, its evidence {now} (`agentbench rescore` shows what changed)"
        yield RuleHit(Severity.CRITICAL, _RECORD, what)
        return
    names = [name for name in _DERIVED_FIELDS if getattr(record, name) != getattr(verdict, name)]
    if names:
        what = f"{', '.join(names)}: not what its evidence gives today; the verdict holds"
        yield RuleHit(Severity.WARNING, _RECORD, what)


def findings_hidden(facts: AttemptFacts) -> Iterator[RuleHit]:
    """A record repeats what its stages found; one that leaves some out was edited."""
    record = facts.record
    found = tuple(one for stage in record.stages for one in stage.evidence.findings)
    if found != record.findings:
        what = f"lists {len(record.findings)} findings, its stages {len(found)}, not the same ones"
        yield RuleHit(Severity.CRITICAL, _RECORD, what)


def resolved_despite_finding(facts: AttemptFacts) -> Iterator[RuleHit]:
    """One critical finding quarantines an attempt; it can't count as resolved."""
    record = facts.record
    if not record.resolved:
        return
    of_stages = (one for stage in record.stages for one in stage.evidence.findings)
    for one in dict.fromkeys((*record.findings, *of_stages)):
        if one.severity is Severity.CRITICAL:
            what = f"resolved in spite of {one.rule}: {one.what}"
            yield RuleHit(Severity.CRITICAL, one.where, what)


def files_disagree(facts: AttemptFacts) -> Iterator[RuleHit]:
    """Patch and reports are what a verdict rests on; changed ones support it no longer."""
    yield from _patch_difference(facts)
    for stage in facts.record.stages:
        name = _REPORT_FILES.get(stage.name)
        if name is not None and stage.evidence.report is not None:
            why = _report_difference(facts, name, stage.evidence.report)
            if why is not None:
                yield RuleHit(Severity.CRITICAL, name, why)
        if stage.log is not None:
            try:
                facts.read(stage.log)
            except UnreadableRunFileError as error:
                yield RuleHit(Severity.WARNING, stage.log, str(error))


def sandbox_lacks(facts: AttemptFacts) -> Iterator[RuleHit]:
    """What a sandbox did not promise, an agent may have made use of."""
    environment = facts.record.environment
    for lack in environment.lacks:
        severity = Severity.WARNING if lack in WEIGHED_LACKS else Severity.INFO
        what = f"did not promise: {lack}" + (
            f"; {WEIGHED_LACKS[lack]}" if lack in WEIGHED_LACKS else ""
        )
        yield RuleHit(severity, f"sandbox {environment.sandbox}", what)


def task_changed(facts: AttemptFacts) -> Iterator[RuleHit]:
    """Held against a task that changed since, the other rules speak of another task."""
    task = facts.task
    if task is not None and task.task.digest != facts.record.task_digest:
        what = "is not what it was when the attempt was made: its digest differs"
        yield RuleHit(Severity.WARNING, "the task", what)


def already_recorded(facts: AttemptFacts) -> Iterator[RuleHit]:
    """What the harness itself found and left out belongs into the same picture."""
    record = facts.record
    for dropped in record.patch.dropped if record.patch else ():
        yield RuleHit(Severity.INFO, dropped.path, f"not judged: {dropped.why}")
    for one in record.findings:
        if one.rule == SUSPICIOUS:
            continue  # the patch is scanned again, by a rule of its own
        what = f"on the record ({one.severity.value}): {one.rule}: {one.what}"
        yield RuleHit(Severity.INFO, one.where, what)


def _verdict_word(reason: FailureReason | None) -> str:
    return reason.value if reason is not None else "resolved"


def _patch_difference(facts: AttemptFacts) -> Iterator[RuleHit]:
    patch = facts.record.patch
    if patch is None:
        return
    try:
        content = facts.read(patch.path)
    except UnreadableRunFileError as error:
        yield RuleHit(Severity.CRITICAL, patch.path, str(error))
        return
    if hashlib.sha256(content).hexdigest() != patch.sha256:
        yield RuleHit(
            Severity.CRITICAL, patch.path, "is not the patch that was judged: its sha256 differs"
        )


def _report_difference(facts: AttemptFacts, name: str, report: ReportFacts) -> str | None:
    try:
        result = PytestResult.model_validate_json(facts.read(name))
    except UnreadableRunFileError as error:
        return str(error)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    if (result.outcome, result.complete) != (report.outcome, report.complete):
        return f"says {result.outcome}, the record {report.outcome}"
    kept: dict[NodeId, list[CaseOutcome]] = {}
    for test in result.tests:
        kept.setdefault(test.node_id, []).append(test.outcome)
    for case in report.cases:
        if case.outcome not in kept.get(case.node_id, ()):
            said = ", ".join(kept.get(case.node_id, ())) or "nothing"
            return f"says {said} of {case.node_id}, the record {case.outcome}"
    return None


_FINAL_TEST_STAGE = "final_test"


def no_controls(facts: AttemptFacts) -> Iterator[RuleHit]:
    """Without control runs a report that was forged in the tested process goes unnoticed."""
    record = facts.record
    if not record.resolved:
        return
    controls = record.controls
    if controls is None or not controls.runs:
        why = (controls.skipped if controls else None) or "none are on the record"
        what = f"resolved without control runs: {why}; a forged report would go unnoticed"
        yield RuleHit(Severity.WARNING, _FINAL_TEST_STAGE, what)
        return
    listed = set(record.expected.fail_to_pass)
    spared = sorted(listed - _had_to_fail(controls))
    if spared:
        what = f"{len(spared)} of {len(listed)} fail_to_pass tests had to fail in no blind run"
        told = f"{what} (controls: {controls.level.value}), first {spared[0]}"
        yield RuleHit(Severity.INFO, _FINAL_TEST_STAGE, told)


def weak_controls(facts: AttemptFacts) -> Iterator[RuleHit]:
    """A weakly controlled test shows a forged report, and not code that lies with values."""
    controls = facts.record.controls
    if facts.record.resolved and controls is not None:
        for weak in controls.weakly_controlled:
            where = f"{weak.file}::{weak.function}"
            yield RuleHit(Severity.INFO, where, f"was weakly controlled: {weak.reason}")


def controls_disagree(facts: AttemptFacts) -> Iterator[RuleHit]:
    """Blind runs that speak against an attempt, or that are gone, must not be passed over."""
    controls = facts.record.controls
    if controls is None:
        return
    against = control_findings(controls)
    found = any(one.severity is Severity.CRITICAL for one in facts.record.findings)
    if against and not found:
        what = f"lists no finding, and its blind runs do: {against[0].what}"
        yield RuleHit(Severity.CRITICAL, _RECORD, what)
    for run in controls.runs:
        name = f"control-{run.half}.json"
        why = _control_report_difference(facts, name, run)
        if why is not None:
            yield RuleHit(Severity.CRITICAL, name, why)


def _had_to_fail(controls: Controls) -> set[NodeId]:
    """The tests that had to fail in some blind run, and for which that says something."""
    return {
        test.node_id
        for run in controls.runs
        for test in run.tests
        if test.must == "fail" and test.node_id not in run.dismissed
    }


def _control_report_difference(facts: AttemptFacts, name: str, run: ControlRun) -> str | None:
    """What a blind run's own report says against the record; its ids in brackets are made up."""
    try:
        result = PytestResult.model_validate_json(facts.read(name))
    except UnreadableRunFileError as error:
        return str(error)
    except ValidationError:
        return "is no report of pytest, or one that was damaged"
    kept: dict[NodeId, set[CaseOutcome]] = {}
    for case in result.tests:
        kept.setdefault(case.node_id, set()).add(case.outcome)
    for test in run.tests:
        said = kept.get(test.node_id, set())
        plain = "[" not in test.node_id and test.outcome is not None
        if plain and test.outcome not in said:
            shown = ", ".join(sorted(said)) or "nothing"
            return f"says {shown} of {test.node_id}, the record {test.outcome}"
    return None


_ORACLE = "oracle"
_FETCH_COMMANDS = re.compile(
    r"\b(pip[\d.]*\s+(?:download|install)\s+(?!-e\b|\.)\S|git\s+(?:fetch|pull)\b"
    r"|git\s+clone\s[^\n|;]{0,100}?(?:://|git@)|(?:curl|wget)\s[^\n|;]{0,100}?https?://"
    r"|git\s+remote\s+add\b)"
)
_LEAST_NAME = 14  # characters; a shorter name of a test may be anybody's idea
_MAX_SHOWN = 100


def equals_solution(facts: AttemptFacts) -> Iterator[RuleHit]:
    """The very reference fix was memorised, leaked, or is the one that anybody would write."""
    task = facts.task
    if task is None or facts.record.agent == _ORACLE or not task.solution:
        return
    ours, theirs = _changed_lines(task.solution), _changed_lines(facts.patch)
    if facts.patch_text == task.task.answer_key.solution_patch or (ours and ours == theirs):
        what = f"changes the same {len(ours)} lines as solution.patch: memorised, leaked or obvious"
        yield RuleHit(Severity.INFO, "patch.diff", what)


def hidden_tests_in_patch(facts: AttemptFacts) -> Iterator[RuleHit]:
    """Who writes hidden tests down has seen them: they were never in the agent's sandbox."""
    if facts.task is None or facts.record.agent == _ORACLE:
        return
    instruction = facts.task.task.problem.instruction
    hidden = facts.task.hidden_fingerprints
    hidden = hidden.without(hidden.found_in(instruction))
    told_of = set(re.findall(r"\w+", instruction))
    names = {name for name in facts.task.hidden_names - told_of if len(name) >= _LEAST_NAME}
    for file in facts.raw_patch:
        added = "\n".join(line for _, line in file.added())
        found = hidden.found_in(added)
        if found:
            what = f"adds {len(found)} of {len(hidden)} telling lines of the hidden tests"
            yield RuleHit(Severity.WARNING, file.path, what)
        told = sorted(names & set(re.findall(r"\w+", added)))
        if told:
            what = f"names hidden tests: {', '.join(told)}"
            yield RuleHit(Severity.WARNING, file.path, what)


def fetched_upstream(facts: AttemptFacts) -> Iterator[RuleHit]:
    """Agents have no network; one that asks for it may have looked for the fix."""
    seen: set[str] = set()
    for number, line in enumerate(facts.log.splitlines(), start=1):
        found = _FETCH_COMMANDS.search(line[:10_000])
        if found and found.group() not in seen:
            seen.add(found.group())
            shown = line[max(found.start() - 20, 0) :][:_MAX_SHOWN]
            yield RuleHit(Severity.INFO, f"stages/agent_run.log:{number}", f"mentions: {shown}")


def suspicious(facts: AttemptFacts) -> Iterator[RuleHit]:
    """Code that cheats need shows a reader where to look first; it is never guilt."""
    for file in facts.patch:
        before = facts.before(file.path)
        after = None if file.removed else apply_patch(before, file)
        if after is None:  # the base is not known: what is added alone
            before = None
            after = "".join(f"{line}\n" for _, line in file.added()).encode()
        for finding in suspicious_code(file.path, before, after):
            yield RuleHit(finding.severity, finding.where, finding.what)


def _changed_lines(patch: tuple[FilePatch, ...]) -> frozenset[tuple[str, str]]:
    return frozenset((file.path, line) for file in patch for line in file.changed())
