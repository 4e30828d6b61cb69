"""The agent that runs a preset: its command, with its programs and its model endpoint."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from agentbench.agents.client_bundles import TOOLS_MOUNT, ClientBundles, MessageSink
from agentbench.agents.command import outcome_of, run_with_model
from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.agents.presets.preset import Preset, PresetApiFormat
from agentbench.core.files import FileContent
from agentbench.errors import UsageError
from agentbench.models.interface import ApiFormat, ModelEndpoint
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, ImageId, ReadOnlyMount, Sandbox, SandboxProvider
from agentbench.scoring.evidence import AgentEnding, CommandResult
from agentbench.tasks.problem import Problem

_HOME = "agent-home"
_INSTRUCTION = "instruction.md"


class PresetAgent:
    """Runs a preset's command in the workspace, with its programs and its model endpoint."""

    needs_model = True

    def __init__(
        self,
        preset: Preset,
        *,
        toolboxes: Path,
        name: str | None = None,
        say: MessageSink = lambda _line: None,
    ) -> None:
        """Create the agent."""
        self.name = name or preset.name
        self.preset = preset
        self._folder = toolboxes
        self._say = say
        self._boxes: dict[str, ClientBundles] = {}  # by the name of the back end

    @property
    def version(self) -> str:
        """The version of its client."""
        return self.preset.version

    @property
    def api_formats(self) -> frozenset[ApiFormat]:
        """The API formats of its client."""
        return frozenset(spoken.wire for spoken in self.preset.wires)

    def mounts(self, provider: SandboxProvider, image: ImageId) -> tuple[ReadOnlyMount, ...]:
        """Its programs, installed now if necessary.

        Raises:
            UnavailableError: they cannot be installed; says which command failed.
        """
        fresh = ClientBundles(self._folder, provider, say=self._say)
        boxes = self._boxes.setdefault(provider.name, fresh)
        return (boxes.ready(self.preset.recipe, image),)

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Run the command until it ends or the budget is spent."""
        if model is None:
            raise UsageError(f"--agent {self.name} needs a model: --model provider/name")
        spoken = self._preferred_format(model)
        values = {
            "tools": str(sandbox.mounted(TOOLS_MOUNT)),
            "home": str(sandbox.results / _HOME),
            "workspace": str(sandbox.workspace),
            "instruction": problem.instruction,
            "max_steps": str(budget.max_steps),
            "model": spoken.model.replace("{model}", model.model),
        }
        sandbox.write_tree(sandbox.results, self._files(problem, values))
        command = Command(
            argv=("sh", "-c", fill_placeholders(self.preset.command, _shell_quoted(values))),
            timeout=budget.remaining(),
            env=self._environment(sandbox, spoken, values),
            stdin=problem.instruction.encode(),
        )
        return self._outcome(run_with_model(command, sandbox, model), budget, model)

    def _preferred_format(self, model: ModelEndpoint) -> PresetApiFormat:
        spoken = self.preset.spoken(model.api_formats)
        if spoken is None:
            own, there = (
                ", ".join(sorted(wires)) for wires in (self.api_formats, model.api_formats)
            )
            raise UsageError(
                f"--agent {self.name} speaks {own}; {model.model} is reached by {there or 'none'}"
            )
        return spoken

    def _files(self, problem: Problem, values: Mapping[str, str]) -> bytes:
        texts = {
            PurePosixPath(_INSTRUCTION): problem.instruction,
            PurePosixPath(_HOME, ".agentbench"): "",  # creates the folder
        }
        for path, text in self.preset.files.items():
            texts[PurePosixPath(_HOME, path)] = fill_placeholders(text, values)
        return tar_of_files(
            {
                path: FileContent(content=text.encode(), executable=False)
                for path, text in texts.items()
            }
        )

    def _environment(
        self, sandbox: Sandbox, spoken: PresetApiFormat, values: Mapping[str, str]
    ) -> dict[str, str]:
        own = {**self.preset.env, **spoken.env}
        return {
            "AGENTBENCH_INSTRUCTION": f"{sandbox.results}/{_INSTRUCTION}",
            **{name: fill_placeholders(value, values) for name, value in own.items()},
        }

    def _outcome(self, result: CommandResult, budget: Budget, model: ModelEndpoint) -> AgentOutcome:
        steps = model.traffic().usage.requests
        outcome = replace(outcome_of(result, budget), steps=steps)
        ending = self.preset.ending_of(result)
        if ending is None or outcome.ending is AgentEnding.TIME_LIMIT:
            return outcome
        if ending is AgentEnding.SUBMITTED:
            return replace(outcome, ending=ending, detail="")
        detail = outcome.detail or f"{self.name} stopped by itself"
        return replace(outcome, ending=ending, detail=detail)


def _shell_quoted(values: Mapping[str, str]) -> dict[str, str]:
    return {name: shlex.quote(value) for name, value in values.items()}


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """A text with its placeholders replaced once; placeholders in the values are not replaced."""
    parts = text.split("{")
    out = [parts[0]]
    for part in parts[1:]:
        name, closed, rest = part.partition("}")
        known = closed and name in values
        out.append(values[name] + rest if known else "{" + part)
    return "".join(out)
