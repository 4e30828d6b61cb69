"""The steps of a task that a script judges: their evidence and their combined rewards."""

import operator
from collections.abc import Mapping, Sequence
from enum import StrEnum

from pydantic import Field

from agentbench.core.schema import Schema
from agentbench.scoring.classification import classify
from agentbench.scoring.evidence import Ending, Evidence, ExceptionFact, RewardFacts
from agentbench.taxonomy import StageName

_WITHOUT_RESULT = frozenset({Ending.TIMED_OUT, Ending.LOST})


class RewardStrategy(StrEnum):
    """How the rewards of a task's steps become the rewards of the attempt."""

    MEAN = "mean"  # of each name over the steps with rewards; a missing name counts as 0
    FINAL = "final"  # those of the last step that was run


class StepEvidence(Schema):
    """The evidence of one step; a field is `None` if the step ended before it."""

    name: str
    min_reward: dict[str, float] = Field(default_factory=dict)
    setup: ExceptionFact | None = Field(
        default=None, description="why it could not begin", exclude_if=operator.not_
    )
    agent: Evidence | None = None
    verifier: Evidence | None = None

    @property
    def rewards(self) -> Mapping[str, float] | None:
        """The rewards that count; None: the step has no result."""
        verifier = self.verifier
        if verifier is None or verifier.rewards is None or verifier.command is None:
            return None
        if verifier.command.ending in _WITHOUT_RESULT:
            return None
        return verifier.rewards.rewards or None

    @property
    def fault(self) -> str:
        """Why the step has no result, in words; empty if it has a result."""
        if self.rewards is not None:
            return ""
        if self.setup is not None:
            return self.setup.message
        if self.verifier is None:
            return "it was not judged"
        failure = classify(StageName.FINAL_TEST, self.verifier)
        return failure.detail if failure is not None else "the verifier left no reward"

    @property
    def is_broken(self) -> bool:
        """Whether it could not begin, or its verifier gave no reward or did not run to its end."""
        return self.verifier is None or self.rewards is None or not self.verifier.ran_to_end

    @property
    def shortfall(self) -> str | None:
        """Why its rewards are too low for the steps after it; None: they are high enough."""
        rewards = self.rewards or {}
        for name, least in self.min_reward.items():
            if name not in rewards:
                return f"it has no {name}, which has to be at least {least:g}"
            if rewards[name] < least:
                return f"{name} {rewards[name]:g} is below {least:g}"
        return None

    @property
    def ends_rest(self) -> bool:
        return self.is_broken or self.shortfall is not None


def combined_rewards(
    strategy: RewardStrategy, steps: Sequence[Mapping[str, float] | None]
) -> dict[str, float]:
    """The rewards of an attempt, from those of the steps that were run; None: without a result."""
    if strategy is RewardStrategy.FINAL:
        return dict(steps[-1] or {}) if steps else {}
    given = [rewards for rewards in steps if rewards is not None]
    names = dict.fromkeys(name for rewards in given for name in rewards)
    return {name: sum(each.get(name, 0.0) for each in given) / len(given) for name in names}


def combined_evidence(
    steps: Sequence[StepEvidence], total: int, strategy: RewardStrategy
) -> Evidence:
    """The evidence of the judging run: that of the last step, with the rewards of all steps.

    Args:
        steps: The steps that were run, at least one.
        total: How many steps the task has.
        strategy: How rewards are combined.
    """
    last, verifiers = steps[-1], [each.verifier for each in steps if each.verifier is not None]
    evidence, unfinished = last.verifier or Evidence(exception=last.setup), ""
    if len(steps) < total and last.shortfall is not None and not last.is_broken:
        unfinished = (
            f"step {last.name}: {last.shortfall}; {total - len(steps)} of {total} steps not run"
        )
    fault = evidence.rewards.fault if evidence.rewards is not None else ""
    facts = RewardFacts(
        rewards=combined_rewards(strategy, [each.rewards for each in steps]),
        fault=f"step {last.name}: {fault}" if fault else "",
        unfinished=unfinished,
        tests=tuple(
            test.replace(node_id=f"{each.name}: {test.node_id}")
            for each in steps
            if each.verifier is not None and each.verifier.rewards is not None
            for test in each.verifier.rewards.tests
        ),
    )
    return evidence.replace(
        rewards=facts,
        own_seconds=sum(each.own_seconds for each in verifiers),
        warnings=tuple(dict.fromkeys(w for each in verifiers for w in each.warnings)),
    )


def combined_work(steps: Sequence[StepEvidence]) -> Evidence:
    """The evidence of an agent's steps: that of the first step that failed, or else of the last."""
    works = [(each.name, each.agent) for each in steps if each.agent is not None]
    if not works:
        return Evidence(exception=steps[-1].setup) if steps else Evidence()
    failed = (work for work in works if classify(StageName.AGENT_RUN, work[1]) is not None)
    name, evidence = next(failed, works[-1])
    detail = evidence.agent_detail
    return evidence.replace(
        agent_detail=f"step {name}: {detail}" if detail else "",
        own_seconds=sum(work.own_seconds for _, work in works),
        findings=tuple(finding for _, work in works for finding in work.findings),
    )
