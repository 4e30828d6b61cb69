"""Filling in `fail_to_pass` and `pass_to_pass` of a task.toml, the rest left as it is."""

from collections.abc import Sequence
from pathlib import Path

import tomlkit
from tomlkit.items import Array

from agentbench.scoring.evidence import NodeId


def write_ids(
    task_file: Path, *, fail_to_pass: Sequence[NodeId], pass_to_pass: Sequence[NodeId] | None
) -> None:
    """Rewrite the two lists; `None` leaves `pass_to_pass` as it is."""
    document = tomlkit.parse(task_file.read_bytes())  # as bytes: its line ends stay as they are
    tests = document.setdefault("tests", tomlkit.table())
    tests["fail_to_pass"] = _array(fail_to_pass)
    if pass_to_pass is not None:
        tests["pass_to_pass"] = _array(pass_to_pass)
    scratch = task_file.with_suffix(".toml.new")
    scratch.write_bytes(tomlkit.dumps(document).encode())
    scratch.replace(task_file)


def _array(ids: Sequence[NodeId]) -> Array:
    array = tomlkit.array()
    array.extend(ids)
    return array.multiline(multiline=True)
