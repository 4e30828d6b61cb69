"""The built-in agent: a loop of model answers and tool calls that fits into the context window."""

import dataclasses
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from importlib import metadata
from importlib.resources import files
from pathlib import PurePosixPath
from typing import ClassVar

from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.agents.preset import mcp_refusal
from agentbench.core.extras import DISTRIBUTION
from agentbench.core.untrusted_json import cut_middle
from agentbench.errors import LLMError
from agentbench.extensions.llm import endings
from agentbench.extensions.llm.endings import NoAnswerError, complete_with_retries
from agentbench.extensions.llm.tools import (
    EFFECT_OF_TOOL,
    ToolContext,
    ToolEffect,
    tool_specs,
    use_tool,
)
from agentbench.models import conversation as talk
from agentbench.models.formats.registry import open_client
from agentbench.models.interface import ModelEndpoint, ModelErrorKind
from agentbench.models.model_catalogue import context_window
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem
from agentbench.test_tools.agent_texts import escape_control
from agentbench.test_tools.project import sandbox_project

_BYTES_PER_TOKEN = 3  # a low estimate, so that requests always fit
_TOKENS_PER_MESSAGE = 8  # tokens of the API format around a message
_SHARE_AFTER_CUT = 0.7  # of the window after a cut; cutting at each step would defeat prompt caches
_SHARE_AFTER_ERROR = 0.6  # of the size that was too long
_MIN_DROPPED_LENGTH = 400  # characters; shorter output stays
_OUTPUT_LENGTHS = (16_384, 8_192, 4_096, 2_048, 1_024, 512, 256)  # characters of the latest output
_SKILLS_TIMEOUT = timedelta(seconds=120)
_MAX_SKILLS_LENGTH = 8_000  # characters
_HEAD_OF_SKILLS = """
for file in "$1"/*/SKILL.md; do
  [ -f "$file" ] && printf '%s\\n' "$file" && head -n 12 "$file" && echo
done
"""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class ConversationMemory:
    """A conversation that is kept within a number of tokens."""

    def __init__(self, conversation: talk.Conversation, token_limit: int) -> None:
        self._token_limit = token_limit
        self.conversation = fit_to_window(conversation, token_limit)

    def add(self, turn: talk.ConversationTurn) -> None:
        """Add a turn; older ones may be dropped."""
        turns = (*self.conversation.turns, turn)
        self.conversation = fit_to_window(
            replace(self.conversation, turns=turns), self._token_limit
        )

    def shrink(self) -> None:
        """Reduce the limit, since the model refused this conversation as too long."""
        self._token_limit = int(tokens_of(self.conversation) * _SHARE_AFTER_ERROR)
        self.conversation = fit_to_window(self.conversation, self._token_limit)


def tokens_of(conversation: talk.Conversation) -> int:
    """A high estimate of a conversation's tokens."""
    fixed = _tokens(conversation.system) + _tokens(conversation.opening)
    return fixed + sum(map(_tokens_of_turn, conversation.turns))


def tokens_of_tools(tools: Sequence[talk.ToolSpec]) -> int:
    """An estimate of the tokens of tool descriptions."""
    return sum(_tokens(tool.name + tool.description + json.dumps(tool.schema)) for tool in tools)


def fit_to_window(conversation: talk.Conversation, token_limit: int) -> talk.Conversation:
    """The conversation, shortened if it does not fit; the system prompt and the task stay.

    Args:
        conversation: The whole conversation.
        token_limit: The limit in tokens.
    """
    if tokens_of(conversation) <= token_limit:
        return conversation
    goal = int(token_limit * _SHARE_AFTER_CUT)
    # Providers reject reasoning after a change before it.
    turns = (replace(turn, answer=replace(turn.answer, verbatim=())) for turn in conversation.turns)
    conversation = _without_old_output(replace(conversation, turns=tuple(turns)), goal)
    while len(conversation.turns) > 1 and tokens_of(conversation) > goal:
        rest, forgotten = conversation.turns[1:], conversation.left_out_turns + 1
        conversation = replace(conversation, turns=rest, left_out_turns=forgotten)
    shorter = conversation
    for length in _OUTPUT_LENGTHS:
        if tokens_of(shorter) <= goal or not conversation.turns:
            break
        *others, last = conversation.turns
        replies = tuple(replace(each, text=cut_middle(each.text, length)) for each in last.replies)
        shorter = replace(conversation, turns=(*others, replace(last, replies=replies)))
    return shorter


