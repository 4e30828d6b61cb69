"""The leaderboard of runs, and the results of each agent, model and task set.

Runs that share a letter do not differ significantly. Runs of the same agent with the same model and
the same tasks are pooled. There is no rate over different agents, models or tasks, since it would
have no meaning.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from agentbench.core.display_text import list_with_more
from agentbench.report import summary
from agentbench.report.summary import Rate, ResultSummary, TaskOutcome
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.paired_comparison import compact_letters, holm, significance
from agentbench.scoring.statistics import ALPHA
from agentbench.tasks.problem import TaskId

LETTERS_NOTE = (
    "No significant difference between runs that share a letter (paired tests on shared tasks, "
    "5 % after Holm's correction)."
)
"""The meaning of the letters on a leaderboard."""
_DIGITS = 12  # of a task set's digest
_MAX_RUNS_NAMED = 3  # runs in a label


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A run for the leaderboard."""

    name: str  # of its folder
    attempts: Sequence[AttemptSummary]  # the last record of each
    agent_command: str | None = None  # the shell command of the agent `command`
    base_url: str | None = None  # of the model's server
    note: str | None = None  # of its owner
    is_configuration_known: bool = True  # whether the two fields above are from run.json


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardEntry:
    """A run on the leaderboard."""

    label: str  # its agent and model, and its name if these are not unique
    summary: ResultSummary  # of all its attempts
    common: Rate  # of attempts at common tasks; decides the order
    group: str  # letters; no significant difference between two runs that share one
    rank: int  # one more than the number of runs that are significantly better


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPair:
    """Two entries, by their numbers."""

    first: int
    second: int
    tasks: int  # common to both runs
    p_value: float  # corrected for the number of pairs (Holm)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Runs, the best first."""

    entries: tuple[LeaderboardEntry, ...]
    pairs: tuple[RunPair, ...]  # of runs with a common task; empty without tests
    tasks: int  # of any run
    common: int  # of all runs


def leaderboard(entrants: Sequence[Entrant], *, with_groups: bool = True) -> Leaderboard:
    """Sort runs by their resolved rate over the tasks common to all of them.

    Without a common task, the rates over their own tasks decide. Pairs are tested on the tasks
    that both have; for `with_groups`, scipy and statsmodels must be installed.

    Args:
        entrants: The runs, at least one.
        with_groups: Whether to test pairs, which needs scipy and statsmodels.
    """
    summaries = [ResultSummary.of(entrant.attempts) for entrant in entrants]
    outcomes = [summary.outcomes_by_task(entrant.attempts) for entrant in entrants]
    common = set.intersection(*(set(each) for each in outcomes))
    rates = [
        Rate.of(summary.overall_scores(Counter(each[task] for task in common))) for each in outcomes
    ]
    labels = label_runs(entrants)
    keys = [
        (-rate.share, -own.overall.share, label)
        for rate, own, label in zip(rates, summaries, labels, strict=True)
    ]
    # The label decides a tie, so that the order of the command's arguments never does.
    order = sorted(range(len(entrants)), key=keys.__getitem__)
    pairs = _pairs([outcomes[number] for number in order]) if with_groups else ()
    apart = [(pair.first, pair.second) for pair in pairs if pair.p_value < ALPHA]
    groups = compact_letters(len(order), apart) if with_groups else [""] * len(order)
    return Leaderboard(
        entries=tuple(
            LeaderboardEntry(
                label=labels[n],
                summary=summaries[n],
                common=rates[n],
                group=group,
                # Without tests, the order is all that is known.
                rank=1 + (sum(worse == at for _, worse in apart) if with_groups else at),
            )
            for at, (n, group) in enumerate(zip(order, groups, strict=True))
        ),
        pairs=pairs,
        tasks=len(set().union(*outcomes)),
        common=len(common),
    )


