"""Facts of attempts that the tests of rules and stories hand in."""

from typing import Any

from agentbench.attempt.record import AttemptRecord
from agentbench.audit.patch import parse_patch
from agentbench.extensions.behaviour.facts import BehaviourFacts, Need
from agentbench.integrity.records import Controls, SealedRun
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
from agentbench.scoring.evidence import CaseOutcome, Ending, NodeId
from agentbench.scoring.verdict import CaseChange, ChangeCounts
from agentbench.tasks.control_level import ControlLevel
from tests.runs.records import record_of

PASSED, FAILED, UNFINISHED = CaseOutcome.PASSED, CaseOutcome.FAILED, CaseOutcome.UNFINISHED
LACKING = dict.fromkeys((Need.REFERENCE, Need.SCOPES, Need.ANSWERS, Need.TIMELINE), "not here")


def facts_of(
    record: AttemptRecord | None = None,
    *,
    patch: str = "",
    lines: tuple[str, ...] = (),
    answer: str = "",
) -> BehaviourFacts:
    """The facts of an attempt with a record, a change, or commands of a shell and their answer."""
    trajectory = _trajectory(lines, answer) if lines else None
    lacking = LACKING if lines else LACKING | {Need.TRAJECTORY: "not here"}
    return BehaviourFacts(
        record=record or record_of(()),
        change=parse_patch(patch.encode()),
        trajectory=trajectory,
        lacking=lacking,
    )


def _trajectory(lines: tuple[str, ...], answer: str) -> Trajectory:
    steps = [_step(number, line, answer) for number, line in enumerate(lines, 1)]
    usage = FinalMetrics(
        total_prompt_tokens=0, total_completion_tokens=0, total_cached_tokens=0,
        total_steps=len(steps),
    )  # fmt: skip
    agent = TrajectoryAgent(name="a", version="1")
    return Trajectory(session_id="s", agent=agent, steps=tuple(steps), final_metrics=usage)


def _step(number: int, line: str, answer: str) -> Step:
    call = ToolCall(tool_call_id="1", function_name="Bash", arguments={"command": line})
    result = ObservationResult(source_call_id="1", content=answer)
    observation = Observation(results=(result,))
    return Step(
        step_id=number, source=Role.AGENT, message="", tool_calls=(call,), observation=observation
    )


def record_with(*finals: CaseOutcome, is_sealed: bool, **more: Any) -> AttemptRecord:
    """The record of tests to fix, and of a test to keep, with these outcomes."""
    *fixed, kept = finals
    tests = [
        CaseChange(
            node_id=NodeId(f"t.py::{n}"), listed="fail_to_pass", baseline=FAILED, final=final
        )
        for n, final in enumerate(fixed)
    ]
    other = CaseChange(
        node_id=NodeId("t.py::kept"), listed="pass_to_pass", baseline=PASSED, final=kept
    )
    sealed = SealedRun(tries=1, ending=Ending.EXITED, tests=2, values=2)
    skipped = "no final test" if is_sealed else None
    controls = Controls(level=ControlLevel.FULL, sealed=sealed, skipped=skipped)
    counts = ChangeCounts(regressed=int(kept is not PASSED))
    return record_of((), tests=(*tests, other), counts=counts, controls=controls, **more)
