"""Adapts the test lists of SWE-bench's instances to the outcomes in our environment.

The reference solution is run once, with all tests in the test patch's files and in the files of the
listed tests: many data sets list tests in PASS_TO_PASS that the test patch does not touch. That run
resolves names that are not node ids: a name in FAIL_TO_PASS can mean a test that failed before and
passes after it. It also shows where the data set's lists are not valid here, mostly because a test
needs another host or another library.
"""

import ast
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from agentbench.attempt.record import AttemptRecord
from agentbench.core.display_text import list_with_more
from agentbench.errors import GitCloneError, InputError
from agentbench.extensions.swebench.instance import NameKind, matching_node_ids, name_kind
from agentbench.python_source import python_syntax
from agentbench.runs.options import RunOptions
from agentbench.runs.store.store import new_run_id
from agentbench.scoring.evidence import FAILING_OUTCOMES, CaseFact, CaseOutcome, NodeId
from agentbench.tasks import dataset_rows
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.dataset_rows import ORIGIN_FILE, Rejection, SwebenchOrigin
from agentbench.tasks.git_history import PatchDoesNotApplyError, apply_patch_to_commit
from agentbench.tasks.loading import TASK_FILE, load_task
from agentbench.tasks.mirror import Mirrors, tracked_files
from agentbench.tasks.task import Task
from agentbench.tasks.test_runner_name import Runner
from agentbench.tasks.writing import write_test_lists
from agentbench.taxonomy import Fault
from agentbench.validation import task_proof

