"""The listed tests of a task: what they are in its repository, and whether a run fixed them."""

from collections.abc import Callable, Collection, Iterable
from pathlib import PurePosixPath

from agentbench.scoring.evidence import Evidence, NodeId, ReportFacts
from agentbench.scoring.expectation import (
    ExpectedTests,
    has_names,
    resolve_expectation,
    shortfall_of,
    with_node_ids,
)
from agentbench.scoring.node_ids import file_of, files_of, is_node_id, name_in_file, node_id_of
from agentbench.tasks.task import Task
from agentbench.test_runs.runner import TestRunner


def expected_tests(task: Task) -> ExpectedTests:
    """The expected outcomes of a task's tests."""
    key = task.answer_key
    return ExpectedTests(
        fail_to_pass=key.fail_to_pass,
        pass_to_pass=key.pass_to_pass,
        quarantined=key.quarantined,
        reward_above=key.verifier.threshold if key.verifier is not None else None,
    )


def judged_targets(task: Task) -> tuple[str, ...]:
    """The files of the listed ids; the task's test paths, too, if not only ids decide.

    These are files, not ids, since pytest would run nothing if one id did not exist. A name that is
    not an id has no file, so the test paths must include its test.
    """
    key = task.answer_key
    pass_to_pass = () if key.pass_to_pass == "baseline" else key.pass_to_pass
    listed = (*key.fail_to_pass, *pass_to_pass)
    files = files_of(listed)
    names = has_names(expected_tests(task))
    if key.fail_to_pass and key.pass_to_pass != "baseline" and not names:
        return files
    if names and not task.problem.test_paths:
        return ()
    return tuple(dict.fromkeys((*task.problem.test_paths, *_outside_test_paths(files, task))))


def _outside_test_paths(files: tuple[str, ...], task: Task) -> tuple[str, ...]:
    paths = task.problem.test_paths
    if not paths and task.answer_key.pass_to_pass == "baseline":
        return ()  # pytest's own default: everything, these files included
    return tuple(file for file in files if not _is_below(file, paths))


def with_located_tests(
    task: Task,
    paths: Iterable[PurePosixPath],
    content: Callable[[PurePosixPath], bytes | None],
    runner: TestRunner,
) -> Task:
    """The task whose lists have ids relative to the repository.

    Data sets have pytest's own ids, which are relative to its rootdir: that is a folder of the
    repository if it has an ini file of its own. An id is located in a file whose path ends like
    its own, and that contains the test's name; an id that fits no file or several stays as it is.

    Args:
        task: The task.
        paths: The files of the repository, with the hidden tests.
        content: The content of such a file; None if it has none.
        runner: The runner of its tests.
    """
    key = task.answer_key
    by_name: dict[str, list[PurePosixPath]] = {}
    for path in paths:
        by_name.setdefault(path.name, []).append(path)

    def located(node_id: NodeId) -> NodeId:
        file = file_of(node_id)
        similar = [p for p in by_name.get(PurePosixPath(file).name, ()) if p.match(file)]
        if not is_node_id(node_id) or [p.as_posix() for p in similar] in ([], [file]):
            return node_id
        function = runner.name_in_source(node_id).encode()
        similar = [p for p in similar if function in (content(p) or b"")]
        is_tested = [p for p in similar if _is_below(p.as_posix(), task.problem.test_paths)]
        exact = [p for p in similar if p.as_posix() == file]
        for found in (exact, is_tested, similar):
            if len(found) == 1:
                return node_id_of(found[0].as_posix(), name_in_file(node_id))
        return node_id

    passing = key.pass_to_pass
    lists = {
        "fail_to_pass": tuple(map(located, key.fail_to_pass)),
        "pass_to_pass": passing if passing == "baseline" else tuple(map(located, passing)),
        "quarantined": tuple(map(located, key.quarantined)),
    }
    return task.replace(answer_key=key.replace(**lists))


def _is_below(file: str, folders: Iterable[str]) -> bool:
    return any(file == p or file.startswith(f"{p}/") for p in (f.rstrip("/") for f in folders))


def listed_only(facts: ReportFacts, task: Task) -> ReportFacts:
    """A report with only the tests that decide, so that a record stays small."""
    key = task.answer_key
    if not key.fail_to_pass or key.pass_to_pass == "baseline":
        return facts
    listed = {*key.fail_to_pass, *key.pass_to_pass}
    names = [name for name in listed if not is_node_id(name)]
    cases = tuple(
        case
        for case in facts.cases
        if case.node_id in listed or any(map(case.has_name, names if case.names else ()))
    )
    return facts.replace(cases=cases)


def has_passed(task: Task, baseline: Evidence, final: Evidence) -> bool:
    """Whether a final test shows that the bug is fixed."""
    expected = with_node_ids(expected_tests(task), baseline, final)
    expectation = resolve_expectation(expected, baseline)
    return shortfall_of(expected, expectation, baseline, final) is None


def modules_of_tests(
    task: Task, base: Iterable[PurePosixPath], hidden: Collection[PurePosixPath]
) -> frozenset[str]:
    """The modules of the files of tests, by each name with which a test may import them.

    A module that the project has under the same name is none of them.

    Args:
        task: The task.
        base: The files of its base commit.
        hidden: The files of its hidden tests.
    """
    tests: set[str] = set()
    project: set[str] = set()
    for path in {*base, *hidden}:
        if path.suffix == ".py":
            is_below = _is_below(path.as_posix(), task.problem.test_paths)
            is_test = path in hidden or is_below
            parts = path.with_suffix("").parts
            names = (".".join(parts[at:]) for at in range(len(parts)))
            (tests if is_test else project).update(names)
    return frozenset(tests - project)
