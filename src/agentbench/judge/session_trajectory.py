"""The trajectory of a session: the calls that an agent loop made in its sandbox.

The judge does not see the model, so that a step is one call, and its message is empty.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from agentbench.attempt.logs import TRAJECTORY_FILE
from agentbench.attempt.outages import storage_errors
from agentbench.judge.submitted_change import JUDGE_AGENT
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

# A judge has hundreds of sessions at a time, and their steps are in its memory.
_MAX_STEPS = 1_000
_MAX_CHARACTERS = 8_000  # of an answer or an argument, half from its head


class SessionTrajectory:
    """The calls of one session so far."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._is_cut = False

    def add(
        self, tool: str, arguments: Mapping[str, JsonValue], answer: str, started: datetime
    ) -> None:
        """Add a call that has ended.

        Args:
            tool: The method of the session.
            arguments: What it was given.
            answer: What it returned, as text.
            started: When it began, in UTC.
        """
        if len(self._steps) >= _MAX_STEPS:
            self._is_cut = True
            return
        number = len(self._steps) + 1
        given = {
            name: _shortened(value) if isinstance(value, str) else value
            for name, value in arguments.items()
        }
        call = ToolCall(tool_call_id=str(number), function_name=tool, arguments=given)
        result = ObservationResult(source_call_id=call.tool_call_id, content=_shortened(answer))
        self._steps.append(
            Step(
                step_id=number,
                timestamp=started.astimezone(UTC).isoformat(),
                source=Role.AGENT,
                message="",
                tool_calls=(call,),
                observation=Observation(results=(result,)),
            )
        )

    def write(self, folder: Path, session: str) -> None:
        """Write the trajectory into an attempt's folder, unless the session made no call.

        Raises:
            StorageError: the disk has no space.
        """
        if not self._steps:
            return
        trajectory = Trajectory(
            session_id=session,
            agent=TrajectoryAgent(name=JUDGE_AGENT, version="unknown"),
            steps=tuple(self._steps),
            notes=f"only the first {_MAX_STEPS} calls are listed" if self._is_cut else None,
            final_metrics=FinalMetrics(
                total_prompt_tokens=0,
                total_completion_tokens=0,
                total_cached_tokens=0,
                total_steps=len(self._steps),
            ),
        )
        target = folder / TRAJECTORY_FILE
        with storage_errors(folder):
            target.parent.mkdir(parents=True, exist_ok=True)
            written = trajectory.model_dump_json(indent=1, exclude_none=True)
            target.write_text(f"{written}\n", encoding="utf-8")


def _shortened(text: str) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()  # output need not be UTF-8
    half = _MAX_CHARACTERS // 2
    left_out = len(text) - 2 * half
    if left_out <= 0:
        return text
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"
