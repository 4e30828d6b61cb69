"""Terminal-Bench's `task.yaml`: its keys, and those that mean something here.

Facts from the models of the `terminal-bench` package (PyPI, 0.2.18).
"""

from typing import Annotated

import yaml
from pydantic import ConfigDict, Field, ValidationError

from agentbench.schema import Schema
from agentbench.tasks.importers.refusal import Refusal
from agentbench.tasks.task_fault import describe_fault

_LONGEST = 7 * 24 * 3600
Seconds = Annotated[float, Field(gt=0, le=_LONGEST, allow_inf_nan=False)]


class TerminalForm(Schema):
    """The whole file; keys that say something of the task and nothing of its run are kept apart."""

    model_config = ConfigDict(extra="allow")

    instruction: Annotated[str, Field(min_length=1)]
    difficulty: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    parser_name: str = "pytest"
    max_agent_timeout_sec: Seconds = 360.0
    max_test_timeout_sec: Seconds = 60.0
    run_tests_in_same_shell: bool = False


class SolutionStep(Schema):
    """One line of keystrokes of a solution.yaml."""

    command: str
    min_timeout_sec: float = 0.0
    max_timeout_sec: float = 180.0
    block: bool = False
    append_enter: bool = True


def parsed_yaml(text: str, where: str) -> object | Refusal:
    """What a YAML file holds; no tag of it makes anything but plain values."""
    try:
        found: object = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Refusal(where=where, what=f"not valid YAML: {' '.join(str(error).split())[:200]}")
    return found


def parse_form(text: str, *, where: str) -> TerminalForm | list[Refusal]:
    """Parse the text of a task.yaml; all its faults where it is none of Terminal-Bench's."""
    found = parsed_yaml(text, where)
    if isinstance(found, Refusal):
        return [found]
    if not isinstance(found, dict):
        return [Refusal(where=where, what="expected keys and values, found something else")]
    try:
        return TerminalForm.model_validate(found)
    except ValidationError as error:
        said = [describe_fault(each, TerminalForm).partition(": ") for each in error.errors()]
        return [Refusal(where=where, field=field, what=what) for field, _, what in said]
