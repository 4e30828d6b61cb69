"""Runs that nobody made, for looking at reports and pages, and for tests of them.

Attempts have stages, tests, reasons, faults, costs and times like real ones, and are judged by the
real rules and sealed. Tasks are as hard for every agent and agents as good at every task, so that
runs can be compared; the same options give the same records.
Run: python benchmarks/synthetic_run.py --runs-dir DIR --tasks 50 --attempts 2 --agent NAME
"""

import argparse
import hashlib
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from heapq import heapreplace
from pathlib import Path
from threading import Event
from typing import NamedTuple

from agentbench.attempt.logs import AttemptFiles, StageLog
from agentbench.attempt.outages import CircuitBreaker
from agentbench.attempt.record import (
    AgentRecord,
    AttemptRecord,
    EnvironmentRecord,
    PatchRecord,
    RunId,
    StageRecord,
    TimingRecord,
    UsageRecord,
)
from agentbench.models.conversation import Role
from agentbench.models.trajectory import (
    FinalMetrics,
    Metrics,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
    TrajectoryAgent,
)
from agentbench.runs.store.configuration import RunConfiguration, RunEnding, TaskEntry
from agentbench.runs.store.reading import ATTEMPTS, RECORD_FILE
from agentbench.runs.store.store import RunStore
from agentbench.sandbox.interface import Stream
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
from agentbench.scoring.verdict import Verdict, judge
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, StageName

_NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
_PROJECTS = ("cache", "router", "ledger", "parser", "queue", "mailer", "index", "clock")
_FIXED, _KEPT = 2, 6  # tests of a task
_ENVIRONMENT = EnvironmentRecord(
    sandbox="docker", image="sha256:" + "a" * 64, cpus=2, memory_mib=4096, pids=512, disk_mib=8192
)


class Fate(StrEnum):
    """What becomes of an attempt that resolves nothing."""

    STILL_FAILING = "still failing"
    REGRESSED = "regressed"
    BROKEN_IMPORT = "broken import"
    OUT_OF_TIME = "out of time"
    OUT_OF_STEPS = "out of steps"
    TOOL_BROKE = "tool broke"
    CHEATED = "cheated"
    MODEL_AWAY = "model away"
    ENGINE_AWAY = "engine away"
    SETUP_BROKE = "set-up broke"
    PASSES_ALREADY = "passes already"


