"""The files that an agent is given, read from the harness's own mirror, and the project's names."""

import ast
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name

from agentbench.core.files import owned_folder
from agentbench.errors import GitCloneError
from agentbench.tasks.mirror import Mirror
from agentbench.tasks.project_declaration import table_in, text_in
from agentbench.tasks.project_files import parse_ini, parse_python, parse_toml

_LARGEST_FILE = 2 * 1024 * 1024
_LARGEST_TREE = 128 * 1024 * 1024  # of contents; the rest of a larger one is not read
_BATCH_BYTES = 16 * 1024 * 1024  # bytes that are requested from git at a time
_LONGEST_LINE = 500  # configparser's time grows with the square of it


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseTree:
    """A commit's regular files: git's hash of each, and the contents of those not too large."""

    blobs: Mapping[PurePosixPath, str] = field(default_factory=dict)
    contents: Mapping[PurePosixPath, bytes] = field(default_factory=dict)

    @property
    def unread(self) -> int:
        """How many files were too large, or too many, to be read."""
        return len(self.blobs) - len(self.contents)

    def text(self, path: str) -> str | None:
        """A file's content as text; `None` if there is none, or it is not text."""
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
        """The files with exactly this content, also large ones."""
        hashes = {blob_hash(content, kind) for kind in ("sha1", "sha256")}
        return [path for path, blob in self.blobs.items() if blob in hashes]


def blob_hash(content: bytes, kind: str) -> str:
    """The name that git gives a content."""
    blob = b"blob %d\0" % len(content) + content
    return hashlib.new(kind, blob, usedforsecurity=False).hexdigest()


def read_base(mirror: Mirror) -> BaseTree:
    """Read the files of a mirror's commit.

    Raises:
        GitCloneError: the mirror has no such commit, or is damaged.
    """
    listing = _git_output(mirror, "ls-tree", "-r", "-l", "-z", "--full-tree", mirror.commit)
    blobs: dict[PurePosixPath, str] = {}
    files: list[tuple[PurePosixPath, int]] = []
    remaining_bytes = _LARGEST_TREE
    for entry in listing.split(b"\0")[:-1]:
        head, _, name = entry.partition(b"\t")
        mode, _, blob, size = head.split()
        if not mode.startswith(b"100"):  # a symlink or a submodule
            continue
        path = PurePosixPath(os.fsdecode(name))
        blobs[path] = blob.decode()
        if int(size) <= min(_LARGEST_FILE, remaining_bytes):
            files.append((path, int(size)))
            remaining_bytes -= int(size)
    contents: dict[PurePosixPath, bytes] = {}
    for batch in _batches(files):
        contents.update(zip(batch, _contents(mirror, [blobs[p] for p in batch]), strict=True))
    return BaseTree(blobs=blobs, contents=contents)


def _batches(files: list[tuple[PurePosixPath, int]]) -> Iterator[list[PurePosixPath]]:
    batch: list[PurePosixPath] = []
    batch_bytes = 0
    for path, size in files:
        if batch and batch_bytes + size > _BATCH_BYTES:
            yield batch
            batch, batch_bytes = [], 0
        batch.append(path)
        batch_bytes += size
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


def project_names(base: BaseTree) -> frozenset[str]:
    """The names that a base tree's own configuration gives it, normalised."""
    pyproject = parse_toml(base.text("pyproject.toml"))
    lines = (base.text("setup.cfg") or "").splitlines()
    setup_cfg = parse_ini("\n".join(line for line in lines if len(line) <= _LONGEST_LINE))
    names = {
        text_in(table_in(pyproject, "project"), "name"),
        text_in(table_in(pyproject, "tool", "poetry"), "name"),
        setup_cfg.get("metadata", "name", fallback=""),
        *_names_in_setup_py(parse_python(base.text("setup.py"))),
    }
    return frozenset(canonicalize_name(name) for name in names if name)


def _names_in_setup_py(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    yield str(keyword.value.value)
