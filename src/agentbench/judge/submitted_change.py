"""Changes to judge: a patch, or the tree that an agent left."""

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from agentbench.agents.interface import Agent
from agentbench.agents.predictions import PredictionsAgent
from agentbench.agents.submitted_tree import TreeAgent
from agentbench.errors import InputError, UsageError
from agentbench.tasks.problem import TaskId

JUDGE_AGENT: Final = "judge"
"""The name of the agent in the records of judged changes."""
MAX_TREE_BYTES = 512 << 20
MAX_TREE_ENTRIES = 200_000
MAX_PATCH_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedChange:
    """A change to judge. Equal changes have equal digests."""

    digest: str
    """The sha256 of its kind and its content, in hexadecimal digits."""
    content: bytes
    """The patch, or a tar of the tree in a canonical form."""
    paths: frozenset[PurePosixPath] | None = None
    """The files and links of the tree; None: it is a patch."""

    @classmethod
    def of(
        cls,
        *,
        patch: Path | str | bytes | None = None,
        tree: Path | str | bytes | None = None,
    ) -> "SubmittedChange":
        """The change of a patch or of a tree.

        Args:
            patch: A unified diff against the task's base commit, or the path of a file that holds
                one; text is the diff itself. An empty one changes nothing.
            tree: The files of the changed repository: a folder, or a tar without compression.

        Raises:
            UsageError: both are given, or neither is.
            InputError: the patch cannot be read or is too large, or the tree is not a folder or tar
                of plain files.
        """
        if (patch is None) == (tree is None):
            raise UsageError(
                "expected a patch or a tree, found " + ("both" if patch else "neither")
            )
        for name, value in (("patch", patch), ("tree", tree)):
            if not isinstance(value, Path | str | bytes | None):
                raise UsageError(f"{name}: expected a path, text or bytes, found {value!r}")
        if isinstance(patch, Path):
            file = patch
            try:
                patch = file.read_bytes()
            except OSError as error:
                raise InputError(f"patch: {file}: cannot be read: {error.strerror}") from None
        if patch is not None:
            # Half of a surrogate pair is not text: such a patch does not apply, by its author's
            # fault.
            data = patch.encode("utf-8", "surrogatepass") if isinstance(patch, str) else patch
            # git treats a patch without a last newline as truncated.
            if data and not data.endswith(b"\n"):
                data += b"\n"
            if len(data) > MAX_PATCH_BYTES:
                raise InputError(
                    f"patch: expected at most {MAX_PATCH_BYTES >> 20} MiB, "
                    f"found {len(data) / 2**20:.1f} MiB"
                )
            return cls(digest=_digest(b"patch", data), content=data)
        assert tree is not None
        members = _tar_members(tree) if isinstance(tree, bytes) else _folder_members(Path(tree))
        content, paths = _canonical_tar(members)
        return cls(digest=_digest(b"tree", content), content=content, paths=paths)

    def agent(self, task_id: TaskId) -> Agent:
        if self.paths is not None:
            return TreeAgent(name=JUDGE_AGENT, tar=self.content, paths=self.paths)
        return PredictionsAgent({task_id: self.content or None}, name=JUDGE_AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    path: PurePosixPath
    content: bytes = b""
    executable: bool = False
    target: str | None = None  # of a symlink


def _digest(kind: bytes, content: bytes) -> str:
    return hashlib.sha256(kind + b"\0" + content).hexdigest()


def _folder_members(folder: Path) -> Iterator[_Member]:
    if not folder.is_dir():
        raise InputError(f"{folder}: expected the folder of a tree, found none")
    for parent, folders, names in os.walk(folder):
        if Path(parent) == folder:
            folders[:] = [each for each in folders if each != ".git"]
        links = [each for each in folders if Path(parent, each).is_symlink()]
        for name in (*names, *links):
            path = Path(parent, name)
            relative = PurePosixPath(path.relative_to(folder))
            if relative.parts[0] == ".git":
                continue
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                yield _Member(path=relative, target=str(path.readlink()))
            elif stat.S_ISREG(status.st_mode):
                executable = bool(status.st_mode & stat.S_IXUSR)
                yield _Member(path=relative, content=path.read_bytes(), executable=executable)
            else:
                raise InputError(f"tree: {relative}: expected a file or a link, found a device")


def _tar_members(content: bytes) -> Iterator[_Member]:
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:", errorlevel=1) as archive:
            for member in archive:
                path = PurePosixPath(member.name)
                # The tar may come from another machine over HTTP.
                if path.is_absolute() or ".." in path.parts:
                    raise InputError(f"tree: {member.name!r}: expected a path inside the tree")
                if member.isdir() or not path.parts or path.parts[0] == ".git":
                    continue
                total += member.size
                if total > MAX_TREE_BYTES:
                    raise _too_large()
                if member.issym():
                    yield _Member(path=path, target=member.linkname)
                elif member.isreg():
                    source = archive.extractfile(member)
                    assert source is not None
                    executable = bool(member.mode & stat.S_IXUSR)
                    yield _Member(path=path, content=source.read(), executable=executable)
                else:
                    raise InputError(
                        f"tree: {path}: expected a file, a folder or a symbolic link, found "
                        f"another kind of entry"
                    )
    except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
        raise InputError(f"tree: expected a tar without compression: {error}") from None


def _too_large() -> InputError:
    return InputError(
        f"tree: expected at most {MAX_TREE_BYTES >> 20} MiB in {MAX_TREE_ENTRIES} files, found more"
    )


def _canonical_tar(members: Iterator[_Member]) -> tuple[bytes, frozenset[PurePosixPath]]:
    # In the order of the paths, without times and owners: equal trees have equal digests.
    found: dict[PurePosixPath, _Member] = {}
    total = 0
    for member in members:
        # The last entry of a path counts, as when a tar is unpacked.
        found[member.path] = member
        total += len(member.content)
        if total > MAX_TREE_BYTES or len(found) > MAX_TREE_ENTRIES:
            raise _too_large()
    for path in found:
        if not found.keys().isdisjoint(path.parents):
            raise InputError(f"tree: {path}: lies below a path that is a file or a link")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, member in sorted(found.items()):
            info = tarfile.TarInfo(path.as_posix())
            info.mode = 0o755 if member.executable else 0o644
            if member.target is not None:
                info.type, info.linkname = tarfile.SYMTYPE, member.target
            info.size = len(member.content)
            archive.addfile(info, io.BytesIO(member.content))
    return buffer.getvalue(), frozenset(found)
