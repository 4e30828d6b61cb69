"""Several runs in order, with letters for those that do not differ significantly."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from agentbench.report.summary import Rate, Summary
from agentbench.report.task_outcomes import TaskOutcome, TaskOutcomes, overall_pairs, overall_scores
from agentbench.runs.headline import Headline
from agentbench.scoring.multiplicity import holm, letters
from agentbench.scoring.paired import significance
from agentbench.scoring.statistics import ALPHA
from agentbench.tasks.problem import TaskId

_LONGEST = 60  # characters of a shell command in a label
LETTERS = (
    "No significant difference between runs that share a letter (paired tests on shared tasks, "
    "5 % after Holm's correction)."
)
"""What the letters of a leaderboard mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A run that is to be placed."""

    name: str  # of its folder
    attempts: Sequence[Headline]  # the last record of each
    agent_command: str | None = None  # the shell command of the agent `command`
    base_url: str | None = None  # of the model's server
    is_configuration_known: bool = True  # whether run.json told the two above


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A run's place."""

    label: str  # its agent and model, and its name where others have the same ones
    summary: Summary  # of all its attempts
    common: Rate  # of those at tasks that all runs have: what the order goes by
    group: str  # letters; no significant difference between two runs that share one


@dataclass(frozen=True, slots=True, kw_only=True)
class Versus:
    """Two standings, told by their numbers."""

    first: int
    second: int
    tasks: int  # that both runs have
    p_value: float  # corrected for the number of pairs (Holm)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Runs, the best first."""

    standings: tuple[Standing, ...]
    pairs: tuple[Versus, ...]  # of those that share a task; empty if tests were not asked for
    tasks: int  # that any run has
    common: int  # that all have


def leaderboard(entrants: Sequence[Entrant], *, with_groups: bool = True) -> Leaderboard:
    """Place runs by their resolved rate over the tasks that all of them have.

    Where there is no such task, by the rate over their own. Pairs are tested on the tasks that
    both have, whatever the others have.

    Args:
        entrants: at least one.
        with_groups: Test the pairs, for which scipy and statsmodels are needed.
    """
    counted = [TaskOutcomes() for _ in entrants]
    summaries = [
        Summary.of(entrant.attempts, outcomes=into)
        for entrant, into in zip(entrants, counted, strict=True)
    ]
    outcomes = [each.by_task for each in counted]
    common = set.intersection(*(set(each) for each in outcomes))
    rates = [_rate(each, common) for each in outcomes]
    labels = label_runs(entrants)
    keys = [
        (-rate.share, -summary.overall.share, label)
        for rate, summary, label in zip(rates, summaries, labels, strict=True)
    ]
    order = sorted(range(len(entrants)), key=keys.__getitem__)
    pairs = _pairs([outcomes[number] for number in order]) if with_groups else ()
    apart = [(pair.first, pair.second) for pair in pairs if pair.p_value < ALPHA]
    groups = letters(len(order), apart) if with_groups else [""] * len(order)
    return Leaderboard(
        standings=tuple(
            Standing(label=labels[n], summary=summaries[n], common=rates[n], group=group)
            for n, group in zip(order, groups, strict=True)
        ),
        pairs=pairs,
        tasks=len(set().union(*outcomes)),
        common=len(common),
    )


def label_runs(entrants: Sequence[Entrant]) -> tuple[str, ...]:
    """A label for each run, no two alike: its agent and model, and its name where these are not."""
    told = [_whose(entrant) for entrant in entrants]
    often = Counter(told)
    named = [
        f"{who} ({entrant.name})" if often[who] > 1 else who
        for who, entrant in zip(told, entrants, strict=True)
    ]
    seen: Counter[str] = Counter()
    labels = []
    for label in named:
        seen[label] += 1
        labels.append(f"{label} #{seen[label]}" if seen[label] > 1 else label)
    return tuple(labels)


def agent_label(agent: str, model: str | None, command: str | None) -> str:
    """What an agent is called: its name, its shell command if it is one, and its model."""
    if command is not None and len(command) > _LONGEST:
        command = f"{command[: _LONGEST - 1]}\u2026"
    return " ".join(filter(None, (agent, command and f"'{command}'", model)))


def _whose(entrant: Entrant) -> str:
    if not entrant.attempts:
        return f"{entrant.name}, no attempts"
    (agent, model), *others = dict.fromkeys((each.agent, each.model) for each in entrant.attempts)
    first = agent_label(agent, model, entrant.agent_command)
    return f"{first} and {len(others)} more" if others else first


def _rate(outcomes: Mapping[TaskId, TaskOutcome], common: set[TaskId]) -> Rate:
    told = Counter(outcomes[task] for task in common)
    return Rate.of(overall_scores(told))


def _pairs(outcomes: Sequence[Mapping[TaskId, TaskOutcome]]) -> tuple[Versus, ...]:
    tested = []
    for one, other in combinations(range(len(outcomes)), 2):
        ours, theirs = outcomes[one], outcomes[other]
        both = Counter((ours[task], theirs[task]) for task in ours.keys() & theirs.keys())
        if both:
            p_value = significance(overall_pairs(both)).p_value
            tested.append((one, other, both.total(), p_value))
    corrected = holm([p_value for *_, p_value in tested])
    return tuple(
        Versus(first=one, second=other, tasks=tasks, p_value=p_value)
        for (one, other, tasks, _), p_value in zip(tested, corrected, strict=True)
    )
