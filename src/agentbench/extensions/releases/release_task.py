"""Creates a task from two releases: its files, environment and instruction."""

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from agentbench.core.files import owned_folder
from agentbench.errors import InputError
from agentbench.extensions.releases import sdist
from agentbench.extensions.releases.package_index import PackageIndex, PackageReleases
from agentbench.runs.options import RunOptions
from agentbench.tasks.git_history import find_commit
from agentbench.tasks.mirror import Mirror, commit_trees
from agentbench.tasks.problem import TaskId
from agentbench.tasks.project_declaration import read_project_file, strings_in, table_in, text_in
from agentbench.tasks.project_files import parse_python, parse_toml
from agentbench.tasks.task_file import RepoTable, TaskFile
from agentbench.tasks.writing import NewTask, write_task
from agentbench.validation.environment.found_tests import is_collected_by_default
from agentbench.validation.environment.proposals import Proposal, propose
from agentbench.validation.environment.trials import try_proposals
from agentbench.validation.fix_commit import FileKind, FixCommit, file_kind, split_fix
from agentbench.validation.languages import has_tests

_NAME = re.compile(
    r"(change[-_]?log|changes|history|news|release[-_]?notes|releases|whatsnew)(\..*)?"
)
_FOLDERS = (".", "docs", "doc", "docs/source", "doc/source")
_MAX_BYTES = 4 << 20
_UNDERLINE = re.compile(r"([=\-~^#*+\"'`])\1{2,}\s*")
_HEADING = re.compile(
    r"(?:#{1,4}\s*)?(?:\*\*)?(?:(?:version|release|changes in|new in|what's new in)\s+)?"
    r"(?:[\w.-]+\s+)?[\[(`]*v?(\d+(?:\.\d+)+(?:\.?(?:a|b|rc|post|dev)\d*)?)[\])]?(?:\W.*)?",
    re.IGNORECASE,
)
_MAX_HEADING_LENGTH = 120
MAX_CHANGELOG: Final = 12_000
"""The most characters of a changelog; some projects release once in years."""
_MOST_NAMES = 40
# Characters; texts often contain shorter lines of a patch.
_MIN_LINE = 12
_FENCE = re.compile(r"^\s*(```|~~~)")
RELEASE_TAG = "release"
# Seconds; each attempt runs the tests up to four times.
_MAX_SUITE_SECONDS = 60.0
_DEFINED = re.compile(r"(?:[+ ]|@@ .* @@)\s*(?:async )?def (?P<name>test\w*)")
_MAX_PATCH = 4 << 20
_COMPILING = frozenset(
    {"cffi", "cython", "maturin", "meson-python", "mypy", "mypyc", "nanobind", "numpy", "pybind11",
     "scikit-build", "scikit-build-core", "setuptools-rust"}
)  # fmt: skip
_BACK_ENDS = ("maturin", "mesonpy", "scikit_build", "setuptools_rust")
_ARGUMENTS = frozenset({"ext_modules", "rust_extensions", "cffi_modules"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogSection:
    """The section of one release."""

    file: str
    version: Version
    text: str


def sections_between(tree: Path, old: Version, new: Version) -> tuple[ChangelogSection, ...]:
    """The sections of a tree's changelog for the releases after `old`, up to `new`."""
    names = [
        path.relative_to(tree).as_posix()
        for folder in _FOLDERS
        if (tree / folder).is_dir()
        for path in sorted((tree / folder).iterdir())
        if _NAME.fullmatch(path.name.lower()) and path.is_file() and not path.is_symlink()
    ]
    for name in names:
        found = tuple(s for s in _sections(tree, name) if old < s.version <= new and s.text)
        if found:
            return found
    return ()


def _sections(tree: Path, name: str) -> Iterator[ChangelogSection]:
    path = tree / name
    if path.stat().st_size > _MAX_BYTES:
        return
    lines = path.read_bytes().decode("utf-8-sig", "replace").splitlines()
    heads = [(at, version) for at in range(len(lines)) if (version := _heading_version(lines, at))]
    ends = [*(at for at, _ in heads[1:]), len(lines)]
    # Without a heading, one end is left.
    for (at, version), end in zip(heads, ends, strict=False):
        body = [line for line in lines[at + 1 : end] if not _UNDERLINE.fullmatch(line)]
        yield ChangelogSection(file=name, version=version, text="\n".join(body).strip("\n"))


def _heading_version(lines: list[str], at: int) -> Version | None:
    line = lines[at].strip()
    found = _HEADING.fullmatch(line) if 0 < len(line) <= _MAX_HEADING_LENGTH else None
    if found is None or lines[at][:1].isspace():
        return None
    after = lines[at + 1] if at + 1 < len(lines) else ""
    # A heading without markup has only a version and a date.
    plain = re.fullmatch(r"v?\d+(\.\d+)+\S*([\s:,(-]+[\d\w./-]+)*\)?:?", line)
    is_plain = plain is not None and len(line.split()) <= 5
    if not (line.startswith(("#", "**", "[")) or _UNDERLINE.fullmatch(after) or is_plain):
        return None
    try:
        return Version(found.group(1))
    except InvalidVersion:
        return None


def instruction_of(
    package: str,
    versions: tuple[str, str],
    sections: Sequence[ChangelogSection],
    tests: Sequence[str],
) -> str:
    """The instruction, which names its source.

    Args:
        package: The package's name.
        versions: The older and the newer release.
        sections: The changelog sections of the newer one, without the fix's code.
        tests: The names of the tests that the newer release adds or changes.
    """
    old, new = versions
    words = (name.removeprefix("test").strip("_").replace("_", " ") or name for name in tests)
    listed = "\n".join(f"- {each}" for each in islice(words, _MOST_NAMES))
    if sections:
        files = ", ".join(dict.fromkeys(section.file for section in sections))
        changelog = "\n\n".join(f"## {section.version}\n\n{section.text}" for section in sections)
        if len(changelog) > MAX_CHANGELOG:
            changelog = f"{changelog[:MAX_CHANGELOG].rpartition(chr(10))[0]}\n…"
        text = (
            f"This is what the\nproject's own changelog ({files}) says of the change, without "
            f"lines of its code:\n\n{changelog}"
        )
    elif listed:
        more = f"\n- and {len(tests) - _MOST_NAMES} more" if len(tests) > _MOST_NAMES else ""
        text = (
            "Its changelog does not say\nwhat the newer release changes. These are the names of "
            f"the tests that it adds or changes, and\nnothing else:\n\n{listed}{more}"
        )
    else:
        text = (
            "The newer release changes\nwhat its tests expect; its changelog does not mention it."
        )
    return (
        f"# {package} {old}: make it do what {new} does\n\n"
        f"The repository holds the sources of {package} {old}. {text}\n\n"
        "Change the sources so that all of this holds. The version need not change, nor the\n"
        "changelog. Tests that are not in the repository will be run on what you make.\n"
    )


def without_code(
    sections: Sequence[ChangelogSection], fix: FixCommit
) -> tuple[ChangelogSection, ...]:
    """The sections without the solution's lines and the code blocks that contain them."""
    added: set[str] = set()
    is_program = False
    for raw in fix.solution_patch.splitlines():
        line = raw.decode("utf-8", "replace")
        if line.startswith("diff --git "):
            is_program = file_kind(PurePosixPath(line.rpartition(" b/")[2])) is FileKind.SOURCE
        elif line.startswith("+") and is_program and len(line[1:].strip()) >= _MIN_LINE:
            added.add(line[1:].strip())
    return tuple(replace(each, text=_without_lines(each.text, added)) for each in sections)


def _without_lines(text: str, added: set[str]) -> str:
    """A text without a program's lines and without fenced blocks that contain one."""
    remaining: list[str] = []
    block: list[str] | None = None
    for line in text.splitlines():
        if block is None and not _FENCE.match(line):
            remaining += [] if line.strip() in added else [line]
        elif block is None:
            block = [line]
        else:
            block.append(line)
            if _FENCE.match(line):
                remaining += [] if any(each.strip() in added for each in block) else block
                block = None
    return "\n".join(remaining + (block or [])).strip("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackedReleases:
    """Two releases, unpacked and cleaned for comparison."""

    old: Path
    new: Path
    fix: FixCommit
    sections: tuple[ChangelogSection, ...]
    """The changelog sections of the newer one, without the fix's code."""


def task_id_of(pair: PackageReleases) -> TaskId:
    """An id from the package and its newer release."""
    version = re.sub(r"[^a-z0-9.]+", "-", str(pair.new.version))
    return TaskId(f"{pair.new.package}-{version}"[:100])


def write_release_task(
    pair: PackageReleases, index: PackageIndex, parent: Path, options: RunOptions | None
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
        # The environment of the older release's tests, or of the newer one's if it has none.
        tried, other = (trees.old, trees.new) if _has_tests(trees.old) else (trees.new, trees.old)
        proposals = propose(tried, on=pair.new.uploaded, tests_of=other)
        environment = proposals[0]
        if options is not None:
            chosen = try_proposals(tried, proposals, options)
            environment = chosen.proposal
            if chosen.seconds > _MAX_SUITE_SECONDS:
                # All tests together take too long: only those that the newer release touches run.
                tests = environment.tests.replace(paths=())
                environment = replace(environment, tests=tests)
        return write_task(_new_task(pair, trees, environment), parent)


def unpack_releases(pair: PackageReleases, index: PackageIndex, scratch: Path) -> UnpackedReleases:
    """Unpack both releases into a folder, and compare them.

    Raises:
        InputError: an archive is hostile, or the difference does not make a task.
        UnavailableError: the index does not answer.
    """
    trees: list[Path] = []
    for release in (pair.old, pair.new):
        archive = index.download(release, scratch)
        tree = sdist.unpack_sdist(archive, scratch / f"unpacked-{release.version}")
        sdist.remove_generated(tree)
        trees.append(tree)
    old, new = trees
    if (why := why_compiler_needed(new) or why_compiler_needed(old)) is not None:
        raise InputError(why)
    if not _has_tests(new):
        raise InputError("the newer source distribution holds no tests")
    sdist.restore_generated_content(
        old, new, old_version=pair.old.version, new_version=pair.new.version
    )
    sections = sections_between(new, pair.old.version, pair.new.version)
    for name in {section.file for section in sections}:
        # The instruction quotes it.
        sdist.restore_file(old / name, new / name)
    fix = fix_between(old, new, scratch)
    return UnpackedReleases(old=old, new=new, fix=fix, sections=without_code(sections, fix))


def _has_tests(tree: Path) -> bool:
    files = (path for path in tree.rglob("*.py") if path.is_file() and not path.is_symlink())
    return any(
        file_kind(PurePosixPath(path.relative_to(tree))) is FileKind.TEST
        and has_tests(PurePosixPath(path.name), path.read_bytes())
        for path in files
    )


def _new_task(pair: PackageReleases, trees: UnpackedReleases, environment: Proposal) -> NewTask:
    package, fix = pair.new.package, trees.fix
    old, new = pair.old.version, pair.new.version
    task_id = task_id_of(pair)
    # Test paths that exist with the hidden tests, and all touched tests outside of them
    existing = [path for path in environment.tests.paths if (trees.new / path).exists()]
    outside = (
        str(path)
        for path in fix.tests
        if not is_collected_by_default(path.name)
        or not any(path.is_relative_to(each) for each in existing)
    )
    paths = tuple(dict.fromkeys((*existing, *outside)))
    table = TaskFile(
        schema_version=1,
        id=task_id,
        title=f"{package}: from {old} to {new}",
        tags=(RELEASE_TAG, package),
        repo=RepoTable(path="repo"),
        environment=environment.environment,
        setup=environment.setup,
        tests=environment.tests.replace(paths=paths),
    )
    return NewTask(
        id=task_id,
        table=table,
        instruction=instruction_of(
            package, (str(old), str(new)), trees.sections, changed_test_names(fix)
        ),
        tests_patch=fix.tests_patch,
        solution_patch=fix.solution_patch,
        folders={"repo": trees.old},
    )


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
    commit_trees(
        {"The older release": old, "The newer release": new},
        repository,
        lambda message: InputError(f"the release cannot be kept as a commit: {message}"),
    )
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


def why_compiler_needed(tree: Path) -> str | None:
    """Why a project needs a compiler; None: it is pure Python."""
    system = table_in(parse_toml(read_project_file(tree, "pyproject.toml")), "build-system")
    needed: set[str] = set()
    for text in strings_in(system.get("requires")):
        with suppress(InvalidRequirement):  # unlike `distribution_of`, also those with a URL
            needed.add(canonicalize_name(Requirement(text).name))
    if needed & _COMPILING:
        names = ", ".join(sorted(needed & _COMPILING))
        return f"it has a binary extension: its build needs {names}"
    if text_in(system, "build-backend").startswith(_BACK_ENDS):
        return f"it has a binary extension: it is built by {text_in(system, 'build-backend')}"
    for node in ast.walk(parse_python(read_project_file(tree, "setup.py"))):
        if isinstance(node, ast.keyword) and node.arg in _ARGUMENTS:
            return f"it has a binary extension: setup.py gives {node.arg}"
    return None