def label_runs(entrants: Sequence[Entrant]) -> tuple[str, ...]:
    """A unique label for each run: its agent and model, and its note, or its name if necessary."""
    names = []
    for entrant in entrants:
        agents = list(dict.fromkeys((each.agent, each.model) for each in entrant.attempts))
        first = " ".join(filter(None, agents[0])) if agents else f"{entrant.name}, no attempts"
        names.append(f"{first} and {len(agents) - 1} more" if len(agents) > 1 else first)
    often = Counter(names)
    label_counts: Counter[str] = Counter()
    labels = []
    for name, entrant in zip(names, entrants, strict=True):
        # The text of a shell command filled the heads of tables, and told no runs apart.
        is_command = entrant.agent_command is not None and bool(entrant.attempts)
        # A note names a run as its owner does.
        own = entrant.note or entrant.name
        label = f"{name} ({own})" if often[name] > 1 or is_command or entrant.note else name
        label_counts[label] += 1
        labels.append(f"{label} #{label_counts[label]}" if label_counts[label] > 1 else label)
    return tuple(labels)


def _pairs(outcomes: Sequence[Mapping[TaskId, TaskOutcome]]) -> tuple[RunPair, ...]:
    tested = []
    for one, other in combinations(range(len(outcomes)), 2):
        ours, theirs = outcomes[one], outcomes[other]
        both = Counter((ours[task], theirs[task]) for task in ours.keys() & theirs.keys())
        if both:
            p_value = significance(summary.overall_pairs(both)).p_value
            tested.append((one, other, both.total(), p_value))
    corrected = holm([p_value for *_, p_value in tested])
    return tuple(
        RunPair(first=one, second=other, tasks=tasks, p_value=p_value)
        for (one, other, tasks, _), p_value in zip(tested, corrected, strict=True)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """All attempts of one agent with one model at one set of tasks."""

    label: str
    agent: str | None  # None: a run without attempts
    agent_command: str | None
    model: str | None
    base_url: str | None
    task_set: str  # digest of the tasks' ids and contents
    runs: tuple[str, ...]
    summary: ResultSummary


class _ResultKey(NamedTuple):
    agent: str | None
    agent_command: str | None
    model: str | None
    base_url: str | None
    task_set: str


def results_by_agent(entrants: Sequence[Entrant]) -> tuple[AgentResult, ...]:
    """The result of each agent, model and task set, in the order of their first runs."""
    # A run with an unreadable configuration is not pooled, so its name is part of the key.
    pools: dict[tuple[_ResultKey, str | None], list[tuple[str, list[AttemptSummary]]]] = {}
    for entrant in entrants:
        apart = None if entrant.is_configuration_known else entrant.name
        parts: dict[tuple[str | None, str | None], list[AttemptSummary]] = {}
        for attempt in entrant.attempts:
            parts.setdefault((attempt.agent, attempt.model), []).append(attempt)
        # A run without attempts has a result as well, or it would vanish from the report.
        for (agent, model), attempts in (parts or {(None, None): []}).items():
            key = _ResultKey(
                agent=agent,
                agent_command=entrant.agent_command,
                model=model,
                base_url=entrant.base_url,
                task_set=task_set((each.task_id, each.task_digest) for each in attempts),
            )
            pools.setdefault((key, apart), []).append((entrant.name, attempts))
    labels = [" ".join(filter(None, (key.agent or "no attempts", key.model))) for key, _ in pools]
    often = Counter(labels)
    results = []
    for label, (key, _), pool in zip(labels, pools, pools.values(), strict=True):
        runs = [name for name, _ in pool]
        if often[label] > 1 or key.agent_command is not None:
            label = f"{label} ({list_with_more(runs, _MAX_RUNS_NAMED)})"
        results.append(
            AgentResult(
                **key._asdict(),
                label=label,
                runs=tuple(runs),
                summary=ResultSummary.of(each for _, attempts in pool for each in attempts),
            )
        )
    return tuple(results)


def task_set(tasks: Iterable[tuple[TaskId, str]]) -> str:
    """A digest of some tasks, each given by its id and the digest of its content."""
    return hashlib.sha256(repr(sorted(set(tasks))).encode()).hexdigest()[:_DIGITS]