def _without_old_output(conversation: talk.Conversation, goal: int) -> talk.Conversation:
    excess = tokens_of(conversation) - goal
    turns: list[talk.ConversationTurn] = []
    for turn in conversation.turns[:-1]:
        short = turn
        if excess > 0:
            short = replace(turn, replies=tuple(map(_without_text, turn.replies)))
            excess -= _tokens_of_turn(turn) - _tokens_of_turn(short)
        turns.append(short)
    return replace(conversation, turns=(*turns, *conversation.turns[-1:]))


def _without_text(reply: talk.ToolReply) -> talk.ToolReply:
    if len(reply.text) <= _MIN_DROPPED_LENGTH:
        return reply
    text = f"[{len(reply.text)} characters were left out here to save room; call again if needed]"
    return replace(reply, text=text)


def _tokens_of_turn(turn: talk.ConversationTurn) -> int:
    replies = sum(_tokens(reply.text) for reply in turn.replies)
    thoughts = _tokens(json.dumps([turn.answer.extra, turn.answer.verbatim]))
    calls = sum(_tokens(call.name + call.arguments) for call in turn.answer.tool_calls)
    return _tokens(turn.answer.text) + calls + thoughts + replies + _tokens(turn.note)


def _tokens(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + _TOKENS_PER_MESSAGE


def prompt(name: str, **values: str) -> str:
    """The text of a prompt file, with each `{name}` replaced by its value.

    Raises:
        KeyError: a placeholder has no value.
    """
    text = files("agentbench.extensions.llm").joinpath("prompts", f"{name}.md").read_text("utf-8")
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text.strip())


def opening_conversation(
    problem: Problem, workspace: PurePosixPath, budget: Budget
) -> talk.Conversation:
    """The conversation before its first answer."""
    task = prompt(
        "task",
        instruction=problem.instruction.strip(),
        workspace=str(workspace),
        test_command=problem.test_command,
        max_steps=str(budget.max_steps),
        minutes=f"{max(1, round(budget.timeout.total_seconds() / 60))}",
    )
    if isinstance(problem.network, bool):
        network = "There is a network." if problem.network else "There is no network."
    else:
        hosts = ", ".join(problem.network)
        network = f"The network has only these hosts, by the proxy in the usual variables: {hosts}."
    return talk.Conversation(system=prompt("system", network=network), task=task)


def skills_prompt(problem: Problem, sandbox: Sandbox) -> str:
    """The part of the prompt about the task's skills; empty if there are none."""
    if problem.skills is None:
        return ""
    argv = ("sh", "-c", _HEAD_OF_SKILLS, "sh", problem.skills)
    found = sandbox.run(Command(argv=argv, timeout=_SKILLS_TIMEOUT)).stdout.strip()
    if not found:
        return ""
    head = f"Skills are in {problem.skills}; read a file before you do what it is about:"
    return f"{head}\n{cut_middle(escape_control(found), _MAX_SKILLS_LENGTH)}"


