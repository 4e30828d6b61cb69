"""Pairs of attempts at the same task with the same prompt: one resolved, one failed."""

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from agentbench.extensions.export.attempts import ExportedAttempt
from agentbench.extensions.export.chat import ChatMessage, opening_length
from agentbench.extensions.export.rows import PairSide, PreferenceRow, chat_json


class AttemptRef(NamedTuple):
    """An attempt of an export; sorts by run, task and attempt."""

    run_id: str
    task_id: str
    attempt: int
    run: int  # the position of the run
    record: int  # the number of the record in the run


class PromptKey(NamedTuple):
    """What two attempts must share to be a pair."""

    task_digest: str
    task_id: str
    kind: str
    prompt: str  # a digest of the messages before the first answer, and of the tools


@dataclass(slots=True)
class _Group:
    chosen: list[AttemptRef] = field(default_factory=list)
    rejected: list[AttemptRef] = field(default_factory=list)


class PairPlan:
    """The attempts that may be in pairs; holds no texts."""

    def __init__(self, *, pairs_per_task: int, seed: int) -> None:
        self._limit = pairs_per_task
        self._seed = seed
        self._groups: dict[PromptKey, _Group] = {}

    def add(self, ref: AttemptRef, attempt: ExportedAttempt) -> None:
        """Add an attempt with messages."""
        group = self._groups.setdefault(prompt_key(attempt), _Group())
        (group.chosen if attempt.facts.resolved else group.rejected).append(ref)

    def without_partner(self) -> int:
        """The number of attempts without a partner."""
        alone = (each for each in self._groups.values() if not (each.chosen and each.rejected))
        return sum(len(group.chosen) + len(group.rejected) for group in alone)

    def pairs(self) -> Iterator[tuple[AttemptRef, AttemptRef]]:
        """Chosen and rejected attempts, in an order that depends on the seed only."""
        used: dict[str, int] = {}
        for key, group in sorted(self._groups.items()):
            chosen, rejected = sorted(group.chosen), sorted(group.rejected)
            possible = len(chosen) * len(rejected)
            count = min(possible, self._limit - used.get(key.task_digest, 0))
            used[key.task_digest] = used.get(key.task_digest, 0) + count
            # The pairs depend only on the attempts, the limit and the seed.
            draw = random.Random(f"{self._seed} {key}")
            for number in draw.sample(range(possible), count):
                yield chosen[number % len(chosen)], rejected[number // len(chosen)]


def prompt_key(attempt: ExportedAttempt) -> PromptKey:
    """What a partner of this attempt must share with it."""
    prompt = attempt.messages[: opening_length(attempt.messages)]
    written = json.dumps([chat_json(prompt), attempt.tools], sort_keys=True)
    digest = hashlib.sha256(written.encode("utf-8", "replace")).hexdigest()
    facts = attempt.facts
    return PromptKey(facts.task_digest, facts.task_id, str(attempt.kind), digest)


def pair_row(chosen: ExportedAttempt, rejected: ExportedAttempt) -> PreferenceRow | None:
    """The row of a pair; None if both sides say the same."""
    length = opening_length(chosen.messages)
    sides: list[tuple[ChatMessage, ...]] = [
        each.messages[opening_length(each.messages) :] for each in (chosen, rejected)
    ]
    if sides[0] == sides[1]:
        return None
    assert chosen.kind is not None
    return PreferenceRow(
        task_id=chosen.facts.task_id,
        task_digest=chosen.facts.task_digest,
        kind=chosen.kind,
        prompt=chosen.messages[:length],
        chosen=sides[0],
        rejected=sides[1],
        tools=chosen.tools,
        chosen_attempt=_side(chosen),
        rejected_attempt=_side(rejected),
        checked=chosen.facts.checked and rejected.facts.checked,
    )


def _side(attempt: ExportedAttempt) -> PairSide:
    facts = attempt.facts
    return PairSide(
        run_id=facts.run_id,
        attempt=facts.attempt,
        agent=facts.agent,
        model=facts.model,
        reward=facts.reward,
        reason=facts.reason,
        quarantined=facts.quarantined,
    )
