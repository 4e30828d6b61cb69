"""Adapts the test lists of SWE-bench's instances to the outcomes in our environment.

The reference solution is run once, with all tests in the test patch's files. That run resolves
names that are not node ids: a name in FAIL_TO_PASS can mean a test that failed before and passes
after it. It also shows where the data set's lists are not valid here, mostly because a test needs
another host or another library.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, field

from agentbench.attempt.record import AttemptRecord
from agentbench.core.choices import ControlLevel
from agentbench.core.display_text import list_with_more
from agentbench.errors import InputError
from agentbench.importers.swebench.instance import NameKind, matching_node_ids, name_kind
from agentbench.importers.swebench.named_functions import UnclearNameError, ids_of_functions
from agentbench.runs.options import RunOptions
from agentbench.runs.store.store import new_run_id
from agentbench.scoring.evidence import CaseFact, CaseOutcome, NodeId
from agentbench.scoring.expectation import FAILING_OUTCOMES
from agentbench.scoring.taxonomy import Fault
from agentbench.tasks import dataset_rows
from agentbench.tasks.dataset_rows import ORIGIN_FILE, Rejection, SwebenchOrigin
from agentbench.tasks.loading import TASK_FILE, load_task
from agentbench.tasks.mirror import Mirrors
from agentbench.tasks.task import Task
from agentbench.tasks.writing import write_test_lists
from agentbench.validation import task_proof

_MAX_NAMES = 3  # tests that a line names


class LocatedTests(Struct, frozen=True, kw_only=True):
    """The node ids of an instance's test names."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]
    node_ids: dict[str, tuple[NodeId, ...]]
    """The ids of each name that is not a node id; empty for a name that does not count."""
    unmatched: tuple[str, ...] = ()  # names in FAIL_TO_PASS that match no fixed test
    failing: tuple[str, ...] = ()  # names in PASS_TO_PASS that fail with the reference solution
    passing: tuple[str, ...] = ()  # names in FAIL_TO_PASS that pass before it


class LocatingResult(Struct, frozen=True, kw_only=True):
    """The refused tasks, and how the lists of the others differ from the data set's."""

    rejections: tuple[Rejection, ...] = ()
    differences: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    """For each other task a line for each list that differs from the data set's."""
    undecided: Mapping[Path, str] = field(default_factory=dict)
    """Tasks whose tests could not be run because of the infrastructure, and why."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines about all tasks."""
        return tuple(line for lines in self.differences.values() for line in lines)


def write_located_tests(
    folders: Sequence[Path], options: RunOptions, follow: task_proof.FollowRun
) -> LocatingResult:
    """Write the test lists that are valid here into some tasks.

    A task with a cut name that matches no fixed test is removed. A task keeps its lists if the
    reference solution does not fix all tests of FAIL_TO_PASS; its validation says why it is
    invalid.

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
        return LocatingResult(rejections=tuple(refused))
    run_options = options.replace(
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
    finished = task_proof.run_to_end(tasks, run_options, follow)
    differences: dict[Path, tuple[str, ...]] = {}
    undecided: dict[Path, str] = {}
    for folder, (task, origin) in known.items():
        records = finished.of(task)
        if any(record.fault is Fault.INFRASTRUCTURE for record in records):
            undecided[folder] = task_proof.details_of(records).strip(" ()")
            continue
        fitted = _write_lists(folder, origin, records)
        if isinstance(fitted, Rejection):
            refused.append(fitted)
        else:
            differences[folder] = fitted
    return LocatingResult(rejections=tuple(refused), differences=differences, undecided=undecided)


def _write_lists(
    folder: Path, origin: SwebenchOrigin, records: Sequence[AttemptRecord]
) -> tuple[str, ...] | Rejection:
    """Write the lists of one task; returns how they differ, or why the task was removed."""
    found, by_id = task_proof.deciding_tests(records), task_proof.named_tests(records)
    located = (
        locate_named_tests(origin, found, by_id)
        if by_id
        else locate_tests(origin, found, task_proof.final_outcomes(records))
    )
    if located is None:
        return ()
    if located.unmatched:
        names = list_with_more([repr(name) for name in located.unmatched], 3)
        why = f"the reference patch fixes no test named {names}"
        why += task_proof.details_of(records)
        return _remove_and_refuse(folder, origin.instance_id, why)
    write_test_lists(
        folder / TASK_FILE,
        fail_to_pass=located.fail_to_pass,
        pass_to_pass=located.pass_to_pass,
    )
    named = origin.model_copy(update={"node_ids": located.node_ids})
    (folder / ORIGIN_FILE).write_bytes(dataset_rows.origin_json(named))
    return tuple(_differences(origin, located))


def _differences(origin: SwebenchOrigin, located: LocatedTests) -> Iterator[str]:
    """The lines that say how the lists differ from the data set's."""
    if located.failing:
        yield (
            f"{origin.instance_id}: {len(located.failing)} of {len(origin.pass_to_pass)} tests in "
            "PASS_TO_PASS fail here with the reference solution, and do not count: "
            f"{list_with_more(located.failing, _MAX_NAMES)}"
        )
    if located.passing:
        yield (
            f"{origin.instance_id}: {len(located.passing)} of {len(origin.fail_to_pass)} tests in "
            "FAIL_TO_PASS pass here before any fix, and count as PASS_TO_PASS: "
            f"{list_with_more(located.passing, _MAX_NAMES)}"
        )


