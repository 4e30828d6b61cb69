"""Rules about a task: which of its answers an agent can read."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TypeGuard

from packaging.utils import canonicalize_name

from agentbench.audit.base_tree import project_names
from agentbench.audit.rule import RuleHit, info, warning
from agentbench.audit.task_facts import DecidingTestFile, LeakFingerprint, TaskFacts, found_in
from agentbench.scoring.evidence import Severity

_BACKUP_SUFFIXES = frozenset({".orig", ".rej", ".patch", ".diff", ".bak", ".old", ".save", ".swp"})
_BUILD_FOLDERS = frozenset({"build", "dist", "site-packages", "htmlcov", ".tox", ".nox", ".eggs"})
_PATCH_SUFFIXES = frozenset({".patch", ".diff", ".rej"})
_SDIST = re.compile(r"(.+?)-\d[^/]*\.(tar\.gz|tgz|tar\.bz2|tar\.xz|zip)")
_WHEEL = re.compile(r"(.+?)-\d[^/]*\.(whl|egg)")
_GIT_FILES = {".bundle": (b"# v", "bundle"), ".pack": (b"PACK", "packfile")}
_LEAST_FILE = 40  # bytes; any project has several empty files
_COMMON = 3  # files that contain a piece of text: then it is the style of the project
_DISTINCTIVE_SHARE = 0.2  # of the fix, in a file like any other: one long line may be a habit
_PROSE = frozenset({".md", ".rst", ".txt", ".adoc", ""})
_NAME = re.compile(r"\b[A-Za-z]\w{6,}[a-z0-9]\b")  # of a length that prose seldom has by chance
_IDENTIFIER = re.compile(r"[a-z0-9](_\w|[A-Z])")  # with_words or inCapitals, as prose has none
_INSTRUCTION = "instruction.md"
_LEAST_ASSERTION = 24  # characters; `assert x == 1` may occur anywhere


def hidden_tests_in_base(facts: TaskFacts) -> Iterator[RuleHit]:
    """A copy of a hidden test file in the base tree shows an agent what will be asked."""
    for file in facts.deciding_files:
        content = facts.hidden.get(PurePosixPath(file.path))
        if content is not None and any(file.deciding):
            for path in facts.base.equal_to(content.content):
                yield warning(path.as_posix(), f"has the content of the hidden {file.path}")


def visible_tests(facts: TaskFacts) -> Iterator[RuleHit]:
    """An agent can satisfy visible tests with answers that are made only for them."""
    listed = [(file, name) for file in facts.deciding_files for name in file.listed_functions]
    visible = [(file, name) for file, name in listed if file.is_visible(name)]
    whole = len(visible) == len(listed)
    for file, name in visible:
        what = "is unchanged in the base tree; an agent can read the deciding test"
        if whole:
            what += ", and no fail_to_pass test is hidden"
        yield RuleHit(Severity.WARNING if whole else Severity.INFO, f"{file.path}::{name}", what)


def solution_in_instruction(facts: TaskFacts) -> Iterator[RuleHit]:
    """If an instruction quotes the fix, an agent only has to copy it."""
    fingerprints = facts.solution_fingerprints()
    found = found_in(_without_removed_lines(facts.task.problem.instruction), fingerprints)
    if found:
        what = f"contains {len(found)} of {len(fingerprints)} distinctive lines of the fix"
        yield warning(f"{_INSTRUCTION}:{min(found.values())}", what)


def solution_in_base(facts: TaskFacts) -> Iterator[RuleHit]:
    """An agent only has to find the fix in a file that a merge, an editor or a build left."""
    copies = {path: changed for changed, path in _copies_of_fixed(facts)}
    for path, changed in copies.items():
        yield warning(path.as_posix(), f"has the content of {changed.as_posix()} after the fix")
    fingerprints = facts.solution_fingerprints()
    known = {*(PurePosixPath(file.path) for file in facts.solution), *copies}
    matches_by_path: dict[PurePosixPath, dict[LeakFingerprint, int]] = {}
    for path, text in facts.base.texts():
        searched = _without_removed_lines(text) if path.suffix in _PATCH_SUFFIXES else text
        found = found_in(searched, fingerprints) if path not in known else {}
        if found:
            matches_by_path[path] = found
    files = Counter(each for found in matches_by_path.values() for each in found)
    total = len(fingerprints)
    for path, found in matches_by_path.items():
        rare = {each: line for each, line in found.items() if files[each] <= _COMMON}
        kind = _backup_kind(path)
        if rare and (kind or len(rare) >= _DISTINCTIVE_SHARE * total):
            of = f"{len(rare)} of {total} distinctive lines of the fix"
            severity = Severity.WARNING if kind else Severity.INFO
            where = f"{path.as_posix()}:{min(rare.values())}"
            yield RuleHit(severity, where, f"{kind or 'another file'} with {of}")


def _without_removed_lines(text: str) -> str:
    """A text that may quote a diff, without the lines that the diff removes."""
    return re.sub(r"(?m)^[>| \t]*-.*$", "", text)


def _copies_of_fixed(facts: TaskFacts) -> Iterator[tuple[PurePosixPath, PurePosixPath]]:
    for changed, file in facts.fixed.items():
        if file is not None and len(file.content.strip()) >= _LEAST_FILE:
            copies = facts.base.equal_to(file.content)
            yield from ((changed, path) for path in copies if path not in facts.fixed)


def solution_named_in_base(facts: TaskFacts) -> Iterator[RuleHit]:
    """A changelog that names what only the fix introduces was written after the fix."""
    added = (line for file in facts.solution for _, line in file.added())
    names = {name for line in added for name in _NAME.findall(line) if _IDENTIFIER.search(name)}
    prose: dict[PurePosixPath, set[str]] = {}
    for path, text in facts.base.texts():
        if not names:
            return
        if path.suffix.lower() not in _PROSE:
            names -= set(_NAME.findall(text))
        elif found := names & set(_NAME.findall(text)):
            prose[path] = found
    for path, found in prose.items():
        new = sorted(found & names)
        if new:
            yield info(path.as_posix(), f"names what only the fix introduces: {', '.join(new)}")


def built_copies_in_base(facts: TaskFacts) -> Iterator[RuleHit]:
    """Byte-code, wheels and source archives of the project may have been built after the fix."""
    stems = {PurePosixPath(file.path).stem for file in facts.solution}
    names = project_names(facts.base)
    for path in facts.base.blobs:
        if path.suffix in {".pyc", ".pyo"}:
            own = not stems or path.name.partition(".")[0] in stems
        else:
            own = _is_archive_of(path, names)
        if own:
            yield warning(path.as_posix(), "may contain the fix: built from an unknown state")


def history_in_base(facts: TaskFacts) -> Iterator[RuleHit]:
    """The workspace is one commit, but a repository among its files has its own history."""
    for where, file in facts.own_histories:
        what = f"its history holds {file} after the fix: remove it before you share the task"
        yield warning(where.as_posix(), what)
    folders = {folder for path in facts.base.blobs for folder in path.parents}
    for path in facts.base.blobs:
        magic, kind = _GIT_FILES.get(path.suffix, (b"", ""))
        content = facts.base.contents.get(path)
        if kind and (content is None or content.startswith(magic)):
            yield warning(path.as_posix(), f"a git {kind}: its history may contain the fix")
        elif path.name == "HEAD" and {path.with_name("objects"), path.with_name("refs")} <= folders:
            what = "a git repository among the files: its history may contain the fix"
            yield warning(path.parent.as_posix(), what)


def tests_in_instruction(facts: TaskFacts) -> Iterator[RuleHit]:
    """An instruction that names hidden tests or quotes their assertions gives answers away."""
    instruction = facts.task.problem.instruction
    for name in sorted(facts.hidden_names & set(re.findall(r"\w+", instruction))):
        yield warning(_INSTRUCTION, f"names the hidden test {name}")
    hidden = [file for file in facts.deciding_files if file.hidden]
    every = {text for file in hidden for text in assertions(file)}
    on_one_line = " ".join(instruction.split())
    quotes = sorted(text for text in every if text in on_one_line)
    if quotes:
        severity = Severity.WARNING if 2 * len(quotes) >= len(every) else Severity.INFO
        what = f"quotes {len(quotes)} of {len(every)} assertions of the hidden tests: {quotes[0]}"
        yield RuleHit(severity, _INSTRUCTION, what)


def assertions(file: DecidingTestFile) -> Iterator[str]:
    """The assertions of a file's deciding tests, each on one line as it is written."""
    lines = re.split("\r\n|\r|\n", file.source)
    for _, function in file.deciding:
        for node in ast.walk(function.node):
            if isinstance(node, ast.Assert) or _asserts_by_call(node):
                text = " ".join(_source_of(lines, node).split())
                if len(text) >= _LEAST_ASSERTION:
                    yield text


def _asserts_by_call(node: ast.AST) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr.startswith("assert")


def _source_of(lines: list[str], node: ast.Assert | ast.Call) -> str:
    # As `ast.get_source_segment`, which splits the whole source again for each node.
    text = lines[node.lineno - 1 : node.end_lineno]
    if node.end_col_offset is not None:
        text[-1] = text[-1].encode()[: node.end_col_offset].decode()
    text[0] = text[0].encode()[node.col_offset :].decode()
    return "\n".join(text)


def _backup_kind(path: PurePosixPath) -> str | None:
    if path.suffix in _PATCH_SUFFIXES:
        return "a patch"
    if path.suffix in _BACKUP_SUFFIXES or path.name.endswith("~"):
        return "a backup copy"
    return "a build's output" if not _BUILD_FOLDERS.isdisjoint(path.parts) else None


def _is_archive_of(path: PurePosixPath, names: frozenset[str]) -> bool:
    found = _WHEEL.fullmatch(path.name) or _SDIST.fullmatch(path.name)
    eggs = [part for part in path.parts[:-1] if part.endswith(".egg")]
    if found is None and not eggs:
        return False
    name = found.group(1) if found is not None else eggs[0].partition("-")[0]
    return not names or canonicalize_name(name) in names
