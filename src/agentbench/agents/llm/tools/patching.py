"""The tool that applies a patch, with git."""

import re
from collections.abc import Iterator
from datetime import timedelta

from pydantic import Field

from agentbench.agents.llm.conversation import Reply
from agentbench.agents.llm.tools.safe_text import visible
from agentbench.agents.llm.tools.tool import Desk, Effect, Text, Tool
from agentbench.pytest_results.budget import cut_middle
from agentbench.pytest_results.tool_calls.arguments import Arguments
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import CommandResult

_WITHIN = timedelta(seconds=60)
_TOLD = 4_000  # characters of what git says
_PREFIXED = re.compile(r"^(?:diff --git|---|\+\+\+) [\"]?[ab]/", re.MULTILINE)


class PatchArguments(Arguments):
    """What `apply_patch` takes."""

    patch: Text = Field(
        min_length=1, description="A unified diff, as `git diff` writes it, of one or more files."
    )


def _apply_patch(desk: Desk, arguments: PatchArguments) -> Reply:
    """Apply it wholly or not at all; counts in hunks may be wrong, lines may not."""
    text = arguments.patch if arguments.patch.endswith("\n") else f"{arguments.patch}\n"
    tried: list[CommandResult] = []
    for options in _ways(text):
        tried.append(_git_apply(desk, text, options))
        if tried[-1].ok:
            return Reply(text=f"applied; lines added and removed: {_listed(tried[-1])}")
    # Of the second way only what the first could not read: it takes other lines for the hunks'.
    telling = tried[-1] if "corrupt patch" in tried[0].stderr else tried[0]
    said = telling.stderr.strip() or f"git apply ended in {telling.ending}"
    return Reply(text=f"nothing was changed: {cut_middle(visible(said), _TOLD)}", failed=True)


def _ways(patch: str) -> Iterator[tuple[str, ...]]:
    strip = () if _PREFIXED.search(patch) else ("-p0",)
    yield strip
    yield (*strip, "--recount")


def _git_apply(desk: Desk, patch: str, options: tuple[str, ...]) -> CommandResult:
    argv = ("git", "apply", "--whitespace=nowarn", "--apply", "--numstat", *options, "-")
    return desk.sandbox.run(Command(argv=argv, timeout=_WITHIN, stdin=patch.encode()))


def _listed(result: CommandResult) -> str:
    rows = [line.split("\t", 2) for line in visible(result.stdout).splitlines()]
    return ", ".join(f"{row[-1]} +{row[0]} -{row[1]}" for row in rows[:20] if len(row) > 2)


APPLY_PATCH = Tool(
    name="apply_patch",
    description="Apply a unified diff to the workspace; wholly, or not at all.",
    arguments=PatchArguments,
    act=_apply_patch,
    effect=Effect.CHANGES,
)
