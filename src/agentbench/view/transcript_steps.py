"""What an agent did, a page of its steps at a time."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agentbench.agents.trajectory.atif import Step, Trajectory
from agentbench.report.harmless import harmless
from agentbench.view.places import NotThereError, RunsFolder

STEPS = 50
"""On one page."""

_FILE = Path("agent", "trajectory.json")
_LARGEST = 50 * 1024 * 1024  # bytes that are read
_LONGEST = 20_000  # characters of one text


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call with what came of it."""

    line: str
    arguments: tuple[tuple[str, str], ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """One step as a page shows it."""

    step: Step
    message: str
    reasoning: str
    calls: tuple[Call, ...]
    results: tuple[str, ...]  # of no call of this step


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptPage:
    """Some steps of a transcript, or why there are none."""

    steps: tuple[ShownStep, ...] = ()
    total: int = 0
    number: int = 1
    count: int = 1
    problem: str = ""


def read_steps(folder: RunsFolder, attempt: Path, number: int) -> TranscriptPage | None:
    """A page of an attempt's transcript; None where it left none."""
    try:
        file = folder.opened(attempt / _FILE)
    except NotThereError:
        return None
    with file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        return TranscriptPage(problem=f"it is larger than {_LARGEST} bytes")
    try:
        told = Trajectory.model_validate_json(content)
    except (ValueError, ValidationError) as error:
        return TranscriptPage(problem=harmless(str(error), limit=300))
    count = max(1, -(-len(told.steps) // STEPS))
    number = min(number, count)
    steps = told.steps[(number - 1) * STEPS : number * STEPS]
    return TranscriptPage(
        steps=tuple(map(_shown, steps)), total=len(told.steps), number=number, count=count
    )


def _shown(step: Step) -> ShownStep:
    results = step.observation.results if step.observation else ()
    calls = step.tool_calls or ()
    ids = {call.tool_call_id for call in calls}
    return ShownStep(
        step=step,
        message=_cut(step.message),
        reasoning=_cut(step.reasoning_content or ""),
        calls=tuple(
            Call(
                line=_line(call.function_name, call.arguments),
                arguments=tuple(
                    (name, _cut(_said(value))) for name, value in call.arguments.items()
                ),
                results=tuple(
                    _cut(each.content)
                    for each in results
                    if each.source_call_id == call.tool_call_id
                ),
            )
            for call in calls
        ),
        results=tuple(_cut(each.content) for each in results if each.source_call_id not in ids),
    )


def _line(name: str, arguments: object) -> str:
    assert isinstance(arguments, dict)
    told = ", ".join(
        f"{key}={value!r:.80}" if isinstance(value, str) else f"{key}={value!r}"
        for key, value in list(arguments.items())[:6]
    )
    return harmless(f"{name}({told})", limit=160)


def _said(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}\n… {len(text) - _LONGEST} more characters"
