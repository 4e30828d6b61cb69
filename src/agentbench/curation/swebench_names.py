"""What SWE-bench's names of tests mean that are no node ids: found out by running the tests.

The reference solution is tried once, with every test of the test patch's files. A test that failed
before it and passes after it is what a name of FAIL_TO_PASS can mean.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agentbench.curation.proving import Follow, run_through
from agentbench.errors import InputError
from agentbench.runs.options import RunOptions
from agentbench.runs.record import AttemptRecord
from agentbench.runs.store import new_run_id
from agentbench.runs.validation import FoundIds, found_ids, without_ids
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.draft import TASK_FILE
from agentbench.tasks.importers.refusal import Refusal
from agentbench.tasks.importers.swebench.names import Kind, kind_of, meant_by
from agentbench.tasks.importers.swebench.origin import FILE, Origin, origin_json, read_origin
from agentbench.tasks.load import load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task
from agentbench.tasks.write_ids import write_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The ids that an instance's names stand for."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]
    node_ids: dict[str, tuple[NodeId, ...]]
    """Of each name that is no node id."""
    lost: tuple[str, ...]
    """Names of FAIL_TO_PASS that no mended test bears."""


def name_tests(folders: Sequence[Path], options: RunOptions, follow: Follow) -> list[Refusal]:
    """Write down which tests the names in some tasks stand for; a task where none does is removed.

    Raises:
        UnavailableError: there is no sandbox to run them in.
        UsageError: an option is wrong.
    """
    mirrors = Mirrors(options.cache_dir / "mirrors")
    refused: list[Refusal] = []
    known: dict[Path, tuple[Task, Origin]] = {}
    for folder in folders:
        try:
            known[folder] = load_task(folder, mirrors=mirrors), _origin_of(folder)
        except InputError as error:
            refused.append(_given_up(folder, folder.name, "; ".join(error.faults)))
    if not known:
        return refused
    told = replace(
        options,
        agent="oracle",
        attempts=1,
        run_id=f"names-{new_run_id(datetime.now(UTC))}",
        integrity_controls=ControlLevel.OFF,
    )
    made = run_through([_open(task, origin) for task, origin in known.values()], told, follow)
    for folder, (task, origin) in known.items():
        own = made.of(task)
        located = locate(origin, found_ids(own))
        if located.lost:
            refused.append(_given_up(folder, origin.instance_id, _why_lost(located, own)))
        else:
            _write(folder, origin, located)
    return refused


def refuse_unnamed(folders: Iterable[Path]) -> list[Refusal]:
    """Remove tasks whose tests are not known, where nothing is to be run."""
    what = "lists names that are no whole node ids; what they mean shows without --no-prove"
    return [_given_up(folder, _origin_of(folder).instance_id, what) for folder in folders]


def locate(origin: Origin, found: FoundIds) -> Located:
    """What the names of an instance mean, going by what its tests did."""
    node_ids: dict[str, tuple[NodeId, ...]] = {}
    lost = []
    for name in origin.fail_to_pass:
        if kind_of(name) is not Kind.NODE_ID:
            node_ids[name] = meant_by(name, found.fail_to_pass)
            lost += [] if node_ids[name] else [name]
    for name in origin.pass_to_pass:
        if kind_of(name) is not Kind.NODE_ID:
            node_ids.setdefault(name, meant_by(name, found.pass_to_pass))
    named = origin.model_copy(update={"node_ids": node_ids})
    fixed = _every(named, origin.fail_to_pass)
    return Located(
        fail_to_pass=fixed,
        pass_to_pass=tuple(n for n in _every(named, origin.pass_to_pass) if n not in set(fixed)),
        node_ids=node_ids,
        lost=tuple(lost),
    )


def _every(origin: Origin, names: Iterable[str]) -> tuple[NodeId, ...]:
    return tuple(dict.fromkeys(node_id for name in names for node_id in origin.ids_of(name)))


def _origin_of(folder: Path) -> Origin:
    origin = read_origin(folder)
    if origin is None:
        raise InputError(f"{folder / FILE}: is missing")
    return origin


def _open(task: Task, origin: Origin) -> Task:
    """The task as it is when every test of its test patch's files counts."""
    problem = task.problem.model_copy(update={"test_paths": origin.test_files})
    return without_ids(task).model_copy(update={"problem": problem})


def _why_lost(located: Located, records: Sequence[AttemptRecord]) -> str:
    names = ", ".join(repr(name) for name in located.lost[:3])
    more = f" and {len(located.lost) - 3} more" if len(located.lost) > 3 else ""
    details = sorted({record.detail for record in records if record.detail})
    said = f" ({'; '.join(details)})" if details else ""
    return f"no test that the patch mends bears the name {names}{more}{said}"


def _write(folder: Path, origin: Origin, located: Located) -> None:
    write_ids(
        folder / TASK_FILE, fail_to_pass=located.fail_to_pass, pass_to_pass=located.pass_to_pass
    )
    named = origin.model_copy(update={"node_ids": located.node_ids})
    (folder / FILE).write_bytes(origin_json(named))


def _given_up(folder: Path, instance: str, what: str) -> Refusal:
    shutil.rmtree(folder)
    return Refusal(where=str(folder), instance=instance, field="FAIL_TO_PASS", what=what)
