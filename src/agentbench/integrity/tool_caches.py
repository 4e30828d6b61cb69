"""Separates tool caches, such as byte-code, from a change, since they are not work of the agent.

A cache is recognised by its path and content: nothing in it can be imported, byte-code fits a
source next to it, and the repository has none of it. All other files stay in the change.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentbench.core.files import FileContent
from agentbench.core.schema import Schema
from agentbench.integrity.trees import WorkspaceTree

PatchedFiles = Mapping[PurePosixPath, FileContent | None]

_FOLDERS = frozenset(
    {".hypothesis", ".mypy_cache", ".pytest_cache", ".pytype", ".ruff_cache", "htmlcov",
     ".nyc_output", ".vitest"}
)  # fmt: skip
# These hold JavaScript, which no project loads from there.
_FOLDERS_WITH_CODE = frozenset(
    {"node_modules/.cache", "node_modules/.vite", "node_modules/.vite-temp", "node_modules/.vitest",
     "coverage/lcov-report"}
)  # fmt: skip
_IMPORTABLE = frozenset({".pth", ".py", ".pyc", ".pyd", ".pyo", ".so"})
_LOADED_BY_NODE = frozenset({".cjs", ".js", ".mjs", ".node"})
_COVERAGE = re.compile(r"\.coverage(\.(?!rc$).+)?")
_BYTE_CODE = re.compile(r"(?P<source>\w+)\.[a-z]+-?\d[\w.-]*\.pyc")
_PYCACHE = "__pycache__"
_HEADER = 16  # bytes of byte-code: magic, flags, the source's time and size
_CHECKED_HASH = b"\x03\0\0\0"
_LISTED = 100


class ToolCache(Schema):
    """A folder or file of a tool's cache."""

    path: str
    """The path, relative to the repository."""
    files: int
    """The number of changed files in it."""
    size: int
    """The bytes of these files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatedChange:
    """A change without tool caches, and the caches."""

    files: dict[PurePosixPath, FileContent | None]
    caches: tuple[ToolCache, ...]


def cache_of(path: PurePosixPath) -> PurePosixPath | None:
    """The cache of a path by its name; None for other files."""
    if _COVERAGE.fullmatch(path.name) or path.name == ".dmypy.json":
        return path
    if path.parent.name == _PYCACHE and _BYTE_CODE.fullmatch(path.name):
        return path.parent
    for folder in path.parents:
        if "/".join(folder.parts[-2:]) in _FOLDERS_WITH_CODE:
            return folder
    if path.suffix in _IMPORTABLE:
        return None
    found = next((folder for folder in path.parents if folder.name in _FOLDERS), None)
    # The pages of coverage.py have scripts of their own.
    is_page = found is not None and found.name == "htmlcov"
    return None if path.suffix in _LOADED_BY_NODE and not is_page else found


def separate_caches(
    files: PatchedFiles, base: WorkspaceTree, tracked: Callable[[], AbstractSet[PurePosixPath]]
) -> SeparatedChange:
    """Separate tool caches from a change.

    Args:
        files: The change.
        base: The base of the change: the repository and the files that set-up added.
        tracked: The repository's files; called only if the base has a part of a cache.
    """
    found: dict[PurePosixPath, PurePosixPath] = {}
    for path, file in files.items():
        cache = cache_of(path)
        if cache is not None and (
            cache.name != _PYCACHE or file is None or _matches_source(path, file, files, base)
        ):
            found[path] = cache
    if any(path in base or cache in base for path, cache in found.items()):
        owned = tracked()
        folders = {folder for path in owned for folder in path.parents}
        found = {
            path: cache
            for path, cache in found.items()
            if path not in owned and (cache.name == _PYCACHE or cache not in folders)
        }
    # Neither written to the final test's sandbox nor counted: no agent means to change them.
    work = {path: file for path, file in files.items() if path not in found}
    return SeparatedChange(files=work, caches=tuple(_listed(files, found)))


# Whether Python or pytest may have created byte-code from the source next to it. Python compares
# byte-code with its source by size and time, or by a hash (pytest's). Unchecked byte-code, which no
# tool writes by default, counts as the agent's.
def _matches_source(
    path: PurePosixPath, code: FileContent, files: PatchedFiles, base: WorkspaceTree
) -> bool:
    named = _BYTE_CODE.fullmatch(path.name)
    assert named is not None
    source = path.parent.parent / f"{named['source']}.py"
    changed = files.get(source)
    entry = base.get(source)
    size = len(changed.content) if changed is not None else entry.size if entry else None
    if size is None or (source in files and changed is None):
        return False
    header = code.content[:_HEADER]
    if len(header) == _HEADER and header[4:8] == _CHECKED_HASH:
        return True
    return header[4:8] == bytes(4) and header[12:16] == (size & 0xFFFFFFFF).to_bytes(4, "little")


# The caches by path; beyond a limit, they are added up.
def _listed(
    files: PatchedFiles, found: Mapping[PurePosixPath, PurePosixPath]
) -> Iterator[ToolCache]:
    amounts: dict[str, tuple[int, int]] = {}
    for path, cache in sorted(found.items()):
        name = cache.as_posix()
        if name not in amounts and len(amounts) >= _LISTED:
            name = "others"
        count, size = amounts.get(name, (0, 0))
        file = files[path]
        amounts[name] = count + 1, size + (len(file.content) if file is not None else 0)
    for name, (count, size) in amounts.items():
        yield ToolCache(path=name, files=count, size=size)
