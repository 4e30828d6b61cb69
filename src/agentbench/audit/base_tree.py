"""The files that an agent is given, and what the project is called by its own files.

They are read from the harness's own mirror.
"""

import ast
import configparser
import hashlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from agentbench.core import python_syntax
from agentbench.core.files import owned_folder
from agentbench.errors import GitCloneError
from agentbench.tasks.mirror import Mirror

_LARGEST_FILE = 2 * 1024 * 1024
_LARGEST_TREE = 128 * 1024 * 1024  # of contents; the rest of a larger one is not looked into
_BATCH_BYTES = 16 * 1024 * 1024  # bytes that git is asked for at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseTree:
    """A commit's regular files: git's hash of each, and the contents of those not too large."""

    blobs: Mapping[PurePosixPath, str] = field(default_factory=dict)
    contents: Mapping[PurePosixPath, bytes] = field(default_factory=dict)

    @property
    def unread(self) -> int:
        """How many files were too large, or too many, to be looked into."""
        return len(self.blobs) - len(self.contents)

    def content(self, path: PurePosixPath) -> bytes | None:
        """A file's content; `None` where there is none, or it was too large."""
        return self.contents.get(path)

    def text(self, path: str) -> str | None:
        """A file's content as text; `None` where there is none, or it is no text."""
        content = self.contents.get(PurePosixPath(path))
        if content is None or b"\0" in content:
            return None
        return content.decode("utf-8", "replace")

    def texts(self) -> Iterator[tuple[PurePosixPath, str]]:
        """All files that are text."""
        for path in self.contents:
            text = self.text(path.as_posix())
            if text is not None:
                yield path, text

    def equal_to(self, content: bytes) -> list[PurePosixPath]:
        """The files of just this content, also large ones."""
        hashes = {blob_hash(content, kind) for kind in ("sha1", "sha256")}
        return [path for path, blob in self.blobs.items() if blob in hashes]


def blob_hash(content: bytes, kind: str) -> str:
    """The name that git gives a content."""
    return hashlib.new(
        kind, b"blob %d\0" % len(content) + content, usedforsecurity=False
    ).hexdigest()


def read_base(mirror: Mirror) -> BaseTree:
    """Read the files of a mirror's commit.

    Raises:
        GitCloneError: the mirror has no such commit, or is damaged.
    """
    listing = _git_output(mirror, "ls-tree", "-r", "-l", "-z", "--full-tree", mirror.commit)
    blobs: dict[PurePosixPath, str] = {}
    wanted: list[tuple[PurePosixPath, int]] = []
    room = _LARGEST_TREE
    for entry in listing.split(b"\0")[:-1]:
        head, _, name = entry.partition(b"\t")
        mode, _, blob, size = head.split()
        if not mode.startswith(b"100"):  # a symlink or a submodule
            continue
        path = PurePosixPath(os.fsdecode(name))
        blobs[path] = blob.decode()
        if int(size) <= min(_LARGEST_FILE, room):
            wanted.append((path, int(size)))
            room -= int(size)
    contents: dict[PurePosixPath, bytes] = {}
    for batch in _batches(wanted):
        contents.update(zip(batch, _contents(mirror, [blobs[p] for p in batch]), strict=True))
    return BaseTree(blobs=blobs, contents=contents)


def _batches(wanted: list[tuple[PurePosixPath, int]]) -> Iterator[list[PurePosixPath]]:
    batch: list[PurePosixPath] = []
    held = 0
    for path, size in wanted:
        if batch and held + size > _BATCH_BYTES:
            yield batch
            batch, held = [], 0
        batch.append(path)
        held += size
    if batch:
        yield batch


def _contents(mirror: Mirror, blobs: list[str]) -> Iterator[bytes]:
    with owned_folder("agentbench-audit-") as scratch:
        names = scratch / "names"
        names.write_text("".join(f"{blob}\n" for blob in blobs), "ascii")
        answer = _git_output(mirror, "cat-file", "--batch", "--buffer", stdin=names)
    at = 0
    for _ in blobs:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].split()[2])
        yield answer[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _git_output(mirror: Mirror, *arguments: str, stdin: Path | None = None) -> bytes:
    return mirror.git(*arguments, stdin=stdin).output_or(
        lambda message: GitCloneError(f"{mirror.path}: {message}")
    )


_LONGEST_LINE = 500  # configparser's time grows with the square of it


def normalized_name(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).strip("-").lower()


def project_names(base: BaseTree) -> frozenset[str]:
    """The names that a base tree's own configuration gives it, normalised."""
    found = {
        normalized_name(name)
        for file, names_in in (
            ("pyproject.toml", _of_pyproject),
            ("setup.cfg", _of_setup_cfg),
            ("setup.py", _of_setup_py),
        )
        if (text := base.text(file)) is not None
        for name in names_in(text)
    }
    return frozenset(found - {""})


def _of_pyproject(text: str) -> Iterator[str]:
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError):
        return
    tool = table.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    for owner in (table.get("project"), poetry):
        name = owner.get("name") if isinstance(owner, dict) else None
        if isinstance(name, str):
            yield name


def _of_setup_cfg(text: str) -> Iterator[str]:
    parser = configparser.RawConfigParser(strict=False)
    short = (line for line in text.splitlines() if len(line) <= _LONGEST_LINE)
    try:
        parser.read_file(short)
        yield parser.get("metadata", "name", fallback="")
    except configparser.Error:
        return


def _of_setup_py(text: str) -> Iterator[str]:
    try:
        tree = python_syntax.parse(text)
    except python_syntax.UNPARSABLE:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                value = keyword.value
                if keyword.arg == "name" and isinstance(value, ast.Constant):
                    yield str(value.value)
