"""Presets: how a client is installed, started and connected, and the agent that runs it."""

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError, model_validator

from agentbench.agents import client_bundles
from agentbench.agents.command import outcome_of, run_with_model
from agentbench.agents.interface import AgentOutcome, Budget
from agentbench.agents.mcp_configuration import McpForm, with_servers
from agentbench.core.files import FileContent, describe_read_error, read_regular_file
from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import InputError, UsageError
from agentbench.models.interface import ApiFormat, ModelEndpoint
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, ImageId, ReadOnlyMount, Sandbox, SandboxProvider
from agentbench.scoring.evidence import AgentEnding, CommandResult
from agentbench.tasks.problem import Problem

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_TAIL_LINES = 12  # of each stream, which say why a client stopped

PresetName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
PRESET_SUFFIX = ".toml"
_HOME = "agent-home"
_INSTRUCTION = "instruction.md"


def _renamed(given: object, names: Mapping[str, str]) -> object:
    """A table of a preset of a former release, with the names that keys and placeholders have now.

    Args:
        given: The table as it was read; anything else stays for pydantic to refuse.
        names: The names of today, by the former ones.
    """
    if not isinstance(given, dict):
        return given
    table = {names.get(name, name): value for name, value in given.items()}
    if isinstance(env := table.get("env"), dict):
        table["env"] = {
            name: text.replace("{agentbench-door}", "{agentbench-endpoint}")
            if isinstance(text, str)
            else text
            for name, text in env.items()
        }
    return table


class PresetApiFormat(Schema):
    """An API format that the client supports, with its settings."""

    api_format: ApiFormat
    model: str = "{model}"  # the model's name in the client's form
    env: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _with_new_names(cls, given: object) -> object:
        return _renamed(given, {"wire": "api_format"})


class StopRule(Schema):
    """A kind of ending, recognised by the exit code or the last lines."""

    ending: Literal[
        AgentEnding.SUBMITTED,
        AgentEnding.STEP_LIMIT,
        AgentEnding.COST_LIMIT,
        AgentEnding.TIME_LIMIT,
        AgentEnding.LLM_ERROR,
        AgentEnding.TOOL_ERROR,
    ]
    exit_code: int | None = None  # None: any
    says: str | None = None  # in one of its last lines

    @model_validator(mode="after")
    def _tells_something(self) -> "StopRule":
        if self.exit_code is None and self.says is None:
            raise ValueError("needs exit_code, says or both")
        return self

    def fits(self, result: CommandResult) -> bool:
        """Whether a command ended in this way."""
        if self.exit_code is not None and result.exit_code != self.exit_code:
            return False
        if self.says is None:
            return True
        streams = (result.stdout, result.stderr)
        return any(
            self.says in line
            for text in streams
            for line in text.strip().splitlines()[-_TAIL_LINES:]
        )


class ScriptedReply(Schema):
    """An answer of the scripted model in `agentbench agents test`: a tool call or a text.

    `{workspace}` is replaced by the folder of the test project.
    """

    tool: str | None = None
    arguments: dict[str, str | bool | int] = Field(default_factory=dict)
    say: str | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "ScriptedReply":
        if (self.tool is None) == (self.say is None):
            raise ValueError("needs tool or say, and not both")
        return self


class McpTable(Schema):
    """`[mcp]`: where the client has the settings of MCP servers."""

    file: str  # in `{home}`; it may also be one of `files`
    form: McpForm


