"""Creates a task's folder from two releases: unpacks and compares them."""

import ast
import re
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath

from agentbench.core.files import owned_folder
from agentbench.errors import InputError
from agentbench.importers.release import instruction, sdist
from agentbench.importers.release.package_index import PackageIndex, PackageReleases, Release
from agentbench.runs.options import RunOptions
from agentbench.tasks.fix_commit import FileKind, FixCommit, file_kind, has_tests, split_fix
from agentbench.tasks.git_history import find_commit
from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.problem import TaskId
from agentbench.tasks.project_declaration import (
    distribution_of,
    read_project_file,
    strings_in,
    table_in,
    text_in,
)
from agentbench.tasks.project_files import parse_python, parse_toml
from agentbench.tasks.task_file import PytestTable, RepoTable, TaskFile
from agentbench.tasks.writing import NewTask, write_task
from agentbench.validation.environment.found_tests import is_collected_by_default
from agentbench.validation.environment.proposals import Proposal, propose
from agentbench.validation.environment.trials import try_proposals

RELEASE_TAG = "release"

_MAX_SUITE_SECONDS = 60.0  # seconds; each attempt runs the tests up to four times


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackedReleases:
    """Two releases, unpacked and cleaned for comparison."""

    old: Path
    new: Path
    fix: FixCommit
    sections: tuple[instruction.ChangelogSection, ...]
    """The changelog sections of the newer one, without the fix's code."""


def task_id_of(pair: PackageReleases) -> TaskId:
    """An id from the package and its newer release."""
    version = re.sub(r"[^a-z0-9.]+", "-", str(pair.new.version))
    return TaskId(f"{pair.new.package}-{version}"[:100])


def write_release_task(
    pair: PackageReleases,
    index: PackageIndex,
    parent: Path,
    options: RunOptions | None,
) -> Path:
    """Download both releases, find out how the older one's tests run, and write the task.

    Without options, the first proposed environment is used untried.

    Args:
        pair: The two releases.
        index: The index to download from.
        parent: The parent of the task's folder.
        options: How to try environments; None: the first proposal is used untried.

    Raises:
        InputError: the releases do not make a task; says why.
        UnavailableError: the index does not answer, or no sandbox is available.
    """
    with owned_folder("agentbench-release-") as scratch:
        trees = unpack_releases(pair, index, scratch)
        environment = _environment(trees, pair.new.uploaded, options)
        new = _new_task(pair, trees, environment)
        return write_task(new, parent)


def unpack_releases(pair: PackageReleases, index: PackageIndex, scratch: Path) -> UnpackedReleases:
    """Unpack both releases into a folder, and compare them.

    Raises:
        InputError: an archive is hostile, or the difference does not make a task.
        UnavailableError: the index does not answer.
    """
    old, new = (_unpack(release, index, scratch) for release in (pair.old, pair.new))
    if (why := why_compiler_needed(new) or why_compiler_needed(old)) is not None:
        raise InputError(why)
    if not _has_tests(new):
        raise InputError("the newer source distribution holds no tests")
    sdist.restore_generated_content(
        old, new, old_version=pair.old.version, new_version=pair.new.version
    )
    sections = instruction.sections_between(new, pair.old.version, pair.new.version)
    for name in {section.file for section in sections}:
        sdist.restore_file(old / name, new / name)  # the instruction quotes it
    fix = fix_between(old, new, scratch)
    return UnpackedReleases(
        old=old, new=new, fix=fix, sections=instruction.without_code(sections, fix)
    )


def _unpack(release: Release, index: PackageIndex, scratch: Path) -> Path:
    archive = index.download(release, scratch)
    tree = sdist.unpack_sdist(archive, scratch / f"unpacked-{release.version}")
    sdist.remove_generated(tree)
    return tree


def _has_tests(tree: Path) -> bool:
    files = (path for path in tree.rglob("*.py") if path.is_file() and not path.is_symlink())
    return any(
        file_kind(PurePosixPath(path.relative_to(tree))) is FileKind.TEST
        and has_tests(path.read_bytes())
        for path in files
    )


def _environment(trees: UnpackedReleases, on: date | None, options: RunOptions | None) -> Proposal:
    """The environment of the older release's tests, or of the newer one's if it has none.

    It has no test paths if all tests together take too long; then only the tests that the newer
    release touches are run.
    """
    tried, other = (trees.old, trees.new) if _has_tests(trees.old) else (trees.new, trees.old)
    proposals = propose(tried, on=on, tests_of=other)
    if options is None:
        return proposals[0]
    chosen = try_proposals(tried, proposals, options)
    if chosen.seconds <= _MAX_SUITE_SECONDS:
        return chosen.proposal
    tests = chosen.proposal.tests.model_copy(update={"paths": ()})
    return replace(chosen.proposal, tests=tests)


