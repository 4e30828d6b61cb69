"""The steps of an attempt's trajectory in text."""

from collections.abc import Iterator
from pathlib import Path

from agentbench.attempt.logs import TRAJECTORY_FILE
from agentbench.core.display_text import counted, one_line, printable
from agentbench.models.conversation import Role
from agentbench.models.trajectory import Trajectory

TRAJECTORY_BYTES = 50 * 1024 * 1024
_MAX_STEPS = 60  # that are shown; half of them from the end
_MAX_CHARACTERS = 300  # of one text


def parse_trajectory(content: bytes) -> Trajectory:
    """A trajectory from the first `TRAJECTORY_BYTES` + 1 bytes of its file.

    Raises:
        ValueError: it is too large, or invalid.
    """
    if len(content) > TRAJECTORY_BYTES:
        raise ValueError(f"it is larger than {TRAJECTORY_BYTES} bytes")
    return Trajectory.model_validate_json(content)


def transcript(folder: Path) -> Iterator[str]:
    """The steps of an attempt's trajectory, if it has one."""
    path = folder / TRAJECTORY_FILE
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            steps = parse_trajectory(file.read(TRAJECTORY_BYTES + 1)).steps
    except (OSError, ValueError) as error:
        yield f"transcript: {path} cannot be read: {printable(str(error), limit=200)}"
        return
    yield f"transcript: {counted(len(steps), 'step')}, whole in {path}"
    last = 0
    if len(steps) > _MAX_STEPS:
        steps = steps[: _MAX_STEPS // 2] + steps[-_MAX_STEPS // 2 :]
    for step in steps:
        if step.step_id > last + 1:
            yield f"  … {step.step_id - last - 1} more steps"
        last = step.step_id
        message, used = _one_line(step.message), step.metrics
        if step.source is Role.AGENT and used is not None:
            message += f" [{used.prompt_tokens} in, {used.completion_tokens} out]"
        yield f"  {step.step_id:>3} {step.source:<6} {message}".rstrip()
        for call in step.tool_calls or ():
            arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
            yield f"      call   {_one_line(f'{call.function_name}({arguments})')}"
        for result in step.observation.results if step.observation else ():
            yield f"      result {_one_line(result.content)}"


def _one_line(text: str) -> str:
    # A tool's result may have any size, and only its start is shown.
    return one_line(text[: 4 * _MAX_CHARACTERS], limit=_MAX_CHARACTERS)
