"""The built-in agent: asks the model, does what it calls for, and asks again until it submits."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata

from agentbench.agents.interface import AgentOutcome, Budget, ModelDoor
from agentbench.agents.llm import endings
from agentbench.agents.llm.clients.choose import client_for
from agentbench.agents.llm.clients.interface import Client
from agentbench.agents.llm.context import Memory, tokens_of_tools
from agentbench.agents.llm.context_windows import context_window
from agentbench.agents.llm.conversation import Answer, Reply, Stop, ToolCall, Turn
from agentbench.agents.llm.retrying import GaveUpError, asked_until_answered
from agentbench.agents.llm.tally import Tally
from agentbench.agents.llm.telling import note_on, opening
from agentbench.agents.llm.tools.tool import Desk, Effect
from agentbench.agents.llm.tools.workbench import EFFECTS, specs, use
from agentbench.agents.model_door import ModelErrorKind
from agentbench.distribution import DISTRIBUTION
from agentbench.errors import LLMError
from agentbench.pytest_results.tool_calls.project import project_in
from agentbench.sandbox.interface import Sandbox
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.problem import Problem
from agentbench.tasks.pytest_command import parse_pytest_command


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmAgent:
    """A model with tools on the sandbox's workspace; the loop itself runs on this machine.

    A step is one answer of the model, with all calls in it. An answer without a call is met by a
    reminder; after `silent_steps` of them in a row the model has stopped: what it did counts as
    submitted if it ever changed anything (the tests judge it in any case), else it gave up. A call
    that fails is answered with what was wrong; after `failed_steps` steps in a row of which no
    call succeeded, that is a tool error.
    """

    tries: int = 5  # at one request
    failed_steps: int = 5
    silent_steps: int = 2
    sleep: Callable[[float], None] = time.sleep

    @property
    def name(self) -> str:
        """What records and reports call it."""
        return "llm"

    @property
    def version(self) -> str:
        """That of agentbench."""
        return metadata.version(DISTRIBUTION)

    @property
    def needs_model(self) -> bool:
        """A run without one is refused."""
        return True

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelDoor | None
    ) -> AgentOutcome:
        """Work on the problem until the model submits, or something ends it first.

        Raises:
            LLMError: there is no model, or none that can be spoken to.
            SandboxError: the sandbox is lost.
        """
        if model is None:
            raise LLMError("the llm agent needs a model, found none: give --model provider/name")
        command = parse_pytest_command(problem.test_command)
        project = project_in(sandbox, command, env=problem.test_env, isolated=True)
        desk = Desk(sandbox=sandbox, budget=budget, project=project)
        room = context_window(model.model).room - tokens_of_tools(specs())
        with client_for(model) as client:
            memory = Memory(opening(problem, sandbox.workspace, budget), room)
            outcome = _Attempt(self, desk, model, client, memory).work()
        return replace(outcome, usage=model.facts().usage)


class _Attempt:
    def __init__(
        self, settings: LlmAgent, desk: Desk, model: ModelDoor, client: Client, memory: Memory
    ) -> None:
        self._settings, self._desk, self._model = settings, desk, model
        self._client, self._memory = client, memory
        self._budget, self._tally = desk.budget, Tally()

    def work(self) -> AgentOutcome:
        """The loop: an answer of the model, what it calls for, the next answer."""
        outcome = None
        while outcome is None:
            if self._tally.steps == self._budget.max_steps:
                return endings.out_of_steps(self._tally, self._budget)
            if not self._budget.remaining():
                return endings.out_of_time(self._tally, self._budget)
            self._tally.steps += 1
            try:
                outcome = self._carried_out(self._ask())
            except GaveUpError as error:
                return endings.unanswered(self._tally, self._budget, self._model, error)
        return outcome

    def _ask(self) -> Answer:
        """The next answer; a conversation that is too long for the model is cut down, once."""
        try:
            return self._ask_patiently()
        except GaveUpError as error:
            if error.failure.kind is not ModelErrorKind.CONTEXT_LENGTH:
                raise
        self._memory.shrink()
        return self._ask_patiently()

    def _ask_patiently(self) -> Answer:
        said, settings = self._memory.conversation, self._settings
        return asked_until_answered(
            lambda timeout: self._client.complete(said, specs(), timeout=timeout),
            self._budget,
            tries=settings.tries,
            sleep=settings.sleep,
        )

    def _carried_out(self, answer: Answer) -> AgentOutcome | None:
        """Do all that an answer calls for, in order; how the attempt ended, if it did."""
        if answer.stop is Stop.REFUSED:
            return endings.refused(self._tally, answer)
        replies: list[Reply] = []
        for call in answer.tool_calls:
            replies.append(self._use(call, replies))
            if not self._budget.remaining():
                return endings.out_of_time(self._tally, self._budget)
            if EFFECTS.get(call.name) is Effect.SUBMITS and not replies[-1].failed:
                return self._tally.outcome(AgentEnding.SUBMITTED)
        self._tally.end_step(replies)
        self._memory.add(Turn(answer=answer, replies=tuple(replies), note=note_on(answer)))
        if self._tally.silent_steps >= self._settings.silent_steps:
            return endings.fell_silent(self._tally)
        if self._tally.failed_steps >= self._settings.failed_steps:
            return endings.failed(self._tally, answer.tool_calls[-1], replies[-1])
        return None

    def _use(self, call: ToolCall, before: list[Reply]) -> Reply:
        reply = use(self._desk, call)
        if EFFECTS.get(call.name) is Effect.SUBMITS and any(earlier.failed for earlier in before):
            text = "not submitted, since a call before this one failed: look at that first"
            reply = Reply(text=text, failed=True)
        self._tally.count(call, reply)
        return reply
