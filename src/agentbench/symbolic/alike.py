"""Whether two functions that somebody hands in behave alike, asked in a fresh sandbox."""

import time
from dataclasses import dataclass
from threading import Event

from pydantic import ValidationError

from agentbench.scoring.evidence import CommandResult, Ending
from agentbench.symbolic.analysis import (
    GRACE_SECONDS,
    Aim,
    Found,
    Search,
    search_at,
    why_it_ended,
)
from agentbench.symbolic.comparison import Answer, Errors, Pair, Place, Question
from agentbench.symbolic.laboratory import MODULE, Bench, Laboratory

EXAMPLES = 300
"""Inputs that are made, beside those that the paths give."""

_PROGRAM = "agentbench_compare.py"
_LEAST_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """What came of a comparison: an answer, or why there is none."""

    refusal: Found | None = None  # the code or its functions are no good
    answer: Answer | None = None
    why: str = ""
    over: bool = False  # the time was


def compare(
    laboratory: Laboratory, code: str, names: tuple[str, str], seconds: float, cancel: Event
) -> Likeness:
    """Look for an input on which two functions behave differently.

    Raises:
        UnavailableError: no sandbox works here, or the libraries are not to be had.
        SandboxError: the sandbox is lost.
        KeyboardInterrupt: it was called off; no process of it is left.
    """
    with laboratory.bench(code, cancel=cancel) as bench:
        started = time.monotonic()  # the first bench takes seconds to be made, which are not theirs
        asked = Search(aim=Aim.FIND, function=",".join(names), seconds=seconds)
        refusal = search_at(bench, asked)
        if refusal.error_type is not None or refusal.over:
            return Likeness(refusal=refusal, over=refusal.over)
        left = max(_LEAST_SECONDS, seconds - (time.monotonic() - started))
        return _likeness(_asked(bench, names, left))


def _asked(bench: Bench, names: tuple[str, str], seconds: float) -> CommandResult:
    left, right = (
        Place(paths=(str(bench.sandbox.workspace),), module=MODULE, name=name) for name in names
    )
    question = Question(
        pairs=(Pair(left=left, right=right, errors=Errors.ALL),),
        seconds=seconds,
        examples=EXAMPLES,
        call_seconds=min(2.0, seconds / 2),
    )
    return bench.run(_PROGRAM, question.model_dump_json(), seconds=seconds + GRACE_SECONDS)


def _likeness(result: CommandResult) -> Likeness:
    for line in result.stdout.splitlines():
        try:
            return Likeness(answer=Answer.model_validate_json(line))
        except ValidationError:
            continue  # what the code printed
    if result.ending is Ending.TIMED_OUT:
        return Likeness(over=True)
    return Likeness(why=why_it_ended(result))