def locate_by_source(folders: Iterable[Path], mirrors: Mirrors) -> list[Rejection]:
    """Resolve test names by the source of the tests if nothing may be run.

    Tasks with other names are removed; returns why.
    """
    refused = []
    for folder in folders:
        origin = _origin_of(folder)
        try:
            origin = origin.model_copy(
                update={"node_ids": ids_of_functions(folder, origin, mirrors)}
            )
        except UnclearNameError as error:
            what = f"{error}; import without --no-prove to find its tests by running them"
            refused.append(_remove_and_refuse(folder, origin.instance_id, what))
            continue
        write_test_lists(
            folder / TASK_FILE,
            fail_to_pass=_all_ids(origin, origin.fail_to_pass),
            pass_to_pass=_all_ids(origin, origin.pass_to_pass),
        )
        (folder / ORIGIN_FILE).write_bytes(dataset_rows.origin_json(origin))
    return refused


def locate_tests(
    origin: SwebenchOrigin,
    found: task_proof.DecidingTests,
    final: Mapping[NodeId, CaseOutcome],
) -> LocatedTests | None:
    """The test lists of an instance by the outcomes of its tests; None: the data set's lists stay.

    They stay if all names are node ids and the reference solution does not fix each test of
    FAIL_TO_PASS, or if all of these pass before it: then the instance is not valid here.

    Args:
        origin: The instance.
        found: The tests that the reference solution fixes, and those that pass with and without it.
        final: The outcome of each test with the reference solution.
    """
    node_ids: dict[str, tuple[NodeId, ...]] = {}
    is_cut = {name: name_kind(name) is not NameKind.NODE_ID for name in origin.names}
    for name in origin.fail_to_pass:
        if is_cut[name]:
            node_ids[name] = matching_node_ids(name, found.fail_to_pass)
    unmatched = [name for name in origin.fail_to_pass if is_cut[name] and not node_ids[name]]
    whole = [NodeId(name) for name in origin.fail_to_pass if not is_cut[name]]
    passing = [name for name in whole if name in set(found.pass_to_pass)]
    if any(final.get(name) is not CaseOutcome.PASSED for name in whole) or (
        passing and len(passing) == len(origin.fail_to_pass)
    ):
        passing = []
        if not any(is_cut.values()):
            return None
    failing = []
    for name in origin.pass_to_pass:
        if is_cut[name]:
            node_ids.setdefault(name, matching_node_ids(name, found.pass_to_pass))
        elif final and final.get(NodeId(name), CaseOutcome.FAILED) in FAILING_OUTCOMES:
            failing.append(name)
            node_ids[name] = ()
    located = origin.model_copy(update={"node_ids": node_ids})
    fixed = [n for n in _all_ids(located, origin.fail_to_pass) if n not in set(passing)]
    return LocatedTests(
        fail_to_pass=tuple(fixed),
        pass_to_pass=tuple(
            n for n in _all_ids(located, (*origin.pass_to_pass, *passing)) if n not in set(fixed)
        ),
        node_ids=node_ids,
        unmatched=tuple(unmatched),
        failing=tuple(failing),
        passing=tuple(passing),
    )


def locate_named_tests(
    origin: SwebenchOrigin,
    found: task_proof.DecidingTests,
    named: Mapping[NodeId, CaseFact],
) -> LocatedTests:
    """The test lists of an instance whose test names are those that its runner prints.

    Args:
        origin: The instance.
        found: The tests that the reference solution fixes, and those that pass with and without it.
        named: All tests with their names.
    """

    def matching(name: str, ids: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """The tests that a name means."""
        return tuple(each for each in ids if each in named and named[each].has_name(name))

    to_fix = {name: matching(name, found.fail_to_pass) for name in origin.fail_to_pass}
    to_keep = {name: matching(name, found.pass_to_pass) for name in origin.names}
    passing = tuple(name for name, ids in to_fix.items() if not ids and to_keep[name])
    if len(passing) == len(to_fix):
        passing = ()  # the instance is not valid here
    fixed = tuple(dict.fromkeys(node_id for ids in to_fix.values() for node_id in ids))
    kept = (node_id for name in (*origin.pass_to_pass, *passing) for node_id in to_keep[name])
    return LocatedTests(
        fail_to_pass=fixed,
        pass_to_pass=tuple(dict.fromkeys(kept)),
        node_ids={**to_keep, **{name: ids for name, ids in to_fix.items() if ids}},
        unmatched=tuple(name for name, ids in to_fix.items() if not ids and name not in passing),
        failing=tuple(
            name for name in origin.pass_to_pass if not to_keep[name] and matching(name, named)
        ),
        passing=passing,
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
