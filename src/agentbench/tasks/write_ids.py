"""Filling in which tests decide in a task.toml, the rest left as it is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import tomlkit
from tomlkit.items import AbstractTable, Array

from agentbench.scoring.evidence import NodeId

_DIGITS = 3  # of a rate; a task is run some times, not thousands


def write_ids(
    task_file: Path,
    *,
    fail_to_pass: Sequence[NodeId],
    pass_to_pass: Sequence[NodeId] | None,
    quarantined: Mapping[NodeId, float] = MappingProxyType({}),
) -> None:
    """Rewrite the two lists, and add to the tests that are quarantined as flaky.

    Args:
        task_file: The task.toml.
        fail_to_pass: The tests to fix.
        pass_to_pass: The tests to keep; None: that list stays as it is.
        quarantined: By test, in what share of its runs it did not end as in most.
    """
    document = tomlkit.parse(task_file.read_bytes())  # as bytes: its line ends stay as they are
    tests = document.setdefault("tests", tomlkit.table())
    assert isinstance(tests, AbstractTable)  # the file was read as a task's
    tests["fail_to_pass"] = _array(fail_to_pass)
    if pass_to_pass is not None:
        tests["pass_to_pass"] = _array(pass_to_pass)
    if quarantined:
        tests["quarantined"] = _quarantine(tests, quarantined)
    scratch = task_file.with_suffix(".toml.new")
    scratch.write_bytes(tomlkit.dumps(document).encode())
    scratch.replace(task_file)


def _quarantine(tests: AbstractTable, rates: Mapping[NodeId, float]) -> Array:
    before = [dict(each) for each in tests.get("quarantined", ()) if each["id"] not in rates]
    array = tomlkit.array()
    for each in (*before, *({"id": n, "rate": round(r, _DIGITS)} for n, r in rates.items())):
        row = tomlkit.inline_table()
        row.update(each)
        array.append(row)
    return array.multiline(multiline=True)


def _array(ids: Sequence[NodeId]) -> Array:
    array = tomlkit.array()
    array.extend(ids)
    return array.multiline(multiline=True)