_MAX_NAMES = 3  # tests that a line names
_NOT_COLLECTED = "not collected"
_NOT_RUN = "not run"
# How a line says why tests of PASS_TO_PASS do not count; every other outcome is a failure.
_WHY_LEFT_OUT = {
    _NOT_COLLECTED: "are in files that cannot be collected here with the reference solution",
    _NOT_RUN: "did not run here with the reference solution",
}
_PARAMETERS = "parametrize"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedTests:
    """The node ids of an instance's test names."""

    fail_to_pass: tuple[NodeId, ...]
    pass_to_pass: tuple[NodeId, ...]
    node_ids: dict[str, tuple[NodeId, ...]]
    """The ids of each name that is not a node id; empty for a name that does not count."""
    unmatched: tuple[str, ...] = ()  # names in FAIL_TO_PASS that match no fixed test
    left_out: dict[str, str] = field(default_factory=dict)
    """The names in PASS_TO_PASS that do not count, each with its outcome after the solution."""
    passing: tuple[str, ...] = ()  # names in FAIL_TO_PASS that pass before it


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatingResult:
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
    tasks = [
        task_proof.with_problem(
            task_proof.without_listed_tests(task), test_paths=_files_to_run(task, origin, mirrors)
        )
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


def _files_to_run(task: Task, origin: SwebenchOrigin, mirrors: Mirrors) -> tuple[str, ...]:
    # Pytest would run nothing at all if one file did not exist.
    try:
        mirror = mirrors.of(task.source)
        hidden = apply_patch_to_commit(task.answer_key.tests_patch, mirror)
    except (GitCloneError, PatchDoesNotApplyError):
        # The run ends in the same error, with its evidence.
        return origin.test_files
    removed = {path for path, file in hidden.items() if file is None}
    existing = {str(path) for path in (tracked_files(mirror) | hidden.keys()) - removed}
    files = dict.fromkeys(origin.test_files)
    classes = dict.fromkeys(
        name.partition(" (")[2].rstrip(")")
        for name in origin.names
        if name_kind(name) is NameKind.UNITTEST
    )
    for dotted in classes:
        # A name like `tests.test_b.Case`, whose module may begin in a folder
        parts = dotted.split(".")
        for length in range(len(parts) - 1, 0, -1):
            end = f"{'/'.join(parts[:length])}.py"
            found = [file for file in existing if file == end or file.endswith(f"/{end}")]
            if found:
                files.update(dict.fromkeys(sorted(found)))
                break
    files.update(dict.fromkeys(name.partition("::")[0] for name in origin.names if "::" in name))
    return tuple(file for file in files if file in existing)


def _write_lists(
    folder: Path, origin: SwebenchOrigin, records: Sequence[AttemptRecord]
) -> tuple[str, ...] | Rejection:
    """Write the lists of one task; returns how they differ, or why the task was removed."""
    located = locate_tests(
        origin,
        task_proof.deciding_tests(records),
        task_proof.final_outcomes(records),
        named=task_proof.named_tests(records),
        uncollected=task_proof.uncollected_files(records),
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
    named = origin.replace(node_ids=located.node_ids, left_out=located.left_out)
    (folder / ORIGIN_FILE).write_bytes(dataset_rows.origin_json(named))
    return tuple(_differences(origin, located))


def _differences(origin: SwebenchOrigin, located: LocatedTests) -> Iterator[str]:
    """The lines that say how the lists differ from the data set's."""
    reasons: dict[str, list[str]] = {}
    for name, outcome in located.left_out.items():
        why = _WHY_LEFT_OUT.get(outcome, "fail here with the reference solution")
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        yield (
            f"{origin.instance_id}: {len(names)} of {len(origin.pass_to_pass)} tests in "
            f"PASS_TO_PASS {why}, and do not count: {list_with_more(names, _MAX_NAMES)}"
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
            origin = origin.replace(node_ids=ids_of_functions(folder, origin, mirrors))
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
    *,
    named: Mapping[NodeId, CaseFact] = MappingProxyType({}),
    uncollected: Collection[str] = (),
) -> LocatedTests | None:
    """The test lists of an instance by the outcomes of its tests; None: the data set's lists stay.

    They stay if all names are node ids and the reference solution does not fix each test of
    FAIL_TO_PASS, or if all of these pass before it: then the instance is not valid here.

    Args:
        origin: The instance.
        found: The tests that the reference solution fixes, and those that pass with and without it.
        final: The outcome of each test with the reference solution; empty if that run did not end.
        named: All tests with the names that their runner prints; empty for pytest.
        uncollected: The files that could not be collected with the reference solution.
    """

    def matching(name: str, ids: Collection[NodeId]) -> tuple[NodeId, ...]:
        if named:
            cases = ((each, named.get(each)) for each in ids)
            return tuple(
                each for each, case in cases if each == name or (case and case.has_name(name))
            )
        if name in whole:
            return (NodeId(name),) if name in ids else ()
        return matching_node_ids(name, tuple(ids))

    whole = {n for n in origin.names if not named and name_kind(n) is NameKind.NODE_ID}
    fixed = {
        name: (NodeId(name),) if name in whole else matching(name, found.fail_to_pass)
        for name in origin.fail_to_pass
    }
    passing = {
        name: ids
        for name in origin.fail_to_pass
        if (ids := matching(name, found.pass_to_pass)) and (name in whole or not fixed[name])
    }
    is_fixed = all(final.get(NodeId(n)) is CaseOutcome.PASSED for n in fixed if n in whole)
    if not is_fixed or len(passing) == len(fixed):
        passing = {}
        if whole.issuperset(origin.names):
            return None
    after = final or dict.fromkeys((*found.pass_to_pass, *found.fail_to_pass), CaseOutcome.PASSED)
    kept, left_out = dict[str, tuple[NodeId, ...]](), dict[str, str]()
    for name in origin.pass_to_pass:
        meant = matching(name, after)
        kept[name] = tuple(each for each in meant if after[each] not in FAILING_OUTCOMES)
        if not final and name in whole:
            # A test without an outcome may be a good one.
            kept[name] = (NodeId(name),)
        elif not kept[name] and (named or name_kind(name) is not NameKind.OTHER):
            is_lost = name.partition("::")[0] in uncollected
            absent = _NOT_COLLECTED if is_lost else _NOT_RUN
            left_out[name] = after[meant[0]].value if meant else absent
    to_fix = {name: ids for name, ids in fixed.items() if name not in passing}
    ids_to_fix = tuple(dict.fromkeys(chain.from_iterable(to_fix.values())))
    node_ids = {**kept, **passing, **{name: ids for name, ids in to_fix.items() if ids}}
    return LocatedTests(
        fail_to_pass=ids_to_fix,
        pass_to_pass=tuple(
            each
            for each in dict.fromkeys(chain.from_iterable((*kept.values(), *passing.values())))
            if each not in set(ids_to_fix)
        ),
        node_ids={name: ids for name, ids in node_ids.items() if ids != (name,)},
        unmatched=tuple(name for name, ids in to_fix.items() if not ids),
        left_out=left_out,
        passing=tuple(passing),
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


class UnclearNameError(ValueError):
    """Only a run of the tests can show the meaning of a name; the text says why."""


def ids_of_functions(
    folder: Path, origin: SwebenchOrigin, mirrors: Mirrors
) -> dict[str, tuple[NodeId, ...]]:
    """The node ids of all names of an instance's lists that are not node ids.

    Lines of logs in PASS_TO_PASS mean no test.

    Raises:
        UnclearNameError: a name is not that of a function in the files of the test patch, a name in
            FAIL_TO_PASS belongs to several functions, or a function has parameters.
    """
    kinds = {name: name_kind(name) for name in origin.names}
    to_fix = set(origin.fail_to_pass)
    odd = [
        name
        for name, kind in kinds.items()
        if kind not in {NameKind.NODE_ID, NameKind.FUNCTION}
        and (kind is not NameKind.OTHER or name in to_fix)
    ]
    if odd:
        raise UnclearNameError(f"{_listed(odd)} is not the name of a function")
    found = dict[str, list[NodeId]]()
    parametrized = set[str]()
    for file, source in _sources(folder, mirrors).items():
        for node_id, has_parameters in _functions(file, source):
            name = node_id.rpartition("::")[2]
            found.setdefault(name, []).append(node_id)
            if has_parameters:
                parametrized.add(name)
    named = [name for name, kind in kinds.items() if kind is NameKind.FUNCTION]
    unclear = [
        name
        for name in named
        if name not in found or name in parametrized or (name in to_fix and len(found[name]) > 1)
    ]
    if unclear:
        raise UnclearNameError(
            f"{_listed(unclear)} is not the name of one function without parameters in the files "
            "of the test patch"
        )
    ids = {name: tuple(found[name]) for name in named}
    return ids | {name: () for name, kind in kinds.items() if kind is NameKind.OTHER}


def _listed(names: list[str]) -> str:
    return list_with_more([repr(name) for name in names], 3)


def _sources(folder: Path, mirrors: Mirrors) -> Mapping[str, bytes]:
    """The Python files of the test patch, with the patch applied."""
    try:
        task = load_task(folder, mirrors=mirrors)
        if task.problem.tests.runner is not Runner.PYTEST:
            raise UnclearNameError("its runner prints its own names")
        mirror = mirrors.of(task.source)
        files = apply_patch_to_commit(task.answer_key.tests_patch, mirror)
    except (InputError, GitCloneError, PatchDoesNotApplyError) as error:
        raise UnclearNameError(str(error)) from error
    return {
        str(path): file.content
        for path, file in files.items()
        if file is not None and path.suffix == ".py"
    }


def _functions(file: str, source: bytes) -> Iterator[tuple[NodeId, bool]]:
    """The functions at the top of a module and in its classes, and whether they have parameters."""
    try:
        module = python_syntax.parse(source, file)
    except python_syntax.UNPARSABLE as error:
        raise UnclearNameError(f"{file} cannot be parsed: {error}") from None
    for statement in module.body:
        owner = f"{statement.name}::" if isinstance(statement, ast.ClassDef) else ""
        inner = statement.body if isinstance(statement, ast.ClassDef) else [statement]
        for each in inner:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                has_parameters = any(_PARAMETERS in ast.unparse(d) for d in each.decorator_list)
                yield NodeId(f"{file}::{owner}{each.name}"), has_parameters
