"""What an attempt of the built-in agent came to so far."""

from dataclasses import dataclass

from agentbench.agents.interface import AgentOutcome
from agentbench.agents.llm.conversation import Reply, ToolCall
from agentbench.agents.llm.tools.tool import Effect
from agentbench.agents.llm.tools.workbench import EFFECTS
from agentbench.scoring.evidence import AgentEnding


@dataclass(slots=True)
class Tally:
    """Counts steps, calls and errors; a step is one answer of the model."""

    steps: int = 0
    tool_calls: int = 0
    test_runs: int = 0
    errors_recovered: int = 0
    changes: int = 0  # calls that changed something, or may have
    failed_steps: int = 0  # in a row, none of whose calls succeeded
    silent_steps: int = 0  # in a row, without any call
    _open_errors: int = 0  # since the last call that succeeded

    def count(self, call: ToolCall, reply: Reply) -> None:
        """Take in one call; an error counts as recovered once a later call succeeds."""
        self.tool_calls += 1
        if reply.failed:
            self._open_errors += 1
            return
        self.errors_recovered += self._open_errors
        self._open_errors = 0
        effect = EFFECTS[call.name]
        self.test_runs += effect is Effect.TESTS
        self.changes += effect is Effect.CHANGES

    def end_step(self, replies: list[Reply]) -> None:
        """Take in a whole answer, by what came back."""
        self.silent_steps = 0 if replies else self.silent_steps + 1
        if replies:
            failed = all(reply.failed for reply in replies)
            self.failed_steps = self.failed_steps + 1 if failed else 0

    def outcome(self, ending: AgentEnding, detail: str = "") -> AgentOutcome:
        """All of it, with how it ended."""
        return AgentOutcome(
            ending=ending,
            detail=detail,
            steps=self.steps,
            tool_calls=self.tool_calls,
            tool_errors_recovered=self.errors_recovered,
            test_runs=self.test_runs,
        )