_WEIGHTS = dict(zip(Fate, (30, 12, 6, 10, 9, 3, 2, 5, 4, 2, 1), strict=True))
_KEPT_LOST = 0.6  # of the attempts that could be tried again
_RETRIED = frozenset({Fate.MODEL_AWAY, Fate.ENGINE_AWAY})
_AGENT_ENDINGS = {
    Fate.OUT_OF_TIME: AgentEnding.TIME_LIMIT,
    Fate.OUT_OF_STEPS: AgentEnding.STEP_LIMIT,
    Fate.TOOL_BROKE: AgentEnding.TOOL_ERROR,
    Fate.MODEL_AWAY: AgentEnding.LLM_ERROR,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A run as somebody wants it."""

    runs_dir: Path
    tasks: int = 50
    attempts: int = 1
    agent: str = "llm"
    model: str | None = "example/large"
    seed: int = 1
    jobs: int = 8
    priced: bool = True
    folders: bool = False  # each attempt's own, with its logs, patch and trajectory
    texts: Sequence[str] = ()  # put wherever an agent or its tests have the say


class _Which(NamedTuple):
    """Which attempt of a run."""

    task: TaskId
    attempt: int
    retry: int


@dataclass(slots=True, kw_only=True)
class _Making:
    """One run while it is made."""

    wanted: Wanted
    run_id: RunId
    started_at: datetime
    random: random.Random
    said: int = 0
    free: list[float] = field(default_factory=list)  # seconds at which each job is

    def say(self, usual: str) -> str:
        """A text of an agent: the usual one, or the next of those that were handed in."""
        texts = self.wanted.texts
        if not texts:
            return usual
        self.said += 1
        return texts[self.said % len(texts)]


def write_run(wanted: Wanted) -> Path:
    """Write a run; its folder."""
    drawn = random.Random(f"{wanted.seed} {wanted.agent} {wanted.model}")
    started_at = _NOON + timedelta(seconds=drawn.randrange(10**6))
    letters = "".join(drawn.choices("abcdefghjkmnpqrstuvwxyz23456789", k=4))
    making = _Making(
        wanted=wanted,
        run_id=RunId(f"{started_at:%Y%m%dT%H%M%S}-{letters}"),
        started_at=started_at,
        random=drawn,
        free=[0.0] * wanted.jobs,
    )
    store = RunStore.create(wanted.runs_dir, _configuration(making))
    with (store.folder / ATTEMPTS).open("w", encoding="utf-8", newline="") as target:
        for record, results in _attempts(making):
            if wanted.folders:
                _leave_files(store.folder_of(record), record, results)
            target.write(f"{record.json_with_checksum()}\n")  # as the store does, but for the syncs
    ended_at = started_at + timedelta(seconds=max(making.free))
    ended = {"ended_at": ended_at, "ending": RunEnding.FINISHED}
    store.write_configuration(_configuration(making).replace(**ended))
    return store.folder


def _configuration(making: _Making) -> RunConfiguration:
    wanted = making.wanted
    tasks = (_task(number) for number in range(wanted.tasks))
    return RunConfiguration(
        run_id=making.run_id,
        agentbench_version="0",
        agent=wanted.agent,
        model=wanted.model,
        attempts=wanted.attempts,
        jobs=wanted.jobs,
        sandbox="docker",
        sandbox_reason="asked for by name",
        tasks=tuple(TaskEntry(id=task, folder=f"tasks/{task}", digest="0" * 64) for task in tasks),
        started_at=making.started_at,
    )


def _task(number: int) -> TaskId:
    return TaskId(f"{_PROJECTS[number % len(_PROJECTS)]}__{number:05}")


def _attempts(making: _Making) -> Iterator[tuple[AttemptRecord, tuple[StageResult, ...]]]:
    wanted = making.wanted
    skill = random.Random(f"agent {wanted.agent} {wanted.model}").gauss(0.0, 0.8)
    for number in range(wanted.tasks):
        difficulty = random.Random(f"task {number}").gauss(0.0, 1.5)
        for attempt in range(1, wanted.attempts + 1):
            for retry in range(3):
                fate = _fate(making.random, 1 / (1 + math.exp(difficulty - skill)))
                yield _attempt(making, fate, _Which(_task(number), attempt, retry))
                if fate not in _RETRIED or making.random.random() < _KEPT_LOST:
                    break


def _fate(drawn: random.Random, chance: float) -> Fate | None:
    if drawn.random() < chance:
        return None
    return drawn.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]


def _attempt(
    making: _Making, fate: Fate | None, which: _Which
) -> tuple[AttemptRecord, tuple[StageResult, ...]]:
    file = f"tests/test_{which.task.split('__')[0]}.py"
    names = [
        NodeId(making.say(f"{file}::test_behaviour") + f"[{number}]")
        for number in range(_FIXED + _KEPT)
    ]
    expected = ExpectedTests(fail_to_pass=tuple(names[:_FIXED]), pass_to_pass=tuple(names[_FIXED:]))
    start = min(making.free)
    results = tuple(_stages(making, fate, expected, start))
    total = sum(result.duration.total_seconds() for result in results) + 0.4
    heapreplace(making.free, start + total)
    verdict = judge(expected, results)
    return _record(making, which, expected, results, verdict), results


def _stages(
    making: _Making, fate: Fate | None, expected: ExpectedTests, start: float
) -> Iterator[StageResult]:
    drawn = making.random
    at = making.started_at + timedelta(seconds=start)
    usual = (1.1, 0.3, 12.0, 2.5, 150.0, 2.5)
    for name, seconds in zip(StageName, usual, strict=True):
        evidence = _evidence(making, fate, name, expected)
        took = timedelta(seconds=round(drawn.lognormvariate(math.log(seconds), 0.5), 3))
        own = evidence.replace(own_seconds=round(took.total_seconds() * 0.96, 3))
        cached = name is StageName.SETUP and drawn.random() < 0.5
        yield StageResult(stage=name, evidence=own, started_at=at, duration=took, cached=cached)
        at += took
        if (fate, name) in _ENDS:
            return


_ENDS = {
    (Fate.ENGINE_AWAY, StageName.SETUP),
    (Fate.SETUP_BROKE, StageName.SETUP),
    (Fate.PASSES_ALREADY, StageName.BASELINE_RUN),
}


def _evidence(
    making: _Making, fate: Fate | None, stage: StageName, expected: ExpectedTests
) -> Evidence:
    match stage:
        case StageName.SETUP if fate is Fate.ENGINE_AWAY:
            gone = ExceptionFact(
                type_name="SandboxError",
                message=making.say("the engine went away"),
                reason=FailureReason.SANDBOX_ERROR,
            )
            return Evidence(exception=gone)
        case StageName.SETUP if fate is Fate.SETUP_BROKE:
            said = making.say("error: no matching distribution")
            return Evidence(command=_command(1, "pip", "install", "-e", ".", stderr=said))
        case StageName.BASELINE_RUN:
            broken = () if fate is Fate.PASSES_ALREADY else expected.fail_to_pass
            return _tested(making, expected, broken)
        case StageName.AGENT_RUN:
            return _agent(making, fate)
        case StageName.FINAL_TEST:
            return _final(making, fate, expected)
        case _:
            return Evidence(command=_command(0, "git", stage.value))


def _agent(making: _Making, fate: Fate | None) -> Evidence:
    ending = AgentEnding.SUBMITTED if fate is None else _AGENT_ENDINGS.get(fate)
    if ending is None:
        ending = AgentEnding.SUBMITTED
    usual = "" if ending is AgentEnding.SUBMITTED else f"stopped after {ending.value}"
    warnings = (making.say("the agent wrote outside its folder"),)
    return Evidence(
        agent=ending,
        agent_detail=making.say(usual),
        warnings=warnings if making.random.random() < 0.1 else (),
    )


def _final(making: _Making, fate: Fate | None, expected: ExpectedTests) -> Evidence:
    if fate is None:
        return _tested(making, expected, ())
    if fate is Fate.CHEATED:
        found = Finding(
            rule="hidden-tests-read",
            severity=Severity.CRITICAL,
            where=making.say("agent/llm.jsonl:12"),
            what=making.say("the answer key was read before the fix"),
        )
        own = _tested(making, expected, ())
        return own.replace(findings=(found,))
    if fate is Fate.BROKEN_IMPORT:
        file = making.say("tests/conftest.py")
        facts = _report((), PytestOutcome.COLLECTION_ERROR, collection_errors=(file,))
        return Evidence(command=_command(2, "pytest"), report=facts)
    if fate is Fate.REGRESSED:
        assert not isinstance(expected.pass_to_pass, str)
        return _tested(making, expected, expected.pass_to_pass[: making.random.randint(1, 3)])
    return _tested(making, expected, expected.fail_to_pass[: making.random.randint(1, _FIXED)])


def _tested(making: _Making, expected: ExpectedTests, broken: Sequence[NodeId]) -> Evidence:
    cases = tuple(
        CaseFact(
            node_id=node_id,
            outcome=CaseOutcome.FAILED if node_id in broken else CaseOutcome.PASSED,
            duration=round(making.random.expovariate(20), 4),
        )
        for node_id in (*expected.fail_to_pass, *expected.pass_to_pass)
    )
    outcome = PytestOutcome.FAILED if broken else PytestOutcome.PASSED
    stdout = "".join(f"{case.node_id} {case.outcome.upper()}\n" for case in cases)
    command = _command(1 if broken else 0, "python", "-m", "pytest", stdout=stdout)
    return Evidence(command=command, report=_report(cases, outcome))


def _report(cases: tuple[CaseFact, ...], outcome: PytestOutcome, **more: object) -> ReportFacts:
    failed = sum(case.outcome is CaseOutcome.FAILED for case in cases)
    facts = {
        "outcome": outcome,
        "source": ReportSource.STREAM,
        "complete": True,
        "collected": len(cases),
        "passed": len(cases) - failed,
        "failed": failed,
        "cases": cases,
    }
    return ReportFacts.model_validate(facts | more)


def _command(code: int, *argv: str, stdout: str = "", stderr: str = "") -> CommandResult:
    return CommandResult(
        argv=argv,
        ending=Ending.EXITED,
        exit_code=code,
        duration=timedelta(seconds=1),
        stdout=stdout,
        stderr=stderr,
        output_bytes=len(stdout) + len(stderr),
    )


def _record(
    making: _Making,
    which: _Which,
    expected: ExpectedTests,
    results: Sequence[StageResult],
    verdict: Verdict,
) -> AttemptRecord:
    wanted, drawn = making.wanted, making.random
    agent = next((r.evidence for r in results if r.stage is StageName.AGENT_RUN), None)
    steps = drawn.randint(4, 60)
    patch = None if agent is None else _patch(which.task)
    return AttemptRecord(
        run_id=making.run_id,
        task_id=which.task,
        attempt=which.attempt,
        retry_of=which.retry or None,
        agent=wanted.agent,
        model=wanted.model,
        task_digest="0" * 64,
        started_at=results[0].started_at,
        **dict(verdict),
        expected=expected,
        stages=tuple(_stage_record(result, with_log=wanted.folders) for result in results),
        findings=tuple(f for result in results for f in result.evidence.findings),
        warnings=tuple(w for result in results for w in result.evidence.warnings),
        patch=_patch_record(patch) if patch is not None else None,
        agent_run=_agent_record(agent, steps) if agent is not None else None,
        usage=_usage(making, steps) if agent is not None and wanted.model else None,
        timing=_timing(results),
        environment=_ENVIRONMENT,
    )


def _stage_record(result: StageResult, *, with_log: bool) -> StageRecord:
    command = result.evidence.command
    return StageRecord(
        name=result.stage,
        started_at=result.started_at,
        duration_s=result.duration.total_seconds(),
        cached=result.cached,
        ending=command.ending if command else None,
        exit_code=command.exit_code if command else None,
        output_bytes=command.output_bytes if command else 0,
        timeout_s=600.0,
        log=f"stages/{result.stage}.log" if with_log else None,
        evidence=result.evidence,
    )


def _agent_record(agent: Evidence, steps: int) -> AgentRecord:
    ending = agent.agent or AgentEnding.SUBMITTED
    return AgentRecord(
        ending=ending, detail=agent.agent_detail, steps=steps, tool_calls=steps - 1, test_runs=2
    )


def _usage(making: _Making, steps: int) -> UsageRecord:
    read, written = steps * making.random.randint(2_000, 9_000), steps * 350
    cost = round(read * 1.2e-6 + written * 6e-6, 6)
    return UsageRecord(
        requests=steps,
        input_tokens=read,
        output_tokens=written,
        cached_tokens=read // 2,
        cost_usd=cost if making.wanted.priced else None,
    )


def _timing(results: Sequence[StageResult]) -> TimingRecord:
    own = {result.stage: result.evidence.own_seconds for result in results}
    total = sum(result.duration.total_seconds() for result in results) + 0.4
    return TimingRecord(
        total_s=total,
        agent_s=own.get(StageName.AGENT_RUN, 0.0),
        tests_s=own.get(StageName.BASELINE_RUN, 0.0) + own.get(StageName.FINAL_TEST, 0.0),
        setup_s=own.get(StageName.SETUP, 0.0),
        overhead_s=max(total - sum(own.values()), 0.0),
    )


def _patch(task: TaskId) -> bytes:
    name = task.split("__")[0]
    return (
        f"diff --git a/src/{name}.py b/src/{name}.py\n"
        f"--- a/src/{name}.py\n+++ b/src/{name}.py\n@@ -10,4 +10,5 @@ def get(self, key):\n"
        "     entry = self._entries.get(key)\n"
        "-    if entry.deadline < now:\n"
        "+    # an entry lives until its deadline, and not in it\n"
        "+    if entry is None or entry.deadline <= now:\n"
        "         return None\n     return entry.value\n"
    ).encode()


def _patch_record(content: bytes) -> PatchRecord:
    digest = hashlib.sha256(content).hexdigest()
    return PatchRecord(path="patch.diff", sha256=digest, files=1, insertions=2, deletions=1)


def _leave_files(folder: Path, record: AttemptRecord, results: Sequence[StageResult]) -> None:
    folder.mkdir(parents=True)
    (folder / RECORD_FILE).write_text(f"{record.json_with_checksum(indent=1)}\n", "utf-8")
    events = AttemptFiles(folder, CircuitBreaker(cancel=Event()))
    events.registered()
    for result in results:
        events.started(result.stage)
        command = result.evidence.command
        with StageLog(folder / "stages" / f"{result.stage}.log") as log:
            log.write(Stream.STDOUT, (command.stdout if command else "working").encode())
            log.write(Stream.STDERR, (command.stderr if command else "").encode())
        events.ended(result)
    shown = {name: getattr(record, name) for name in Verdict.model_fields}
    events.judged(Verdict.model_validate(shown))
    if record.patch is not None:
        (folder / record.patch.path).write_bytes(_patch(record.task_id))
    if record.agent_run is not None:
        path = folder / "agent" / "trajectory.json"
        path.parent.mkdir()
        path.write_text(_trajectory(record).model_dump_json(indent=1, exclude_none=True))


def _trajectory(record: AttemptRecord) -> Trajectory:
    detail = record.agent_run.detail if record.agent_run else ""
    steps = [Step(step_id=1, source=Role.USER, message="Make the failing tests pass.")]
    for number, command in enumerate(("cat src/*.py", "python -m pytest -q", "git diff"), start=2):
        call = ToolCall(
            tool_call_id=f"call-{number}", function_name="shell", arguments={"command": command}
        )
        result = ObservationResult(source_call_id=call.tool_call_id, content=f"{detail}\n$ done")
        step = Step(
            step_id=number,
            source=Role.AGENT,
            model_name=record.model,
            message=detail or "Let me look.",
            tool_calls=(call,),
            observation=Observation(results=(result,)),
            metrics=Metrics(prompt_tokens=1200, completion_tokens=80, cached_tokens=600),
        )
        steps.append(step)
    totals = FinalMetrics(
        total_prompt_tokens=3600,
        total_completion_tokens=240,
        total_cached_tokens=1800,
        total_steps=len(steps),
    )
    return Trajectory(
        session_id=f"{record.run_id}/{record.task_id}/{record.attempt}",
        agent=TrajectoryAgent(name=record.agent, version="0", model_name=record.model),
        steps=tuple(steps),
        final_metrics=totals,
    )


def main() -> None:
    """Write one run, and say where."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = Wanted(runs_dir=Path("runs"))
    parser.add_argument("--runs-dir", type=Path, required=True, metavar="DIR")
    for name in ("tasks", "attempts", "seed", "jobs"):
        parser.add_argument(f"--{name}", type=int, default=getattr(usual, name), metavar="N")
    parser.add_argument("--agent", default=usual.agent, metavar="NAME")
    parser.add_argument("--model", default=usual.model, metavar="NAME", help="'' for none")
    parser.add_argument("--no-prices", action="store_true", help="of an unknown cost")
    parser.add_argument(
        "--folders", action="store_true", help="each attempt's own: logs, patch, trajectory"
    )
    parser.add_argument(
        "--texts", type=Path, metavar="FILE", help="a JSON list of texts that agents say"
    )
    told = parser.parse_args()
    folder = write_run(
        Wanted(
            runs_dir=told.runs_dir,
            tasks=told.tasks,
            attempts=told.attempts,
            agent=told.agent,
            model=told.model or None,
            seed=told.seed,
            jobs=told.jobs,
            priced=not told.no_prices,
            folders=told.folders,
            texts=json.loads(told.texts.read_text("utf-8")) if told.texts else (),
        )
    )
    print(folder)


if __name__ == "__main__":
    main()
