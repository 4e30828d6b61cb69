"""What a task remembers of the SWE-bench instance that it was made of.

It lies beside task.toml, where no agent ever sees it. Reports need it: SWE-bench's ids have capital
letters, and its names of tests are what its log parsers left of node ids.
"""

from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from agentbench.errors import InputError
from agentbench.schema import Schema
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.task_fault import describe_fault

FILE: Final = "swebench.json"
"""Its name in the task's folder."""


class Origin(Schema):
    """An instance, less its patches and its problem."""

    schema_version: Literal[1] = 1
    instance_id: str
    repo: str
    base_commit: str | None = None
    version: str = ""
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()
    """Those of its test patch, which SWE-bench runs."""
    node_ids: dict[str, tuple[NodeId, ...]] = Field(default_factory=dict)
    """What names mean that are no whole node ids; none: nothing that pytest ran."""

    def ids_of(self, name: str) -> tuple[NodeId, ...]:
        """The tests that a name of fail_to_pass or pass_to_pass stands for."""
        return self.node_ids.get(name, (NodeId(name),))


def read_origin(folder: Path) -> Origin | None:
    """What a task's folder tells of its instance; None where it was not made of one.

    Raises:
        InputError: it cannot be read, or tells something else.
    """
    path = folder / FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return Origin.model_validate_json(content)
    except ValidationError as error:
        faults = [f"{path}: {describe_fault(each, Origin)}" for each in error.errors()]
        raise InputError(*faults) from None


def origin_json(origin: Origin) -> bytes:
    """The content of its file."""
    return f"{origin.model_dump_json(indent=1)}\n".encode()