def _new_task(pair: PackageReleases, trees: UnpackedReleases, environment: Proposal) -> NewTask:
    package, fix = pair.new.package, trees.fix
    old, new = pair.old.version, pair.new.version
    task_id = task_id_of(pair)
    table = TaskFile(
        schema_version=1,
        id=task_id,
        title=f"{package}: from {old} to {new}",
        tags=(RELEASE_TAG, package),
        repo=RepoTable(path="repo"),
        environment=environment.environment,
        setup=environment.setup,
        tests=_with_paths(environment.tests, trees),
    )
    return NewTask(
        id=task_id,
        table=table,
        instruction=instruction.instruction_of(
            package, (str(old), str(new)), trees.sections, changed_test_names(fix)
        ),
        tests_patch=fix.tests_patch,
        solution_patch=fix.solution_patch,
        folders={"repo": trees.old},
    )


def _with_paths(tests: PytestTable, trees: UnpackedReleases) -> PytestTable:
    """The table with test paths that exist with the hidden tests and contain all touched tests."""
    kept = [path for path in tests.paths if (trees.new / path).exists()]
    outside = (
        str(path)
        for path in trees.fix.tests
        if not is_collected_by_default(path.name)
        or not any(path.is_relative_to(each) for each in kept)
    )
    return tests.model_copy(update={"paths": tuple(dict.fromkeys((*kept, *outside)))})


_DEFINED = re.compile(r"(?:[+ ]|@@ .* @@)\s*(?:async )?def (?P<name>test\w*)")
_MAX_PATCH = 4 << 20
_INIT = ("init", "--quiet", "--bare", "--initial-branch=main", "--template=", ".")
_COMMIT = ("commit", "--quiet", "--allow-empty", "--no-verify", "--message", "A release")


def fix_between(old: Path, new: Path, scratch: Path) -> FixCommit:
    """The change from the older tree to the newer one; `scratch` holds it until it is read.

    Args:
        old: The files of the older release.
        new: The files of the newer release.
        scratch: A folder for a repository; it must exist until the fix is read.

    Raises:
        InputError: the change does not make a task, or is too large; says why.
    """
    repository = scratch / "releases.git"
    repository.mkdir()
    _run_git(_INIT, repository, {})
    for tree in (old, new):
        where = {"GIT_DIR": str(repository), "GIT_WORK_TREE": str(tree)}
        _run_git(("add", "--all", "--force", "--", "."), tree, where)
        _run_git(_COMMIT, tree, where)
    mirror = Mirror(path=repository, commit="main")
    found = split_fix(mirror, find_commit(mirror, "main"))
    if isinstance(found, str):
        raise InputError(found.replace("it ", "the newer release ", 1))
    size = len(found.tests_patch) + len(found.solution_patch)
    if size > _MAX_PATCH:
        differ = f"the releases differ by {size / 2**20:.1f} MiB of patches"
        raise InputError(f"{differ}, expected {_MAX_PATCH >> 20} at most")
    return found


def changed_test_names(fix: FixCommit) -> tuple[str, ...]:
    """The names of the test functions that the newer release adds or changes."""
    names: dict[str, None] = {}
    current = ""
    for raw in fix.tests_patch.splitlines():
        line = raw.decode("utf-8", "replace")
        if line.startswith("diff --git "):
            current = ""
        defined = _DEFINED.match(line)
        if defined is not None:
            current = defined["name"]
        if line[:1] in {"+", "-"} and current and not line.startswith(("+++", "---", "-def")):
            names.setdefault(current)
    return tuple(names)


def _run_git(arguments: tuple[str, ...], cwd: Path, env: dict[str, str]) -> None:
    git(*arguments, cwd=cwd, env=env).output_or(
        lambda message: InputError(f"the release cannot be kept as a commit: {message}")
    )


_COMPILING = frozenset(
    {"cffi", "cython", "maturin", "meson-python", "mypy", "mypyc", "nanobind", "numpy", "pybind11",
     "scikit-build", "scikit-build-core", "setuptools-rust"}
)  # fmt: skip
_BACK_ENDS = ("maturin", "mesonpy", "scikit_build", "setuptools_rust")
_ARGUMENTS = frozenset({"ext_modules", "rust_extensions", "cffi_modules"})


def why_compiler_needed(tree: Path) -> str | None:
    """Why a project needs a compiler; None: it is pure Python."""
    system = table_in(parse_toml(read_project_file(tree, "pyproject.toml")), "build-system")
    needed = {distribution_of(text) for text in strings_in(system.get("requires"))} & _COMPILING
    if needed:
        return f"it has a binary extension: its build needs {', '.join(sorted(map(str, needed)))}"
    if text_in(system, "build-backend").startswith(_BACK_ENDS):
        return f"it has a binary extension: it is built by {text_in(system, 'build-backend')}"
    for node in ast.walk(parse_python(read_project_file(tree, "setup.py"))):
        if isinstance(node, ast.keyword) and node.arg in _ARGUMENTS:
            return f"it has a binary extension: setup.py gives {node.arg}"
    return None
