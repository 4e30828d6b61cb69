"""The rows of the data sets. A column has one type in all rows."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from agentbench.attempt.record import RunId
from agentbench.core.schema import Schema
from agentbench.extensions.export.chat import ChatMessage
from agentbench.scoring.evidence import CaseOutcome, NodeId, Severity
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault

RowKind = Literal["conversation", "patch"]


class AttemptFacts(Schema):
    """What every row and trajectory says about its attempt."""

    task_id: TaskId
    """The task."""
    task_digest: str
    """A digest of the task's files, which differs for a changed task."""
    run_id: RunId
    """The run of the attempt."""
    attempt: int
    """The number of the attempt at the task in the run, from 1."""
    agent: str
    """The name of the agent."""
    model: str | None
    """The model; null: none, or the agent chose it itself."""
    agentbench_version: str
    """The version of agentbench that made the run."""
    sandbox: str
    """The back end that the attempt ran in."""
    started_at: datetime
    """When the attempt started, in UTC."""
    reward: float | None
    """From 0 to 1; null: there is no verdict on the attempt, so leave it out of a training."""
    resolved: bool
    """Whether the agent resolved the task."""
    quarantined: bool
    """Whether a finding of the integrity checks keeps the attempt from being resolved."""
    reason: FailureReason | None
    """Why it is not resolved; null exactly if it is resolved."""
    fault: Fault | None
    """The cause of the failure: the agent, the task or the infrastructure; null: no failure."""
    behaviour: tuple[str, ...]
    """What the agent did, as tags that docs/behaviour.md defines."""
    solved_at_step: int | None
    """The step after which all tests that decide passed first; null: none, or no timeline."""
    lost_at_step: int | None
    """The first step after it that broke one of them; null: none, or no timeline."""
    checked: bool
    """Whether the texts were searched for the task's hidden tests and its solution."""


class SftRow(AttemptFacts):
    """One line of `data/train.jsonl` with `--format sft`: an attempt as a chat."""

    kind: RowKind
    """Whether the messages are the conversation of the agent, or the instruction and the patch."""
    conversations: int
    """How many conversations the agent had; the messages are the longest one."""
    messages: tuple[ChatMessage, ...]
    """The chat. The last message is the assistant's."""
    tools: str | None
    """The tools of the agent as a JSON list of functions; null: none."""


class PairSide(Schema):
    """The attempt behind one side of a pair."""

    run_id: RunId
    """The run of the attempt."""
    attempt: int
    """The number of the attempt at the task in the run, from 1."""
    agent: str
    """The name of the agent."""
    model: str | None
    """The model; null: none, or the agent chose it itself."""
    reward: float | None
    """The reward: 1 for the chosen attempt; below 1 for the rejected one."""
    reason: FailureReason | None
    """Why the attempt is not resolved; null: it is."""
    quarantined: bool
    """Whether a finding of the integrity checks keeps the attempt from being resolved."""


class PreferenceRow(Schema):
    """One line of `data/train.jsonl` with `--format preference`: two attempts at one task."""

    task_id: TaskId
    """The task of both attempts."""
    task_digest: str
    """A digest of the task's files."""
    kind: RowKind
    """Whether the sides are conversations of agents, or patches that answer the instruction."""
    prompt: tuple[ChatMessage, ...]
    """The messages before the model's first one; they are equal in both attempts."""
    chosen: tuple[ChatMessage, ...]
    """The rest of the resolved attempt's messages."""
    rejected: tuple[ChatMessage, ...]
    """The rest of the messages of the attempt that failed by the agent's fault."""
    tools: str | None
    """The tools of both agents as a JSON list of functions; null: none."""
    chosen_attempt: PairSide
    """The resolved attempt."""
    rejected_attempt: PairSide
    """The failed attempt."""
    checked: bool
    """Whether the texts were searched for the task's hidden tests and its solution."""


class TableCall(Schema):
    """A call of a tool in a table."""

    id: str
    """The id that the tool's message repeats."""
    name: str
    """The name of the tool."""
    arguments: str
    """Its arguments as a JSON object."""


class TableMessage(Schema):
    """One message of a chat in a table."""

    role: str
    """The author: system, user, assistant or tool."""
    content: str
    """The text."""
    reasoning_content: str | None
    """The model's reasoning, if its provider shows it."""
    tool_calls: tuple[TableCall, ...]
    """The calls of an assistant's message."""
    tool_call_id: str | None
    """The call that a tool's message answers."""


class TableFinding(Schema):
    """A finding of the integrity checks, without its place, which may name a hidden test."""

    rule: str
    """The rule that found it."""
    severity: Severity
    """How serious it is."""


class TableTest(Schema):
    """The outcomes of one test, which may be a hidden one."""

    node_id: NodeId
    """The test."""
    listed: str | None
    """The list of the task that has it; null: none."""
    baseline: CaseOutcome | None
    """How it ended before the change; null: it did not run."""
    final: CaseOutcome | None
    """How it ended after the change; null: it did not run."""


class TableRow(AttemptFacts):
    """One row of `data/train.parquet`: an attempt."""

    kind: RowKind | None
    """As in the chat format; null: there are no messages."""
    conversations: int
    """How many conversations the agent had; the messages are the longest one."""
    complete: bool
    """Whether the log has the whole text of each message; false also without messages."""
    messages: tuple[TableMessage, ...]
    """The chat; empty if there is neither a conversation nor a patch."""
    tools: str | None
    """The tools of the agent as a JSON list of functions; null: none."""
    instruction: str | None
    """The task's instruction; null: the task was not available."""
    patch: str | None
    """The agent's change as it was judged; null: no change could be read."""
    ending: str | None
    """How the agent stopped; null: it did not run, or left no result."""
    steps: int
    """The number of the model's answers; 0 if they cannot be counted."""
    tests_to_fix: int
    """How many tests the change had to fix."""
    tests_fixed: int
    """How many of them pass."""
    tests_regressed: int
    """How many tests passed before the change and fail after it."""
    findings: tuple[TableFinding, ...]
    """The findings of the integrity checks."""
    requests: int | None
    """The number of model calls; null: they were not counted."""
    input_tokens: int | None
    """Tokens sent to the model, including cached ones; null: not counted."""
    output_tokens: int | None
    """Tokens that the model wrote; null: not counted."""
    cached_tokens: int | None
    """The input tokens that the provider had in its cache; null: not counted."""
    cost_usd: float | None
    """The cost of the model calls in US dollars; null: no price is known."""
    seconds: float
    """The duration of the attempt."""
    agent_seconds: float
    """The duration of the agent's commands."""
    detail: str | None
    """The reason in words; null without `--test-names`, because it may name hidden tests."""
    tests: tuple[TableTest, ...]
    """The outcomes of the tests; empty without `--test-names`."""


def table_messages(messages: Iterable[ChatMessage]) -> tuple[TableMessage, ...]:
    """A chat for a table, in which each column has one type."""
    return tuple(
        TableMessage(
            role=message.role,
            content=message.content,
            reasoning_content=message.reasoning_content,
            tool_calls=tuple(
                TableCall(
                    id=call.id,
                    name=call.function.name,
                    arguments=json.dumps(call.function.arguments, ensure_ascii=False),
                )
                for call in message.tool_calls or ()
            ),
            tool_call_id=message.tool_call_id,
        )
        for message in messages
    )


def chat_json(messages: Iterable[ChatMessage]) -> list[JsonValue]:
    """A chat in JSON, without the fields that have no value."""
    return [message.model_dump(mode="json", exclude_none=True) for message in messages]
