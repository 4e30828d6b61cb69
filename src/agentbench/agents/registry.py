"""Creates the agent for a value of `--agent`."""

import importlib
import inspect
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import cast

from agentbench.agents.built_in import AGENT_ENTRY_POINTS, BUILT_IN_AGENTS
from agentbench.agents.interface import Agent, AgentOutcome, AgentSandbox, Budget
from agentbench.agents.reference import NoopAgent, OracleAgent
from agentbench.core.extensions import Slot, offers
from agentbench.errors import UsageError
from agentbench.models.interface import ModelEndpoint
from agentbench.tasks.problem import Problem, TaskId
from agentbench.tasks.scripts import ScriptedSolution

_PREDICTIONS_PREFIX = "predictions:"
# Exceptions that a user's module may raise; others are shown with their traceback.
_IMPORT_FAILURES = (
    ArithmeticError,
    AssertionError,
    SystemExit,  # a script without `if __name__ == "__main__"` would end the program silently
    ImportError,
    SyntaxError,
    NameError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    OSError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionName:
    """A file of predictions, and the requested model if it has several."""

    file: Path
    model: str | None = None

    @classmethod
    def parse(cls, text: str) -> "PredictionName | None":
        """Parse an agent's name; None: another agent."""
        rest = text.removeprefix(_PREDICTIONS_PREFIX)
        if rest == text:
            return None
        file, mark, model = rest.partition("#")
        if not mark or Path(rest).exists():
            return cls(file=Path(rest))
        return cls(file=Path(file), model=model)

    def __str__(self) -> str:
        """The name with an absolute path, so that `resume` finds the file from any folder."""
        whole = f"{_PREDICTIONS_PREFIX}{self.file.resolve()}"
        return whole if self.model is None else f"{whole}#{self.model}"


SolveFunction = Callable[[Problem, AgentSandbox, Budget, ModelEndpoint | None], AgentOutcome]
_AsyncSolveFunction = Callable[
    [Problem, AgentSandbox, Budget, ModelEndpoint | None], Coroutine[object, object, AgentOutcome]
]
AgentLike = Agent | type[Agent] | SolveFunction | _AsyncSolveFunction
"""An object that a Python program may pass as an agent."""


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """An agent that is a function `(problem, sandbox, budget, model) -> AgentOutcome`."""

    name: str
    solve: SolveFunction


def create_agent(  # noqa: PLR0913 - the options that an agent may need
    name: str,
    *,
    patches: Mapping[TaskId, bytes],
    scripts: Mapping[TaskId, ScriptedSolution] = MappingProxyType({}),
    command: str | None = None,
    files: Sequence[Path] = (),
    toolboxes: Path | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Agent:
    """The agent with a name: built in, a preset, an entry point, or `package.module:attribute`.

    `predictions:FILE#MODEL` submits a model's predictions.

    Args:
        name: The value of `--agent`; for a user's own preset, the path of its `.toml` file.
        patches: The reference solutions, for the oracle.
        scripts: The reference solutions that are scripts.
        command: The value of `--agent-command`.
        files: The values of `--agent-files`.
        toolboxes: The folder of client bundles.
        say: Is called with a line when programs are installed.

    Raises:
        UsageError: there is no such agent, or it cannot be imported.
        InputError: the file of the preset or of the predictions is invalid.
        ValueError: it is a preset, and `toolboxes` is not given.
    """
    if command is not None and name != "command":
        raise UsageError(f"--agent-command goes with --agent command, found --agent {name}")
    if files and name != "command":
        raise UsageError(f"--agent-files goes with --agent-command, found --agent {name}")
    if (built_in := _built_in(name, patches, scripts, command, files)) is not None:
        return built_in
    if (predicted := PredictionName.parse(name)) is not None:
        from agentbench.agents.predictions import PredictionsAgent, read_predictions

        predictions = read_predictions(predicted.file, model=predicted.model)
        return PredictionsAgent(predictions, name=str(predicted))
    from agentbench.agents.preset import PresetAgent, find_preset  # not needed for built-in agents

    if (preset := find_preset(name)) is not None:
        if toolboxes is None:
            raise ValueError("toolboxes: a preset needs a folder to keep its programs in")
        return PresetAgent(preset, name=name, toolboxes=toolboxes, say=say)
    from importlib.metadata import entry_points

    for point in entry_points(group=AGENT_ENTRY_POINTS, name=name):
        with _import_errors(point.name, f"cannot load {point.value}"):
            value = point.load()
        return _as_agent(point.name, value)
    if ":" in name:
        return _as_agent(name, _import_attribute(name))
    known = ", ".join(available_agents())
    shown = name if name.split() == [name] else repr(name)
    raise UsageError(
        f"--agent {shown}: no such agent; known: {known}, package.module:attribute, "
        "or a preset.toml"
    )


def as_agent(value: AgentLike) -> Agent:
    """Convert an object of a Python program to an agent, as `--agent module:attribute` does.

    An object with a name and `solve` already is one. A class is called, and a function becomes the
    agent's `solve`; both are named by their import path, so that `resume` finds them again.

    Raises:
        UsageError: it is not an agent, or the class cannot be called.
    """
    is_class = inspect.isclass(value)
    has_name = isinstance(getattr(value, "name", None), str)
    if not is_class and has_name and callable(getattr(value, "solve", None)):
        return cast("Agent", value)
    named: object = value if is_class or inspect.isroutine(value) else type(value)
    path = f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"
    return _as_agent(path, value)


def available_agents() -> Mapping[str, str]:
    """All available agents, with a line about each."""
    from importlib.metadata import entry_points

    from agentbench.agents.preset import shipped_presets

    own = {point.name: f"from {point.value}" for point in entry_points(group=AGENT_ENTRY_POINTS)}
    presets = {preset.name: preset.about for preset in shipped_presets()}
    return {**BUILT_IN_AGENTS, **presets, **own}


def _built_in(
    name: str,
    patches: Mapping[TaskId, bytes],
    scripts: Mapping[TaskId, ScriptedSolution],
    command: str | None,
    files: Sequence[Path],
) -> Agent | None:
    match name:
        case "oracle":
            return OracleAgent(patches, scripts)
        case "noop":
            return NoopAgent()
        case "command":
            if command is None or not command.strip():
                raise UsageError("--agent command needs --agent-command '…'")
            from agentbench.agents.command import CommandAgent

            return CommandAgent(command, files)
        case _:
            offer = offers(Slot.AGENT).get(name)
            return None if offer is None else cast("Agent", offer.load())


def _import_attribute(path: str) -> object:
    module_name, _, attribute = path.partition(":")
    # A file `agent.py` could be a module `py` of a package `agent`, but hardly ever is.
    is_file = module_name.endswith(".py")
    if is_file or "/" in module_name or not all(module_name.split(".")):
        own = Path(module_name).stem if is_file else "my_agent"
        raise UsageError(
            f"--agent {path}: expected package.module:attribute, but {module_name!r} is not a "
            f"module name; for a file {own}.py in this folder, write {own}:{attribute}"
        )
    current_folder = str(Path.cwd())
    if current_folder not in sys.path:
        sys.path.insert(0, current_folder)  # like `python -m`: a user's agent is often a local file
    with _import_errors(path, f"cannot import {module_name!r}"):
        try:
            value: object = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
                raise
            raise UsageError(
                f"--agent {path}: there is no module {error.name!r} in this folder or among the "
                "installed packages"
            ) from error
    for part in attribute.split("."):
        value = getattr(value, part, None)
    if value is None:
        raise UsageError(f"--agent {path}: {module_name} has no attribute {attribute!r}")
    return value


def _as_agent(name: str, value: object) -> Agent:
    if inspect.isclass(value):
        with _import_errors(name, f"{value.__name__}() cannot be created"):
            value = value()
    solve = getattr(value, "solve", value)
    if not callable(solve):
        raise UsageError(
            f"--agent {name}: expected an object with solve(problem, sandbox, budget, model), a "
            f"class of these objects, or a function like solve; found {type(value).__name__}"
        )
    try:
        inspect.signature(solve).bind(*range(4))
    except ValueError:  # written in C without a signature
        pass
    except TypeError:
        raise UsageError(
            f"--agent {name}: expected a function of (problem, sandbox, budget, model), found "
            f"({', '.join(inspect.signature(solve).parameters)})"
        ) from None
    return FunctionAgent(name, solve)


@contextmanager
def _import_errors(name: str, what: str) -> Iterator[None]:
    """Report an exception of a user's module as an error about `--agent`."""
    try:
        yield
    except _IMPORT_FAILURES as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"--agent {name}: {what}: {line}") from error
