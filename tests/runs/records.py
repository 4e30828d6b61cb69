"""Records and configurations, single ones and all kinds of them for property tests."""

import hashlib
import json
from datetime import timedelta

from hypothesis import strategies as st

from agentbench.attempt.record import (
    AttemptRecord,
    EnvironmentRecord,
    RunId,
    StageRecord,
    TaskStepRecord,
    TimingRecord,
    UsageRecord,
)
from agentbench.errors import RunCancelled
from agentbench.integrity.records import ControlKind, Controls, TestControl
from agentbench.runs.store.configuration import RunConfiguration, TaskEntry
from agentbench.scoring.evidence import Evidence, NodeId, StageResult
from agentbench.scoring.expectation import ExpectedTests
from agentbench.scoring.verdict import judge
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.problem import TaskId
from tests.scoring import strategies

RUN = RunId("20260102T120000-abcd")
ENVIRONMENT = EnvironmentRecord(sandbox="process", cpus=1, memory_mib=64, pids=8, disk_mib=64)


def sealed_as(record: AttemptRecord, **odd: object) -> bytes:
    """A record's line with other fields than its schema allows, under a digest that holds."""
    text = json.dumps(json.loads(record.model_dump_json()) | odd, separators=(",", ":"))
    head = f"{text[:-1]},".encode()
    return b'%b"digest":"sha256:%b"}\n' % (head, hashlib.sha256(head).hexdigest().encode())


def configuration(**more) -> RunConfiguration:
    """A run of one attempt at one task."""
    given = {
        "run_id": RUN,
        "agentbench_version": "0",
        "agent": "oracle",
        "jobs": 1,
        "sandbox": "process",
        "sandbox_reason": "asked for by name",
        "tasks": (TaskEntry(id=TaskId("one"), folder="one", digest="d"),),
        "started_at": strategies.NOON,
        **more,
    }
    return RunConfiguration(**given)


def controls_of(*kinds: ControlKind) -> Controls:
    """The controls of an attempt with one test to fix of each kind."""
    tests = (TestControl(node_id=NodeId(f"t.py::{n}"), control=k) for n, k in enumerate(kinds))
    return Controls(level=ControlLevel.FULL, tests=tuple(tests))


def record_of(
    results: tuple[StageResult, ...], expected: ExpectedTests | None = None, **more
) -> AttemptRecord:
    """The record of an attempt whose stages brought this back, judged."""
    expected = expected or strategies.expecting()
    verdict = judge(expected, results)
    given = {
        "run_id": RUN,
        "task_id": TaskId("one"),
        "attempt": 1,
        "agent": "oracle",
        "task_digest": "d",
        "started_at": strategies.NOON,
        "expected": expected,
        "stages": tuple(_stage(result) for result in results),
        "timing": TimingRecord(total_s=1.0),
        "environment": ENVIRONMENT,
        **dict(verdict),
        **more,
    }
    return AttemptRecord(**given)


def _stage(result: StageResult) -> StageRecord:
    return StageRecord(
        name=result.stage,
        started_at=result.started_at,
        duration_s=result.duration.total_seconds(),
        cached=result.cached,
        evidence=result.evidence,
    )


def resolved(**more) -> AttemptRecord:
    """An attempt that fixed A and kept B."""
    final = strategies.ran(strategies.case(strategies.A), strategies.case(strategies.B))
    return record_of(strategies.attempt(final), **more)


def failed(**more) -> AttemptRecord:
    """An attempt that did not fix A."""
    final = strategies.ran(strategies.case(strategies.A, "failed"), strategies.case(strategies.B))
    return record_of(strategies.attempt(final), **more)


def in_steps(**more) -> AttemptRecord:
    """An attempt at a task with three steps, the second of which ended the rest."""
    steps = (
        {"name": "split", "rewards": {"reward": 1.0, "style": 0.5}, "agent": "submitted"},
        {
            "name": "sum",
            "rewards": {"reward": 0.25},
            "shortfall": "reward 0.25 is below 1",
            "agent": "time_limit",
            "agent_detail": "an odd <day>",
            "agent_s": 61.5,
            "evidence": "steps/sum/evidence.json",
        },
        {"name": "print", "ran": False},
    )
    given = [{"verifier_environment": "shared", **step} for step in steps]
    records = tuple(map(TaskStepRecord.model_validate, given))
    return failed(rewards={"reward": 0.625, "style": 0.25}, steps=records, **more)


def lost(**more) -> AttemptRecord:
    """An attempt that the infrastructure failed in its set-up."""
    from agentbench.errors import SandboxError
    from agentbench.scoring.classification import exception_fact
    from agentbench.taxonomy import StageName

    fact = exception_fact(StageName.SETUP, SandboxError("the engine went away"))
    return record_of((strategies.stage("setup", Evidence(exception=fact)),), **more)


def crashed(**more) -> AttemptRecord:
    """An attempt whose agent, in Python, raised."""
    from agentbench.scoring.evidence import ExceptionFact

    final = strategies.ran(strategies.case(strategies.A, "failed"), strategies.case(strategies.B))
    fact = ExceptionFact(
        type_name="ZeroDivisionError",
        message="an odd <day>",
        reason="UNKNOWN",
        fault="agent",
        where="mine.py, line 7",
        traceback='File "mine.py", line 7, in solve\nZeroDivisionError: an odd <day>',
    )
    return record_of(strategies.attempt(final, agent_run=Evidence(exception=fact)), **more)


def interrupted(**more) -> AttemptRecord:
    """An attempt that our Ctrl-C cut off."""
    from agentbench.scoring.classification import exception_fact
    from agentbench.taxonomy import StageName

    fact = exception_fact(StageName.SETUP, RunCancelled())
    return record_of((strategies.stage("setup", Evidence(exception=fact)),), **more)


usages = st.builds(
    UsageRecord,
    requests=st.integers(0, 9),
    cost_usd=st.none() | st.floats(0, 9),
    llm_errors=st.dictionaries(strategies.words, st.integers(0, 9), max_size=2),
)


@st.composite
def records(draw: st.DrawFn) -> AttemptRecord:
    """Records of attempts that got anywhere, with any evidence."""
    return record_of(
        draw(strategies.attempts()),
        draw(strategies.expectations),
        attempt=draw(st.integers(1, 3)),
        retry_of=draw(st.none() | st.integers(1, 3)),
        model=draw(st.none() | strategies.words),
        usage=draw(st.none() | usages),
        warnings=draw(st.lists(strategies.words, max_size=1).map(tuple)),
        timing=TimingRecord(total_s=draw(st.floats(0, 9))),
        started_at=strategies.NOON + timedelta(seconds=draw(st.integers(0, 9))),
    )