def note_about(answer: talk.ModelAnswer) -> str:
    """A note about an answer itself; usually empty."""
    if answer.stop is talk.StopReason.CUT_OFF:
        return prompt("cut_off")
    return "" if answer.tool_calls else prompt("reminder")


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmAgent:
    """A model with tools for the sandbox's workspace; the loop itself runs on this machine.

    A step is one answer of the model with all of its calls. An answer without a call gets a
    reminder. After `silent_steps` such answers in a row the model has stopped: it submitted if it
    ever changed anything (the tests decide in any case), otherwise it gave up. A failed call gets
    an error message. After `failed_steps` steps in a row without a successful call the attempt
    ends in a tool error.
    """

    attempts_per_request: int = 5  # of one request
    failed_steps: int = 5
    silent_steps: int = 2
    sleep: Callable[[float], None] = time.sleep

    name: ClassVar[str] = "llm"
    needs_model: ClassVar[bool] = True

    @property
    def version(self) -> str:
        """The version of agentbench."""
        return metadata.version(DISTRIBUTION)

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Work on the problem until the model submits or a limit ends it.

        Raises:
            LLMError: there is no model, or no supported API format.
            UsageError: the task has MCP servers.
            SandboxError: the sandbox is lost.
        """
        if model is None:
            raise LLMError("the llm agent needs a model, found none: give --model provider/name")
        # As other agents without a client for them: an attempt without its servers would be judged
        # for something else.
        if problem.mcp_servers:
            raise mcp_refusal("llm", problem)
        command = problem.tests
        project = sandbox_project(sandbox, command, env=problem.test_env, isolated=True)
        context = ToolContext(sandbox=sandbox, budget=budget, project=project)
        window = context_window(model.model).max_request_tokens
        token_limit = window - tokens_of_tools(tool_specs())
        with open_client(model) as client:
            opening = opening_conversation(problem, sandbox.workspace, budget)
            if added := skills_prompt(problem, sandbox):
                opening = replace(opening, task=f"{opening.task}\n\n{added}")
            memory = ConversationMemory(opening, token_limit)
            loop = _AgentLoop(
                settings=self, context=context, model=model, client=client, memory=memory
            )
            outcome = loop.work()
        return dataclasses.replace(outcome, usage=model.traffic().usage)


@dataclass(slots=True, kw_only=True)
class _AgentLoop:
    settings: LlmAgent
    context: ToolContext
    model: ModelEndpoint
    client: talk.ModelClient
    memory: ConversationMemory
    tally: endings.AttemptCounts = field(default_factory=endings.AttemptCounts)

    def work(self) -> AgentOutcome:
        outcome = None
        while outcome is None:
            if self.tally.steps == self.context.budget.max_steps:
                return endings.out_of_steps(self.tally, self.context.budget)
            if not self.context.budget.remaining():
                return endings.out_of_time(self.tally, self.context.budget)
            self.tally.steps += 1
            try:
                outcome = self._run_calls(self._complete())
            except NoAnswerError as error:
                return endings.unanswered(self.tally, self.context.budget, self.model, error)
        return outcome

    # The next answer; a conversation that is too long for the model is shortened once.
    def _complete(self) -> talk.ModelAnswer:
        try:
            return self._complete_with_retries()
        except NoAnswerError as error:
            if error.failure.kind is not ModelErrorKind.CONTEXT_LENGTH:
                raise
        self.memory.shrink()
        return self._complete_with_retries()

    def _complete_with_retries(self) -> talk.ModelAnswer:
        conversation, settings = self.memory.conversation, self.settings
        return complete_with_retries(
            lambda timeout: self.client.complete(conversation, tool_specs(), timeout=timeout),
            self.context.budget,
            max_attempts=settings.attempts_per_request,
            sleep=settings.sleep,
        )

    def _run_calls(self, answer: talk.ModelAnswer) -> AgentOutcome | None:
        if answer.stop is talk.StopReason.REFUSED:
            return endings.refused(self.tally, answer)
        replies: list[talk.ToolReply] = []
        for call in answer.tool_calls:
            reply = use_tool(self.context, call)
            if EFFECT_OF_TOOL.get(call.name) is ToolEffect.SUBMITS and any(
                earlier.failed for earlier in replies
            ):
                text = "not submitted, since a call before this one failed: look at that first"
                reply = talk.ToolReply(text=text, failed=True)
            self.tally.count(call, reply)
            replies.append(reply)
            if not self.context.budget.remaining():
                return endings.out_of_time(self.tally, self.context.budget)
            if EFFECT_OF_TOOL.get(call.name) is ToolEffect.SUBMITS and not replies[-1].failed:
                return self.tally.outcome(AgentEnding.SUBMITTED)
        self.tally.count_step(replies)
        self.memory.add(
            talk.ConversationTurn(answer=answer, replies=tuple(replies), note=note_about(answer))
        )
        if self.tally.silent_steps >= self.settings.silent_steps:
            return endings.fell_silent(self.tally)
        if self.tally.failed_steps >= self.settings.failed_steps:
            return endings.failed(self.tally, answer.tool_calls[-1], replies[-1])
        return None
