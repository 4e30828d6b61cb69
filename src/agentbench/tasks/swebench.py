"""The SWE-bench instance that a task was imported from.

`swebench.json` in the task's folder holds it, where no agent sees it. Reports need it: SWE-bench's
ids have capital letters, and its log parsers change the names of tests.
"""

import re
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from agentbench.core.schema import Schema, describe_validation_error
from agentbench.errors import InputError
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.problem import TaskId

_NOT_IN_IDS = re.compile(r"[^a-z0-9._-]")


def task_id_of(instance_id: str) -> TaskId:
    """The id of an instance's task: in lower case, with `-` for invalid characters."""
    return TaskId(_NOT_IN_IDS.sub("-", instance_id.lower()))


ORIGIN_FILE: Final = "swebench.json"
"""Its name in the task's folder."""


class SwebenchOrigin(Schema):
    """An instance without its patches and its problem statement."""

    schema_version: Literal[1] = 1
    instance_id: str
    repo: str
    base_commit: str | None = None
    version: str = ""
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()
    """The files of its test patch, which SWE-bench runs."""
    node_ids: dict[str, tuple[NodeId, ...]] = Field(default_factory=dict)
    """The node ids of shortened test names; an empty tuple: pytest ran no such test."""

    def ids_of(self, name: str) -> tuple[NodeId, ...]:
        """The tests that a name of fail_to_pass or pass_to_pass stands for."""
        return self.node_ids.get(name, (NodeId(name),))


def read_origin(folder: Path) -> SwebenchOrigin | None:
    """The instance that a task was imported from; None if there is none.

    Raises:
        InputError: the file cannot be read or is invalid.
    """
    path = folder / ORIGIN_FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return SwebenchOrigin.model_validate_json(content)
    except ValidationError as error:
        faults = [
            f"{path}: {describe_validation_error(each, SwebenchOrigin)}" for each in error.errors()
        ]
        raise InputError(*faults) from None


def origin_json(origin: SwebenchOrigin) -> bytes:
    """The content of its file."""
    return f"{origin.model_dump_json(indent=1)}\n".encode()


def patch_bytes(patch: str) -> bytes:
    """A patch that ends in a line feed; git takes a patch without one for truncated."""
    return (patch if patch.endswith("\n") else f"{patch}\n").encode()
