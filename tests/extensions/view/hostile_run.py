"""A run of an agent that has something hostile in every field that it has a say in."""

from pathlib import Path

from agentbench.attempt.record import AgentRecord, AttemptRecord, PatchRecord, UsageRecord
from agentbench.attempt.timeline.document import JudgedState, NotedState, Timeline
from agentbench.integrity.records import (
    ChangedExpectation,
    ControlledTest,
    ControlRun,
    Controls,
    DroppedPath,
    ValueKind,
    WeakControl,
)
from agentbench.models.conversation import Role
from agentbench.models.trajectory import (
    FinalMetrics,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
    TrajectoryAgent,
)
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import (
    AgentEnding,
    Ending,
    Evidence,
    ExceptionFact,
    Finding,
    NodeId,
    Severity,
)
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, StageName
from tests.extensions.view.hostile import HOSTILE, not_text
from tests.runs.records import configuration, record_of
from tests.scoring import strategies

TASK = TaskId("hostile")


def write_hostile_run(folder: Path, name: str) -> RunStore:
    """One attempt for each text, which is all that its agent, its tests and its files say."""
    first = HOSTILE[0]
    store = RunStore.create(
        folder,
        configuration(
            run_id=name, agent=first, model=HOSTILE[4], agent_command=first, attempts=len(HOSTILE)
        ),
    )
    for attempt, text in enumerate(HOSTILE, start=1):
        record = hostile_record(text, attempt)
        place, _ = store.attempt_folder(record.task_id, record.attempt)
        leave_files(place, text)
        store.append(record, place)
    return store


def hostile_record(text: str, attempt: int) -> AttemptRecord:
    """An attempt whose agent and tests said this wherever they could; every fourth one passes."""
    node = NodeId(f"tests/{text}.py::{text}[{text}]")
    passes = attempt % 4 == 0
    final = strategies.ran(
        strategies.case(strategies.A, "passed" if passes else "failed"),
        strategies.case(strategies.B),
        strategies.case(node, "passed" if passes else "failed"),
        collection_errors=() if passes else (text,),
        internals_changed=(text,),
    )
    result = {"argv": ("sh", "-c", text), "stdout": text, "stderr": text, "exceeded": text}
    final = final.replace(command=final.command.replace(**result))
    agent = Evidence(agent=AgentEnding.TOOL_ERROR, agent_detail=text)
    error = ExceptionFact(type_name=text, message=text, reason=FailureReason.UNKNOWN)
    stages = [*strategies.attempt(final, agent_run=agent)]
    if attempt % 3 == 0:
        stages[-1] = stages[-1].replace(evidence=Evidence(exception=error))
    made = record_of(
        tuple(stages),
        task_id=TASK,
        attempt=attempt,
        agent=text,
        model=text,
        findings=tuple(
            Finding(rule=text, severity=severity, where=text, what=text) for severity in Severity
        ),
        warnings=(text,),
        controls=_controls(text, node),
        patch=PatchRecord(
            path=text, sha256=text, files=1, insertions=1, deletions=1,
            dropped=(DroppedPath(path=text, why=text),),
        ),
        agent_run=AgentRecord(ending=AgentEnding.TOOL_ERROR, detail=text),
        usage=UsageRecord(requests=1, cost_usd=1.0, llm_errors={text: 1}),
    )  # fmt: skip
    return made if made.resolved else made.replace(detail=text)


def leave_files(folder: Path, text: str) -> None:
    """The files of an attempt, in which the text is on a line by itself and within others."""
    raw = text.encode()
    (folder / "patch.diff").write_bytes(
        b"diff --git a/" + raw + b" b/x\n@@ " + raw + b" @@\n+" + raw + b"\n-" + raw + not_text()
    )
    (folder / "stages").mkdir()
    for stage in StageName:
        log = b"[    0.001 stdout] " + raw + b"\n" + not_text()
        (folder / "stages" / f"{stage}.log").write_bytes(log)
    (folder / "agent").mkdir()
    told = _trajectory(text)
    (folder / "agent" / "trajectory.json").write_text(told.model_dump_json(), encoding="utf-8")
    (folder / "agent" / "llm.jsonl").write_bytes(raw + not_text())
    (folder / "timeline.json").write_text(_timeline(text).model_dump_json(), encoding="utf-8")
    (folder / "final.json").write_bytes(raw)


def _timeline(text: str) -> Timeline:
    start = JudgedState(state="a", resolved=False, broke=(NodeId(text),))
    solved = JudgedState(state=text, resolved=True, passed=(NodeId(text),))
    judged = (start, solved, JudgedState(state="b", resolved=False, fault=text))
    noted = [NotedState(at=strategies.NOON, state=each.state) for each in judged]
    return Timeline(noted=tuple(noted), judged=judged, notes=(text,))


def _controls(text: str, node: NodeId) -> Controls:
    drawn = ChangedExpectation(
        file=text, function=text, line=1, kind=next(iter(ValueKind)), original=text,
        replacement=text,
    )  # fmt: skip
    tests = (ControlledTest(node_id=node, must="fail", outcome="failed"),)
    return Controls(
        level=ControlLevel.FULL,
        seed=1,
        runs=(ControlRun(half=1, tries=1, ending=Ending.EXITED, drawn=(drawn,), tests=tests),),
        weakly_controlled=(WeakControl(file=text, function=text, reason=text),),
        skipped=text,
    )


def _trajectory(text: str) -> Trajectory:
    call = ToolCall(tool_call_id=text, function_name=text, arguments={text: text, "more": [text]})
    results = (
        ObservationResult(source_call_id=text, content=text),
        ObservationResult(content=text),
    )
    return Trajectory(
        session_id=text,
        agent=TrajectoryAgent(name=text, version=text, model_name=text),
        steps=(
            Step(step_id=1, source=Role.USER, message=text),
            Step(
                step_id=2,
                source=Role.AGENT,
                message=text,
                reasoning_content=text,
                tool_calls=(call,),
                observation=Observation(results=results),
            ),
        ),
        notes=text,
        final_metrics=FinalMetrics(
            total_prompt_tokens=1, total_completion_tokens=1, total_cached_tokens=0, total_steps=2
        ),
    )