class Preset(Schema):
    """The description of a client.

    `command`, the values of `env` and `files` may contain these placeholders, which are replaced
    when an attempt begins and quoted for the shell in the command:
    `{tools}`, the folder of its programs; `{home}`, a writable folder of its own; `{model}`;
    `{instruction}`; `{max_steps}`; `{workspace}`; in `env` also `{agentbench-endpoint}`, the
    address that leads to the model.
    """

    name: PresetName
    about: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    homepage: str
    version: str  # the version that this preset was tested with
    # The preferred one comes first.
    api_formats: Annotated[tuple[PresetApiFormat, ...], Field(min_length=1)]
    install: client_bundles.InstallTable
    command: str  # for `sh -c`; the instruction is on stdin and in $AGENTBENCH_INSTRUCTION
    version_command: str
    env: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)  # by their path in `{home}`
    mcp: McpTable | None = None  # None: tasks with MCP servers are refused
    skills: str | None = None
    """The folder in `{home}` with the client's skills; None: it has none."""
    stops: tuple[StopRule, ...] = ()  # the first match counts
    dry_run: Annotated[tuple[ScriptedReply, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _with_new_names(cls, given: object) -> object:
        return _renamed(given, {"wires": "api_formats", "rehearsal": "dry_run"})

    def spoken(self, offered: Sequence[ApiFormat]) -> PresetApiFormat | None:
        """The model's main API format if the client supports it, else the client's own first."""
        # Other formats of a provider lack features: Anthropic's chat completions do not cache.
        able = [spoken for spoken in self.api_formats if spoken.api_format in offered]
        return min(able, key=lambda spoken: spoken.api_format is not offered[0], default=None)

    def ending_of(self, result: CommandResult) -> AgentEnding | None:
        """The recognised ending; None if only success and failure are known."""
        return next((stop.ending for stop in self.stops if stop.fits(result)), None)


@cache
def shipped_presets() -> tuple[Preset, ...]:
    """The presets that agentbench ships, by name."""
    folder = files("agentbench.agents").joinpath("presets")
    found = sorted(each.name for each in folder.iterdir() if each.name.endswith(PRESET_SUFFIX))
    return tuple(parse_preset((folder / name).read_text("utf-8"), name) for name in found)


def mcp_refusal(agent: str, problem: Problem) -> UsageError:
    """The error for a task with MCP servers and an agent without a client for them."""
    *others, last = (preset.name for preset in shipped_presets() if preset.mcp is not None)
    return UsageError(
        f"--agent {agent} does not support MCP servers, which the task {problem.id} has: "
        f"take {', '.join(others)} or {last}"
    )


def find_preset(name: str) -> Preset | None:
    """The preset with a name, or in a `.toml` file.

    Raises:
        InputError: the file cannot be read or is not a preset; names every fault.
    """
    if name.endswith(PRESET_SUFFIX):
        path = Path(name)
        try:
            text = read_regular_file(path).decode()
        except (OSError, UnicodeDecodeError) as error:
            why = describe_read_error(error)
            raise InputError(f"{path}: a preset that cannot be read: {why}") from error
        return parse_preset(text, str(path))
    return next((preset for preset in shipped_presets() if preset.name == name), None)


def parse_preset(text: str, where: str) -> Preset:
    """Parse the text of a preset's file.

    Raises:
        InputError: it is not a preset; names every fault.
    """
    try:
        return Preset.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: expected TOML: {error}") from error
    except ValidationError as error:
        faults = [f"{where}: {describe_validation_error(each, Preset)}" for each in error.errors()]
        raise InputError(*faults) from error


class PresetAgent:
    """Runs a preset's command in the workspace, with its programs and its model endpoint."""

    needs_model = True

    def __init__(
        self,
        preset: Preset,
        *,
        toolboxes: Path,
        name: str | None = None,
        say: client_bundles.MessageSink = lambda _line: None,
    ) -> None:
        self.name = name or preset.name
        self.preset = preset
        self._folder = toolboxes
        self._say = say
        self._boxes: dict[str, client_bundles.ClientBundles] = {}  # by the name of the back end

    @property
    def version(self) -> str:
        return self.preset.version

    @property
    def api_formats(self) -> frozenset[ApiFormat]:
        return frozenset(spoken.api_format for spoken in self.preset.api_formats)

    def mounts(self, provider: SandboxProvider, image: ImageId) -> tuple[ReadOnlyMount, ...]:
        """Its programs, installed now if necessary.

        Raises:
            UnavailableError: they cannot be installed; says which command failed.
            SandboxError: the sandbox to install them in is lost.
        """
        fresh = client_bundles.ClientBundles(self._folder, provider, say=self._say)
        boxes = self._boxes.setdefault(provider.name, fresh)
        return (boxes.ready(self.preset.name, self.preset.install, image),)

    def solve(
        self, problem: Problem, sandbox: Sandbox, budget: Budget, model: ModelEndpoint | None
    ) -> AgentOutcome:
        """Run the command until it ends or the budget is spent.

        Raises:
            UsageError: there is no model, or no common API format.
            SandboxError: the sandbox is lost.
        """
        if model is None:
            raise UsageError(f"--agent {self.name} needs a model: --model provider/name")
        spoken = self.preset.spoken(model.api_formats)
        if spoken is None:
            own, offered = ", ".join(sorted(self.api_formats)), ", ".join(sorted(model.api_formats))
            raise UsageError(
                f"--agent {self.name} supports {own}; {model.model} offers {offered or 'none'}"
            )
        env = {**self.preset.env, **spoken.env}
        values = {
            "tools": str(sandbox.mounted(client_bundles.TOOLS_MOUNT)),
            "home": str(sandbox.results / _HOME),
            "workspace": str(sandbox.workspace),
            "instruction": problem.instruction,
            "max_steps": str(budget.max_steps),
            "model": spoken.model.replace("{model}", model.model),
        }
        sandbox.write_tree(sandbox.results, self._files(problem, values))
        if problem.skills is not None and self.preset.skills is not None:
            copy_skills(problem.skills, f"{values['home']}/{self.preset.skills}", sandbox, budget)
        quoted = {name: shlex.quote(value) for name, value in values.items()}
        command = Command(
            argv=("sh", "-c", fill_placeholders(self.preset.command, quoted)),
            timeout=budget.remaining(),
            env={
                "AGENTBENCH_INSTRUCTION": f"{sandbox.results}/{_INSTRUCTION}",
                **{name: fill_placeholders(value, values) for name, value in env.items()},
            },
            stdin=problem.instruction.encode(),
        )
        result = run_with_model(command, sandbox, model)
        outcome = replace(outcome_of(result, budget), steps=model.traffic().usage.requests)
        ending = self.preset.ending_of(result)
        if ending is None or outcome.ending is AgentEnding.TIME_LIMIT:
            return outcome
        detail = outcome.detail or f"{self.name} stopped by itself"
        is_submitted = ending is AgentEnding.SUBMITTED
        return replace(outcome, ending=ending, detail="" if is_submitted else detail)

    def _files(self, problem: Problem, values: Mapping[str, str]) -> bytes:
        texts = {
            PurePosixPath(_INSTRUCTION): problem.instruction,
            PurePosixPath(_HOME, ".agentbench"): "",  # creates the folder
        }
        for path, text in self.preset.files.items():
            texts[PurePosixPath(_HOME, path)] = fill_placeholders(text, values)
        if problem.mcp_servers:
            if self.preset.mcp is None:
                raise mcp_refusal(self.name, problem)
            file = PurePosixPath(_HOME, self.preset.mcp.file)
            settings = texts.get(file, "")
            texts[file] = with_servers(settings, self.preset.mcp.form, problem.mcp_servers)
        content = (FileContent(content=text.encode(), executable=False) for text in texts.values())
        return tar_of_files(dict(zip(texts, content, strict=True)))


def copy_skills(source: str, target: str, sandbox: Sandbox, budget: Budget) -> None:
    """Copy a task's skills to where a client looks for its own; a missing folder is none.

    Raises:
        SandboxError: the sandbox is lost.
    """
    script = 'mkdir -p "$2" && if [ -d "$1" ]; then cp -RL "$1/." "$2/"; fi'
    argv = ("sh", "-c", script, "sh", source, target)
    sandbox.run(Command(argv=argv, timeout=budget.remaining()))


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """A text with its placeholders replaced once; placeholders in the values are not replaced."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)
