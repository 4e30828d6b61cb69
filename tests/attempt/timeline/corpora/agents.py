"""Agents without a model that run the commands of a history."""

import re
from datetime import UTC, datetime, timedelta

from agentbench.agents.command import CommandAgent
from agentbench.agents.interface import Agent, AgentOutcome
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import AgentEnding
from tests.fakes.scripted_agent import Given, ScriptedAgent

_STARTED = re.compile(rb"@started (\d+)\.(\d{6})")
_PAUSE = 5  # seconds of an agent's script: more than two scans on a busy machine


def in_pauses(lines: tuple[str, ...]) -> Agent:
    """One command for all lines, which prints when each of them starts."""
    pause = f"sleep {_PAUSE}"
    return CommandAgent(
        "\n".join([pause, *(f"date '+@started %s.%N'\n{line}\n{pause}" for line in lines)])
    )


def between_commands(lines: tuple[str, ...], started: list[datetime]) -> Agent:
    """A command for each line; notes when each of them starts."""

    def work(given: Given) -> AgentOutcome:
        for line in lines:
            started.append(datetime.now(UTC))
            argv = ("sh", "-c", line)
            given.sandbox.run(Command(argv=argv, timeout=timedelta(minutes=5)))
        return AgentOutcome(ending=AgentEnding.SUBMITTED)

    return ScriptedAgent(work)


def starts_printed(log: bytes) -> list[datetime]:
    """When the commands of `in_pauses` started, by the agent's log."""
    start = datetime.fromtimestamp(0, UTC)
    return [
        start + timedelta(seconds=int(seconds), microseconds=int(micros))
        for seconds, micros in _STARTED.findall(log)
    ]
