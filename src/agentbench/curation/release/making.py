"""Two releases, made a task's folder."""

import re
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath

from agentbench.curation.detection.detect import propose
from agentbench.curation.detection.proposal import Proposal
from agentbench.curation.detection.test_files import is_looked_for
from agentbench.curation.detection.trial import choose
from agentbench.curation.release.difference import difference, names_of_tests
from agentbench.curation.release.extension import extension_in
from agentbench.curation.release.index import PackageIndex, Release, ReleasePair
from agentbench.curation.release.instruction import instruction_of, without_code
from agentbench.errors import InputError
from agentbench.owned_folder import owned_folder
from agentbench.runs.options import RunOptions
from agentbench.tasks.history.file_kind import FileKind, bears_tests, kind_of
from agentbench.tasks.history.fix import Fix
from agentbench.tasks.importers.sdist.archive import unpack_sdist
from agentbench.tasks.importers.sdist.carried_over import carry_over, remove_generated, take_back
from agentbench.tasks.importers.sdist.changelog import ChangelogSection, sections_between
from agentbench.tasks.new_task import NewTask, write_task
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task_file import PytestTable, RepoTable, TaskFile

TAG = "release"

_LONGEST_SUITE = 60.0
"""Seconds; each attempt runs the tests up to four times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """Two releases, unpacked and made comparable."""

    old: Path
    new: Path
    fix: Fix
    sections: tuple[ChangelogSection, ...]
    """What the changelog says of the newer one, without the fix's code."""


def task_id_of(pair: ReleasePair) -> TaskId:
    """An id of the package and its newer release."""
    version = re.sub(r"[^a-z0-9.]+", "-", str(pair.new.version))
    return TaskId(f"{pair.new.package}-{version}"[:100])


def make_task(
    pair: ReleasePair,
    index: PackageIndex,
    parent: Path,
    options: RunOptions | None,
    *,
    replace: bool = False,
) -> Path:
    """Download both releases, find out how the older one's tests run, and write the task.

    Args:
        pair: The two releases.
        index: Where they are downloaded from.
        parent: The folder that the task's folder is made in.
        options: How to try the environment; None: the first proposal is taken as it is.
        replace: Whether a folder that is there already is replaced.

    Raises:
        InputError: they make no task, and why.
        UnavailableError: the index does not answer, or there is no sandbox.
        UsageError: the folder is there already, or cannot be written.
    """
    with owned_folder("agentbench-release-") as scratch:
        trees = unpacked(pair, index, scratch)
        environment = _environment(trees, pair.new.uploaded, options)
        new = _task(pair, trees, environment)
        return write_task(new, parent, replace=replace)


def unpacked(pair: ReleasePair, index: PackageIndex, scratch: Path) -> Trees:
    """Both releases' files below a folder, and what lies between them.

    Raises:
        InputError: an archive is hostile, or the difference makes no task.
        UnavailableError: the index does not answer.
    """
    old, new = (_tree(release, index, scratch) for release in (pair.old, pair.new))
    if (why := extension_in(new) or extension_in(old)) is not None:
        raise InputError(why)
    if not _has_tests(new):
        raise InputError("the newer source distribution holds no tests")
    carry_over(old, new, old_version=pair.old.version, new_version=pair.new.version)
    sections = sections_between(new, pair.old.version, pair.new.version)
    for name in {section.file for section in sections}:
        take_back(old, new, name)  # it is told to the agent, and so no part of the solution
    fix = difference(old, new, scratch)
    return Trees(old=old, new=new, fix=fix, sections=without_code(sections, fix))


def _tree(release: Release, index: PackageIndex, scratch: Path) -> Path:
    archive = index.download(release, scratch)
    tree = unpack_sdist(archive, scratch / f"unpacked-{release.version}")
    remove_generated(tree)
    return tree


def _has_tests(tree: Path) -> bool:
    files = (path for path in tree.rglob("*.py") if path.is_file() and not path.is_symlink())
    return any(
        kind_of(PurePosixPath(path.relative_to(tree))) is FileKind.TEST
        and bears_tests(path.read_bytes())
        for path in files
    )


def _environment(trees: Trees, on: date | None, options: RunOptions | None) -> Proposal:
    """How the older sources' tests run, or where they have none the newer ones'.

    It has no test paths where all tests together take too long: those that the newer release
    touches are run then, and no others.
    """
    tried, other = (trees.old, trees.new) if _has_tests(trees.old) else (trees.new, trees.old)
    proposals = propose(tried, on=on, tests_of=other)
    if options is None:
        return proposals[0]
    chosen = choose(tried, proposals, options)
    if chosen.seconds <= _LONGEST_SUITE:
        return chosen.proposal
    tests = chosen.proposal.tests.model_copy(update={"paths": ()})
    return replace(chosen.proposal, tests=tests)


def _task(pair: ReleasePair, trees: Trees, environment: Proposal) -> NewTask:
    package, fix = pair.new.package, trees.fix
    old, new = pair.old.version, pair.new.version
    task_id = task_id_of(pair)
    table = TaskFile(
        schema_version=1,
        id=task_id,
        title=f"{package}: from {old} to {new}",
        tags=(TAG, package),
        repo=RepoTable(path="repo"),
        environment=environment.environment,
        setup=environment.setup,
        tests=_with_paths(environment.tests, trees),
    )
    return NewTask(
        id=task_id,
        table=table,
        instruction=instruction_of(
            package, (str(old), str(new)), trees.sections, names_of_tests(fix)
        ),
        tests_patch=fix.tests_patch,
        solution_patch=fix.solution_patch,
        folders={"repo": trees.old},
    )


def _with_paths(tests: PytestTable, trees: Trees) -> PytestTable:
    """The table with paths that are there once the hidden tests are, all touched tests in them."""
    kept = [path for path in tests.paths if (trees.new / path).exists()]
    outside = (
        str(path)
        for path in trees.fix.tests
        if not is_looked_for(path.name) or not any(path.is_relative_to(each) for each in kept)
    )
    return tests.model_copy(update={"paths": tuple(dict.fromkeys((*kept, *outside)))})
