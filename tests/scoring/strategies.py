"""Evidence of all kinds for property tests, and short ways to write single pieces of it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from agentbench.scoring.classification import Failure
from agentbench.scoring.evidence import (
    AgentEnding,
    CaseFact,
    CaseOutcome,
    CommandResult,
    Ending,
    Evidence,
    ExceptionFact,
    Finding,
    NodeId,
    PytestOutcome,
    ReportFacts,
    ReportSource,
    Severity,
    StageResult,
)
from agentbench.scoring.expectation import ExpectedTests
from agentbench.taxonomy import FailureReason, Fault, StageName

A, B, C, D = (NodeId(f"tests/test_it.py::test_{name}") for name in "abcd")
NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


def command(exit_code: int | None = 0, ending: Ending = Ending.EXITED, **more) -> CommandResult:
    given = {"argv": ("python", "-m", "pytest"), "duration": timedelta(seconds=5), **more}
    return CommandResult(ending=ending, exit_code=exit_code, **given)


def case(node_id: NodeId, outcome: str = "passed", phases=(1, 1, 1)) -> CaseFact:
    return CaseFact(node_id=node_id, outcome=CaseOutcome(outcome), phases=phases)


def report(*cases: CaseFact, outcome: str | None = None, **more) -> ReportFacts:
    """A whole report of these tests; its outcome follows from them unless one is given."""
    bad = {CaseOutcome.FAILED, CaseOutcome.ERROR, CaseOutcome.UNFINISHED}
    failed = sum(c.outcome in bad for c in cases)
    natural = "failed" if failed else "passed" if cases else "no_tests"
    facts = {
        "source": ReportSource.STREAM,
        "complete": True,
        "collected": len(cases),
        "passed": sum(c.outcome is CaseOutcome.PASSED for c in cases),
        "failed": failed,
        **more,
    }
    return ReportFacts(outcome=PytestOutcome(outcome or natural), cases=cases, **facts)


def ran(*cases: CaseFact, exit_code: int | None = None, **more) -> Evidence:
    """A pytest run to its end over these tests, its exit code as pytest would choose it."""
    facts = report(*cases, **more)
    natural = {PytestOutcome.PASSED: 0, PytestOutcome.NO_TESTS: 5}.get(facts.outcome, 1)
    code = natural if exit_code is None else exit_code
    return Evidence(command=command(code), report=facts)


def stage(name: str, evidence: Evidence) -> StageResult:
    return StageResult(
        stage=StageName(name), evidence=evidence, started_at=NOON, duration=timedelta(seconds=1)
    )


def attempt(final: Evidence, baseline: Evidence | None = None, **others: Evidence):
    before = ran(case(A, "failed"), case(B)) if baseline is None else baseline
    given = {
        "agent_run": Evidence(agent=AgentEnding.SUBMITTED),
        **others,
        "baseline_run": before,
        "final_test": final,
    }
    clean = Evidence(command=command(0))
    return tuple(stage(name, given.get(name, clean)) for name in StageName)


def expecting(fail_to_pass: Sequence[NodeId] = (A,), pass_to_pass=(B,)) -> ExpectedTests:
    kept = pass_to_pass if pass_to_pass == "baseline" else tuple(pass_to_pass)
    return ExpectedTests(fail_to_pass=tuple(fail_to_pass), pass_to_pass=kept)


words = st.text(max_size=12)
node_ids = st.sampled_from([A, B, C, D])
durations = st.integers(0, 10_000).map(lambda seconds: timedelta(seconds=seconds))
exit_codes = st.integers(-255, 255)

commands = st.builds(
    CommandResult,
    argv=st.lists(words, max_size=3).map(tuple),
    ending=st.sampled_from(Ending),
    exit_code=st.none() | exit_codes,
    signal=st.none() | st.integers(0, 64),
    exceeded=words,
    duration=durations,
    stdout=words,
    stderr=words | st.just("fatal: Could not resolve host: example.invalid"),
)

cases = st.builds(
    CaseFact,
    node_id=node_ids,
    outcome=st.sampled_from(CaseOutcome),
    phases=st.sampled_from([(1, 1, 1), (1, 0, 1), (2, 2, 2), (1, 0, 0)]),
)

reports = st.builds(
    ReportFacts,
    outcome=st.sampled_from(PytestOutcome),
    source=st.sampled_from(ReportSource),
    complete=st.booleans(),
    collected=st.integers(0, 4),
    passed=st.integers(0, 4),
    failed=st.integers(0, 4),
    cases=st.lists(cases, max_size=5).map(tuple),
    collection_errors=st.lists(words, max_size=1).map(tuple),
    internals_changed=st.lists(words, max_size=1).map(tuple),
)

findings = st.builds(
    Finding, rule=words, severity=st.sampled_from(Severity), where=words, what=words
)

exceptions = st.builds(
    ExceptionFact,
    type_name=words,
    message=words,
    reason=st.sampled_from([reason.value for reason in FailureReason]),
    fault=st.none() | st.sampled_from([fault.value for fault in Fault]),
)

evidences = st.builds(
    Evidence,
    command=st.none() | commands,
    report=st.none() | reports,
    agent=st.none() | st.sampled_from(AgentEnding),
    agent_detail=words,
    agent_fault=st.none() | st.sampled_from(Fault),
    exception=st.none() | exceptions,
    memory_limit_mib=st.none() | st.integers(1, 4096),
    findings=st.lists(findings, max_size=1).map(tuple),
)

failures = st.builds(
    Failure,
    stage=st.sampled_from(StageName),
    reason=st.sampled_from(FailureReason),
    fault=st.sampled_from(Fault),
    detail=words,
    terminal=st.booleans(),
)

expectations = st.builds(
    ExpectedTests,
    fail_to_pass=st.lists(node_ids, max_size=3).map(tuple),
    pass_to_pass=st.lists(node_ids, max_size=3).map(tuple) | st.just("baseline"),
)


@st.composite
def attempts(draw: st.DrawFn) -> tuple[StageResult, ...]:
    reached = draw(st.integers(0, len(StageName)))
    return tuple(stage(name, draw(evidences)) for name in list(StageName)[:reached])


@st.composite
def passing_runs(draw: st.DrawFn) -> tuple[CaseFact, ...]:
    """Tests of a run that passes A and B; C and D may do what they like."""
    others = draw(st.lists(cases.filter(lambda c: c.node_id in {C, D}), max_size=3))
    return (case(A), case(B), *others)
