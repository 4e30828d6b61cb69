"""The arguments of a Python program for the command line's options of a run, also in errors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from agentbench.errors import AgentbenchError, InputError, UsageError
from agentbench.runs.options import RunOptions

# A flag and its value; a word of the sentence after the flag is not a value.
_FLAG = re.compile(
    r"(?<![\w-])--([a-z][a-z-]*)"
    r"(?: (?!(?:and|or|is|in|goes|needs)\b)(\S+?)(?=[:;,.)]?(?:\s|$)))?"
)
_WITH_VALUE = frozenset({"agent", "agent_command", "executor", "model", "sandbox"})
_SWITCHES = {"allow_unsandboxed": "True", "no_cache": "False", "no_probe": "False"}
_OTHER_NAMES = {
    "max_cost": "max_cost_usd", "no_cache": "use_cache", "no_probe": "probe",
    "run_tag": "tags", "shuffle": "shuffle_seed",
}  # fmt: skip


def argument_of(option: str) -> str:
    """The field of `RunOptions` for an option, whose words are joined by underscores."""
    return _OTHER_NAMES.get(option, option)


def with_arguments(message: str) -> str:
    """A message of the command line with Python's arguments instead of a run's flags.

    >>> with_arguments("--agent llm needs --model, as in --model openai/NAME")
    "agent='llm' needs model, as in model='openai/NAME'"
    """

    def argument(found: re.Match[str]) -> str:
        flag, value = found[1], found[2]
        rest = "" if value is None else f" {value}"
        option = flag.replace("-", "_")
        name = argument_of(option)
        if option in _SWITCHES:
            return f"{name}={_SWITCHES[option]}{rest}"
        # A flag of another program or command, which stays as it is.
        if name not in RunOptions.model_fields:
            return found[0]
        if value is not None and name in _WITH_VALUE:
            return f"{name}={value}" if value.startswith("'") else f"{name}={value!r}"
        return f"{name}{rest}"

    return _FLAG.sub(argument, message)


def check_types(*, options: object, sandbox: object) -> None:
    """Refuse arguments of other types, which would fail later, or in words of Python.

    Raises:
        UsageError: one is neither None nor options of a run, or not a sandbox.
    """
    if options is not None and not isinstance(options, RunOptions):
        raise UsageError(f"options: expected RunOptions(…), found {options!r}")
    if not isinstance(sandbox, str) and not hasattr(sandbox, "promises"):
        names = "auto, docker, bubblewrap, process or a provider"
        raise UsageError(f"sandbox: expected {names}, found {sandbox!r}")


@contextmanager
def naming_arguments() -> Iterator[None]:
    """Name arguments instead of flags in the errors of a block.

    Raises:
        AgentbenchError: the error of the block.
    """
    try:
        yield
    except AgentbenchError as error:
        error.args = tuple(
            with_arguments(each) if isinstance(each, str) else each for each in error.args
        )
        if isinstance(error, InputError):
            error.faults = tuple(map(with_arguments, error.faults))
        raise
