"""Resolves SWE-bench's test names that are not node ids, by running the tests.

The reference solution is run once, with all tests in the test patch's files. A name in FAIL_TO_PASS
can stand for a test that failed before and passes after it.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agentbench.core.choices import ControlLevel
from agentbench.core.display_text import list_with_more
from agentbench.errors import InputError
from agentbench.importers.swebench.instance import NameKind, matching_node_ids, name_kind
from agentbench.runs.options import RunOptions
from agentbench.runs.store.store import new_run_id
from agentbench.scoring.evidence import NodeId
from agentbench.tasks import dataset_rows
from agentbench.tasks.dataset_rows import ORIGIN_FILE, Rejection, SwebenchOrigin
from agentbench.tasks.loading import TASK_FILE, load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task
from agentbench.tasks.writing import write_test_lists
from agentbench.validation import task_proof


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedTests:
    """The node ids of an instance's test names."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]
    node_ids: dict[str, tuple[NodeId, ...]]  # for each name that is not a node id
    lost: tuple[str, ...]  # names in FAIL_TO_PASS that match no fixed test


def write_located_tests(
    folders: Sequence[Path], options: RunOptions, follow: task_proof.FollowRun
) -> list[Rejection]:
    """Record the node ids of test names in some tasks; tasks without any are removed.

    Raises:
        UnavailableError: no sandbox is available.
        UsageError: an option is wrong.
    """
    mirrors = Mirrors(options.cache_dir / "mirrors")
    refused: list[Rejection] = []
    known: dict[Path, tuple[Task, SwebenchOrigin]] = {}
    for folder in folders:
        try:
            known[folder] = load_task(folder, mirrors=mirrors), _origin_of(folder)
        except InputError as error:
            refused.append(_remove_and_refuse(folder, folder.name, "; ".join(error.faults)))
    if not known:
        return refused
    told = options.replace(
        agent="oracle",
        attempts=1,
        run_id=f"names-{new_run_id(datetime.now(UTC))}",
        integrity_controls=ControlLevel.OFF,
    )
    # All tests in the files of the test patch decide.
    tasks = [
        task_proof.with_problem(task_proof.without_ids(task), test_paths=origin.test_files)
        for task, origin in known.values()
    ]
    made = task_proof.run_to_end(tasks, told, follow)
    for folder, (task, origin) in known.items():
        own = made.of(task)
        located = locate_tests(origin, task_proof.deciding_tests(own))
        if located.lost:
            names = list_with_more([repr(name) for name in located.lost], 3)
            why = f"no test that the patch mends bears the name {names}"
            why += task_proof.details_of(own)
            refused.append(_remove_and_refuse(folder, origin.instance_id, why))
        else:
            fixed, kept = located.fail_to_pass, located.pass_to_pass
            write_test_lists(folder / TASK_FILE, fail_to_pass=fixed, pass_to_pass=kept)
            named = origin.model_copy(update={"node_ids": located.node_ids})
            (folder / ORIGIN_FILE).write_bytes(dataset_rows.origin_json(named))
    return refused


def refuse_unlocated(folders: Iterable[Path]) -> list[Rejection]:
    """Remove tasks with unresolved test names if nothing may be run."""
    what = "lists names that are no whole node ids; what they mean shows without --no-prove"
    return [_remove_and_refuse(folder, _origin_of(folder).instance_id, what) for folder in folders]


def locate_tests(origin: SwebenchOrigin, found: task_proof.DecidingTests) -> LocatedTests:
    """The node ids of an instance's test names, by the outcomes of its tests."""
    node_ids: dict[str, tuple[NodeId, ...]] = {}
    lost = []
    for name in origin.fail_to_pass:
        if name_kind(name) is not NameKind.NODE_ID:
            node_ids[name] = matching_node_ids(name, found.fail_to_pass)
            lost += [] if node_ids[name] else [name]
    for name in origin.pass_to_pass:
        if name_kind(name) is not NameKind.NODE_ID:
            node_ids.setdefault(name, matching_node_ids(name, found.pass_to_pass))
    named = origin.model_copy(update={"node_ids": node_ids})
    fixed = _all_ids(named, origin.fail_to_pass)
    return LocatedTests(
        fail_to_pass=fixed,
        pass_to_pass=tuple(n for n in _all_ids(named, origin.pass_to_pass) if n not in set(fixed)),
        node_ids=node_ids,
        lost=tuple(lost),
    )


def _all_ids(origin: SwebenchOrigin, names: Iterable[str]) -> tuple[NodeId, ...]:
    return tuple(dict.fromkeys(node_id for name in names for node_id in origin.ids_of(name)))


def _origin_of(folder: Path) -> SwebenchOrigin:
    origin = dataset_rows.read_origin(folder)
    if origin is None:
        raise InputError(f"{folder / ORIGIN_FILE}: is missing")
    return origin


def _remove_and_refuse(folder: Path, instance: str, what: str) -> Rejection:
    shutil.rmtree(folder)
    return Rejection(where=str(folder), instance=instance, field="FAIL_TO_PASS", what=what)
