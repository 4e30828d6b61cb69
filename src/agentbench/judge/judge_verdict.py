"""The verdict on a submitted change, and the reward that it gives."""

from typing import Final

from pydantic import Field

from agentbench.attempt.record import AttemptRecord, RunId
from agentbench.core.display_text import one_line
from agentbench.core.schema import Schema
from agentbench.judge.reward_kind import RewardKind
from agentbench.runs.store.summaries import AttemptSummary, is_retryable, was_interrupted
from agentbench.scoring.evidence import CaseOutcome, NodeId
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault

_LINE = 300  # characters of a verdict as text
DEADLINE_DETAIL: Final = "the deadline passed before there was a verdict"


class JudgeVerdict(Schema):
    """The verdict on one submitted change."""

    task_id: TaskId
    """The task."""
    task_digest: str
    """A digest of the task's files."""
    change_digest: str
    """A digest of the submitted change."""
    resolved: bool
    """Whether the change resolves the task."""
    quarantined: bool = False
    """Whether a finding of the integrity checks keeps it from being resolved."""
    reward: float | None
    """From 0 to 1; null: there is no verdict on the change, so leave it out of the training."""
    reason: FailureReason | None
    """Why it is not resolved; null exactly if it is resolved."""
    fault: Fault | None
    """The cause of the failure: the agent, the task or the infrastructure; null: no failure."""
    retryable: bool = False
    """Whether scoring the same change again may give a verdict."""
    detail: str = ""
    """The reason in words."""
    tests: dict[NodeId, CaseOutcome | None] = Field(default_factory=dict)
    """The outcomes of the tests that decide; null: the test did not run."""
    fixed: int = 0
    """How many of the tests to fix pass."""
    to_fix: int = 0
    """How many tests the change had to fix."""
    regressed: int = 0
    """How many tests passed before the change and fail after it."""
    rewards: dict[str, float] | None = None
    """The rewards of the task's own verifier script, by name; null: tests decide."""
    behaviour: tuple[str, ...] | None = None
    """What the agent of a session did, as tags that docs/behaviour.md defines; null: no session."""
    solved_at_step: int | None = None
    """The call of a session after which all tests that decide passed first; null: none, or no
    timeline."""
    lost_at_step: int | None = None
    """The first call after it that broke one of them; null: none, or no timeline."""
    from_cache: bool = False
    """Whether the verdict is that of an equal change that was judged earlier."""
    run_id: RunId | None = None
    """The run with the record; null: the change was not judged."""
    attempt: int | None = None
    """The number of the attempt at the task in this run; null: the change was not judged."""
    folder: str | None = None
    """The folder with the record, the logs and the patch, relative to that of the run."""
    seconds: float = 0.0
    """How long judging took, without the wait for a free slot."""

    def __str__(self) -> str:
        """One short line; `repr` has all fields."""
        if self.resolved:
            what = "resolved"
        elif self.quarantined:
            what = "quarantined"
        else:
            what = f"{self.reason}, fault: {self.fault}"
        reward = "none" if self.reward is None else f"{self.reward:g}"
        tests = f"{self.fixed} of {self.to_fix} fixed, {self.regressed} regressed"
        detail = f": {self.detail}" if self.detail else ""
        return one_line(f"{self.task_id}: {what}, reward {reward}, {tests}{detail}", limit=_LINE)

    @classmethod
    def of(cls, record: AttemptRecord, change_digest: str, kind: RewardKind) -> "JudgeVerdict":
        to_fix = [test for test in record.tests if test.listed == "fail_to_pass"]
        fixed = sum(test.final is CaseOutcome.PASSED for test in to_fix)
        return cls(
            task_id=record.task_id,
            task_digest=record.task_digest,
            change_digest=change_digest,
            resolved=record.resolved,
            quarantined=record.quarantined,
            reward=_reward(record, kind, fixed / len(to_fix) if to_fix else None),
            reason=record.failure_reason,
            fault=record.fault,
            retryable=is_retryable(record) or was_interrupted(record),
            detail=record.detail,
            tests={test.node_id: test.final for test in record.tests if test.listed is not None},
            fixed=fixed,
            to_fix=len(to_fix),
            regressed=record.counts.regressed,
            rewards=record.rewards,
            run_id=record.run_id,
            attempt=record.attempt,
            folder=f"attempts/{AttemptSummary.of(record).folder_name}",
            seconds=record.timing.total_s,
        )

    @classmethod
    def without_result(
        cls, *, task_id: TaskId, task_digest: str, change_digest: str, detail: str
    ) -> "JudgeVerdict":
        """The verdict of a change that was not judged: it has no reward."""
        return cls(
            task_id=task_id,
            task_digest=task_digest,
            change_digest=change_digest,
            resolved=False,
            reward=None,
            reason=FailureReason.INTERRUPTED,
            fault=Fault.INFRASTRUCTURE,
            retryable=True,
            detail=detail,
        )

    def with_kind(self, kind: RewardKind) -> "JudgeVerdict":
        """The same verdict with the reward of another kind."""
        share = self.fixed / self.to_fix if self.to_fix else None
        return self.replace(reward=_reward(self, kind, share))


def _reward(
    verdict: "AttemptRecord | JudgeVerdict", kind: RewardKind, share: float | None
) -> float | None:
    if verdict.resolved:
        return 1.0
    # Without a verdict on the change: 0 would punish the model for another's fault.
    if verdict.fault is not Fault.AGENT:
        return None
    if isinstance(verdict, AttemptRecord):
        regressed = verdict.counts.regressed
    else:
        regressed = verdict.regressed
    if kind is not RewardKind.FIXED_SHARE or verdict.quarantined or regressed:
        return 0.0
    if verdict.rewards is not None:
        # A script may give any numbers, and a reward is from 0 to 1.
        limited = [min(1.0, max(0.0, each)) for each in verdict.rewards.values()]
        return sum(limited) / len(limited) if limited else 0.0
    return 0.0 if share is None else share
