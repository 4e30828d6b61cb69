"""Reads the attempts of an export, and says why one is left out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentbench.attempt.logs import EXCHANGE_LOG, TRAJECTORY_FILE
from agentbench.attempt.record import AttemptRecord
from agentbench.audit.run_facts import RunFolder
from agentbench.core.extensions import Slot, offers
from agentbench.extensions.export.chat import (
    ChatMessage,
    chat_messages,
    opening_length,
    patch_chat,
    tools_text,
)
from agentbench.extensions.export.conversation import AttemptConversations, conversations_in
from agentbench.extensions.export.leaks import find_leak
from agentbench.extensions.export.rows import AttemptFacts, RowKind
from agentbench.extensions.export.sources import SourceRun, TaskSources
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.judge.reward_kind import RewardKind
from agentbench.models.gateway.exchange_log import LoggedExchange
from agentbench.models.interface import ModelUsage
from agentbench.models.trajectory import (
    Trajectory,
    TrajectoryAgent,
    build_trajectory,
    logged_exchanges,
)
from agentbench.report.attempt_files import files_in
from agentbench.report.transcript_text import TRAJECTORY_BYTES, parse_trajectory

_NO_CONVERSATIONS = AttemptConversations(main=None, number=0, is_complete=True)


class LeftOutError(Exception):
    """An attempt has no row; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedAttempt:
    """An attempt with everything that a row may have."""

    facts: AttemptFacts
    verdict: JudgeVerdict
    record: AttemptRecord
    trajectory: Trajectory | None
    kind: RowKind | None
    messages: tuple[ChatMessage, ...]
    tools: str | None
    conversations: int
    is_complete: bool
    patch: str | None
    instruction: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptReader:
    """Reads attempts, each with the check for leaks if its task can be read."""

    tasks: TaskSources
    reward: RewardKind = RewardKind.RESOLVED
    _behaviours: dict[Path, Callable[[AttemptRecord], Any]] = field(default_factory=dict)

    def _behaviour(self, run: SourceRun, record: AttemptRecord) -> dict[str, Any]:
        """The columns about what the agent did; empty without the extension that knows it."""
        reader = offers(Slot.BEHAVIOUR).get("reader")
        if reader is None:
            return {"behaviour": (), "solved_at_step": None, "lost_at_step": None}
        folder = run.reported.folder
        if folder not in self._behaviours:
            opened = RunFolder(folder=folder, configuration=run.configuration)
            self._behaviours[folder] = reader.load()(opened, self.tasks.mirrors)
        found = self._behaviours[folder](record)
        return {
            "behaviour": tuple(each.tag.value for each in found.found),
            "solved_at_step": found.solved_at_step,
            "lost_at_step": found.lost_at_step,
        }

    def read(self, run: SourceRun, record: AttemptRecord) -> ExportedAttempt:
        """Read an attempt.

        Raises:
            LeftOutError: it must not be in a data set.
        """
        folder = run.folder_of(record)
        try:
            log = folder / EXCHANGE_LOG
            exchanges = logged_exchanges(log) if log.is_file() else []
        except OSError as error:
            raise LeftOutError(f"its log cannot be read: {error.strerror}") from None
        trajectory = _trajectory(folder, record, exchanges)
        found = conversations_in(exchanges) if exchanges else _NO_CONVERSATIONS
        patch = files_in(folder).patch() if record.patch is not None else None
        answers = self.tasks.answers(record.task_digest)
        messages = chat_messages(found.main.messages) if found.main is not None else ()
        last = max((at for at, each in enumerate(messages) if each.role == "assistant"), default=-1)
        is_opened = opening_length(messages) > 0
        chat = messages[: last + 1] if is_opened else ()
        tools = tools_text(found.main.tools) if found.main is not None and chat else None
        if answers is not None:
            leak = find_leak(answers, trajectory, chat, patch or b"", tools=tools)
            if leak is not None:
                raise LeftOutError(leak.value)
        kind: RowKind | None = "conversation" if chat else None
        text = patch.decode("utf-8", "replace") if patch is not None else None
        if not chat and text and answers is not None and not answers.has_steps:
            kind, chat = "patch", patch_chat(answers.instruction, text)
        verdict = JudgeVerdict.of(record, "", self.reward)
        return ExportedAttempt(
            facts=_facts(
                run, record, verdict, self._behaviour(run, record), checked=answers is not None
            ),
            verdict=verdict,
            record=record,
            trajectory=trajectory,
            kind=kind,
            messages=chat,
            tools=tools,
            conversations=found.number,
            is_complete=kind is not None and found.is_complete,
            patch=text,
            instruction=answers.instruction if answers is not None else None,
        )


def _trajectory(
    folder: Path, record: AttemptRecord, exchanges: list[LoggedExchange]
) -> Trajectory | None:
    path = folder / TRAJECTORY_FILE
    try:
        with path.open("rb") as file:
            return parse_trajectory(file.read(TRAJECTORY_BYTES + 1))
    except (OSError, ValueError):
        usage = record.usage
        return build_trajectory(
            exchanges,
            agent=TrajectoryAgent(name=record.agent, version="unknown", model_name=record.model),
            session=f"{record.run_id}/{record.task_id}/{record.attempt}",
            usage=ModelUsage()
            if usage is None
            else ModelUsage(
                requests=usage.requests,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cached_tokens,
                cost_usd=usage.cost_usd,
            ),
        )


def _facts(
    run: SourceRun,
    record: AttemptRecord,
    verdict: JudgeVerdict,
    behaviour: dict[str, Any],
    *,
    checked: bool,
) -> AttemptFacts:
    return AttemptFacts(
        task_id=record.task_id,
        task_digest=record.task_digest,
        run_id=record.run_id,
        attempt=record.attempt,
        agent=record.agent,
        model=record.model,
        agentbench_version=run.configuration.agentbench_version,
        sandbox=record.environment.sandbox,
        started_at=record.started_at,
        reward=verdict.reward,
        resolved=record.resolved,
        quarantined=record.quarantined,
        reason=record.failure_reason,
        fault=record.fault,
        **behaviour,
        checked=checked,
    )
