"""What an agent did, step by step, for a person at a terminal."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from agentbench.agents.trajectory.atif import Source, Step, Trajectory
from agentbench.report.harmless import harmless

_FILE = Path("agent", "trajectory.json")
_STEPS = 60  # shown; half of them from the end
_TEXT = 300  # characters of one text
_LARGEST = 50 * 1024 * 1024  # bytes that are read


def transcript(folder: Path) -> Iterator[str]:
    """The steps of an attempt's trajectory, where it left one."""
    path = folder / _FILE
    if not path.is_file():
        return
    try:
        told = _read(path)
    except (OSError, ValueError, ValidationError) as error:
        yield f"transcript: {path} cannot be read: {harmless(str(error), limit=200)}"
        return
    yield f"transcript: {len(told.steps)} steps, whole in {path}"
    shown = _shown(told.steps)
    for position, step in enumerate(shown):
        left_out = step.step_id - (shown[position - 1].step_id if position else 0) - 1
        if left_out:
            yield f"  … {left_out} more steps"
        yield from _lines(step)
    yield ""


def _read(path: Path) -> Trajectory:
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"it is larger than {_LARGEST} bytes")
    return Trajectory.model_validate_json(path.read_bytes())


def _shown(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    if len(steps) <= _STEPS:
        return steps
    return steps[: _STEPS // 2] + steps[-_STEPS // 2 :]


def _lines(step: Step) -> Iterator[str]:
    yield f"  {step.step_id:>3} {step.source:<6} {_one_line(step.message)}{_spent(step)}".rstrip()
    for call in step.tool_calls or ():
        arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
        yield f"      call   {_one_line(f'{call.function_name}({arguments})')}"
    for result in step.observation.results if step.observation else ():
        yield f"      result {_one_line(result.content)}"


def _spent(step: Step) -> str:
    metrics = step.metrics
    if step.source is not Source.AGENT or metrics is None:
        return ""
    return f" [{metrics.prompt_tokens} in, {metrics.completion_tokens} out]"


def _one_line(text: str) -> str:
    head = text[: 4 * _TEXT]  # whatever its length, a line needs no more
    return harmless(" ".join(head.split()), limit=_TEXT)
