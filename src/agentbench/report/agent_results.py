"""Rates per agent, model and task set: what several runs may be counted together for.

Runs of the same agent with the same model at the same tasks are more attempts of one thing. A rate
over different agents, models or tasks is the rate of nothing, so none is ever made.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agentbench.report.leaderboard import Entrant, agent_label
from agentbench.report.summary import Summary
from agentbench.runs.headline import Headline

_DIGITS = 12  # of a task set's digest
_NAMED = 3  # runs that a label names


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
    summary: Summary


class _Key(NamedTuple):
    agent: str | None
    agent_command: str | None
    model: str | None
    base_url: str | None
    task_set: str
    run: str | None  # of a run whose configuration cannot be read: it is counted alone


@dataclass(slots=True)
class _Pool:
    runs: list[str] = field(default_factory=list)
    attempts: list[Headline] = field(default_factory=list)


def results_by_agent(entrants: Sequence[Entrant]) -> tuple[AgentResult, ...]:
    """The result of each agent, model and task set, in the order of their first runs."""
    pools: dict[_Key, _Pool] = {}
    for entrant in entrants:
        for key, attempts in _parts(entrant):
            pool = pools.setdefault(key, _Pool())
            pool.runs.append(entrant.name)
            pool.attempts += attempts
    often = Counter(map(_label, pools))
    return tuple(
        AgentResult(
            label=_label(key) if often[_label(key)] == 1 else f"{_label(key)} ({_named(pool)})",
            agent=key.agent,
            agent_command=key.agent_command,
            model=key.model,
            base_url=key.base_url,
            task_set=key.task_set,
            runs=tuple(pool.runs),
            summary=Summary.of(pool.attempts),
        )
        for key, pool in pools.items()
    )


def _parts(entrant: Entrant) -> Iterator[tuple[_Key, list[Headline]]]:
    """A run's attempts by agent and model: one part, unless records were put together."""
    parts: dict[tuple[str | None, str | None], list[Headline]] = {}
    for attempt in entrant.attempts:
        parts.setdefault((attempt.agent, attempt.model), []).append(attempt)
    for (agent, model), attempts in (parts or {(None, None): []}).items():
        yield (
            _Key(
                agent=agent,
                agent_command=entrant.agent_command,
                model=model,
                base_url=entrant.base_url,
                task_set=_task_set(attempts),
                run=None if entrant.is_configuration_known else entrant.name,
            ),
            attempts,
        )


def _task_set(attempts: Sequence[Headline]) -> str:
    tasks = sorted({(attempt.task_id, attempt.task_digest) for attempt in attempts})
    return hashlib.sha256(repr(tasks).encode()).hexdigest()[:_DIGITS]


def _label(key: _Key) -> str:
    return agent_label(key.agent or "no attempts", key.model, key.agent_command)


def _named(pool: _Pool) -> str:
    more = f" and {len(pool.runs) - _NAMED} more" if len(pool.runs) > _NAMED else ""
    return ", ".join(pool.runs[:_NAMED]) + more
