"""The search by inputs: the functions that differ, called with inputs made for them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import PurePosixPath

from pydantic import ValidationError

from agentbench.audit.wrong_fixes.bench import complaint, copied
from agentbench.audit.wrong_fixes.confirmation import confirmed
from agentbench.audit.wrong_fixes.contrast import Contrast, Left, Spot
from agentbench.audit.wrong_fixes.search import Searched, Subject
from agentbench.audit.wrong_fixes.tests_seen import TestsSeen, read_tests
from agentbench.scoring.evidence import CommandResult, Ending
from agentbench.symbolic.comparison import Answer, Pair, Place, Question
from agentbench.symbolic.comparison import Ending as Came

_PROGRAM = "agentbench_compare.py"
_MOST = 20  # pairs of an attempt
_LEAST_SECONDS = 2.0  # for a pair
_ALONG_PATHS = 3  # pairs whose paths are searched, too: that takes long
_PATHS_WEIGH = 4.0  # times the seconds of another
_EXAMPLES = 2_000  # inputs made for a pair, where there is time
_GRACE = 20.0  # seconds, to load and to end
_REFERENCE, _AGENT = "reference", "agent"


def search_inputs(subject: Subject, seconds: float) -> Searched:
    """Compare what can be called, in one sandbox; then confirm what was found, in three others.

    Raises:
        SandboxError: a sandbox is lost.
    """
    tests = read_tests(subject.facts)
    ordered = _ordered(subject.contrast, tests)
    most = min(_MOST, max(1, int(seconds / _LEAST_SECONDS)))
    chosen, beyond = ordered[:most], ordered[most:]
    if not chosen:
        return Searched()
    answers, why = _ask(subject, chosen, tests, seconds)
    compared = list(zip_longest(chosen, answers))
    differing = [
        (str(spot), answer.difference)
        for spot, answer in compared
        if answer is not None and answer.difference is not None
    ]
    told, doubtful = confirmed(subject, differing)
    return Searched(
        differences=told,
        left=(*doubtful, *_left(compared, why), *_beyond(beyond)),
        effort=_effort(answers, len(ordered)),
    )


def _ordered(contrast: Contrast, tests: TestsSeen) -> list[Spot]:
    """What differs itself goes first, then what tests call: it is known what that is for."""
    differing = set(contrast.differing)

    def rank(spot: Spot) -> tuple[bool, bool]:
        return spot not in differing, not tests.mentions(spot.name)

    return sorted(contrast.callable, key=rank)


def _ask(
    subject: Subject, spots: Sequence[Spot], tests: TestsSeen, seconds: float
) -> tuple[list[Answer], str]:
    """The answers, as many as came, and why not more."""
    near, far = spots[:_ALONG_PATHS], spots[_ALONG_PATHS:]
    share = seconds / (_PATHS_WEIGH * len(near) + len(far))
    with subject.bench.opened() as sandbox:
        places = (
            copied(sandbox, _REFERENCE, subject.trees.reference),
            copied(sandbox, _AGENT, subject.trees.agents),
        )

        def asked(some: Sequence[Spot], weight: float) -> tuple[list[Answer], str]:
            question = Question(
                pairs=tuple(_pair(subject, spot, places, tests) for spot in some),
                seconds=weight * share,
                examples=_EXAMPLES,
                symbolic=weight > 1,
                literals=tests.literals(),
            )
            limit = weight * share * len(some) + _GRACE
            text = question.model_dump_json()
            return _read(subject.bench.ask(sandbox, _PROGRAM, text, seconds=limit), len(some))

        answers, why = asked(near, _PATHS_WEIGH)
        if why or not far:
            return answers, why
        more, why = asked(far, 1)
        return [*answers, *more], why


def _pair(
    subject: Subject,
    spot: Spot,
    places: tuple[PurePosixPath, PurePosixPath],
    tests: TestsSeen,
) -> Pair:
    left, right = (place_of(subject, spot, place) for place in places)
    return Pair(left=left, right=right, observed=tests.calls_of(spot.name))


def place_of(subject: Subject, spot: Spot, tree: PurePosixPath) -> Place:
    """Where a sandbox finds a definition, in a tree that lies in some folder."""
    module = subject.contrast.modules[spot.path]
    roots = dict.fromkeys((tree / module.root, tree))
    return Place(paths=tuple(map(str, roots)), module=module.name, name=spot.name)


def _read(result: CommandResult, number: int) -> tuple[list[Answer], str]:
    """So many answers, or those that came, and why no more did."""
    answers: list[Answer] = []
    for line in result.stdout.splitlines()[:number]:
        try:
            answers.append(Answer.model_validate_json(line))
        except ValidationError:
            return answers, "the program that compares was disturbed: what it said is no answer"
    if len(answers) == number:
        return answers, ""
    if result.ending is Ending.TIMED_OUT:
        return answers, "the time was over"
    return answers, f"the program that compares did not end well: {complaint(result)}"


def _left(compared: Iterable[tuple[Spot, Answer | None]], why: str) -> Iterator[Left]:
    for spot, answer in compared:
        if answer is None:
            yield Left(str(spot), why)
        elif answer.ending is Came.NOT_COMPARED:
            yield Left(str(spot), answer.why)


def _beyond(spots: Sequence[Spot]) -> Iterator[Left]:
    for spot in spots:
        yield Left(str(spot), "there was no time for so many")


def _effort(answers: Sequence[Answer], number: int) -> str:
    compared = [one for one in answers if one.ending is not Came.NOT_COMPARED]
    inputs = sum(one.inputs_tried for one in answers)
    paths = sum(one.paths_explored for one in answers)
    whole = sum(one.exhausted for one in compared)
    return (
        f"{len(compared)} of {number} functions compared, with {inputs} inputs "
        f"and along {paths} paths; all paths of {whole} of them"
    )
