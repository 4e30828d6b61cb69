"""Reads the history and the trees of a mirrored repository, and applies patches to a commit.

A patch is applied on the host, once per task and on the harness's own mirror, so that git need not
run in the container of the final test.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from agentbench.core.files import FileContent, owned_folder
from agentbench.errors import InputError
from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.task import RepoSource

_LOG_FORMAT = (
    "-z", "--format=%H%x00%P%x00%cI%x00%B", "--encoding=UTF-8", "--no-show-signature"
)  # fmt: skip
_HASH_LENGTH = 40  # hex digits
PatchedFiles = Mapping[PurePosixPath, FileContent | None]
"""The files of a patch, by path: their new content, or `None` if they are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit, without its content."""

    hash: str
    parents: tuple[str, ...]
    date: datetime  # the committer's date
    message: str

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.strip().partition("\n")[0].strip()

    @property
    def base(self) -> str | None:
        """Its first parent: for a merge, the branch that was merged into."""
        return self.parents[0] if self.parents else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that a commit changes."""

    path: PurePosixPath
    regular: bool  # whether it is a plain file before and after, not a link or a submodule


def mirror_of_head(url: str, mirrors: Mirrors) -> Mirror:
    """A mirror that holds the commit that the repository's HEAD names now.

    Raises:
        InputError: there is no such repository, or it has no commit.
        GitCloneError: the repository does not answer.
    """
    answer = git("ls-remote", "--quiet", "--", url, "HEAD", cwd=Path("/"), isolated=False)
    listing = answer.output_or(
        lambda message: InputError(f"{url}: expected a git repository: {message}")
    )
    head = listing.decode("ascii", "replace").split("\t")[0].strip()
    if len(head) != _HASH_LENGTH:
        raise InputError(f"{url}: the repository's HEAD is not a commit")
    return mirrors.of(RepoSource(url=url, commit=head))


def find_commit(mirror: Mirror, name: str) -> Commit:
    """The commit with this hash, start of a hash, tag or branch.

    Raises:
        InputError: there is no such name, or it is not a commit.
    """
    answer = mirror.git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    full = answer.output_or(
        lambda message: InputError(f"{name}: expected a commit of the repository: {message}")
    )
    log = mirror.git("log", "-1", *_LOG_FORMAT, full.decode().strip())
    return next(_parse_commits(log.stdout))


def list_commits(
    mirror: Mirror, *, since: str | None = None, until: str | None = None
) -> Iterator[Commit]:
    """The commits of the mirror's HEAD, newest first, without merges.

    Args:
        mirror: The repository.
        since: Only commits after this date, in any form that git understands.
        until: Only commits before this date.

    Raises:
        InputError: the history cannot be read.
    """
    limits = [f"--since={since}"] * (since is not None) + [f"--until={until}"] * (until is not None)
    answer = mirror.git("log", "--no-merges", *_LOG_FORMAT, *limits, mirror.commit)
    return _parse_commits(
        answer.output_or(lambda message: InputError(f"the history cannot be read: {message}"))
    )


def changed_files(mirror: Mirror, base: str, commit: str) -> tuple[ChangedFile, ...]:
    """The files that differ between two commits; a renamed file counts as deleted and added.

    Raises:
        InputError: the repository is damaged.
    """
    answer = mirror.git("diff-tree", "-r", "-z", "--raw", "--no-renames", base, commit)
    fields = answer.output_or(_comparison_error(commit)).split(b"\0")
    return tuple(
        _parse_change(meta.decode(), os.fsdecode(path))
        for meta, path in zip(fields[::2], fields[1::2], strict=False)
    )


def patch_between(mirror: Mirror, base: str, commit: str, paths: Sequence[PurePosixPath]) -> bytes:
    """The difference of some files between two commits, as a git patch.

    Raises:
        InputError: the repository is damaged.
    """
    if not paths:
        return b""
    return mirror.git(
        "diff", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
        "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", base, commit, "--",
        *(f":(literal){path}" for path in paths),
    ).output_or(_comparison_error(commit))  # fmt: skip


def _comparison_error(commit: str) -> Callable[[str], InputError]:
    return lambda message: InputError(f"{commit}: cannot be compared: {message}")


def content_at(mirror: Mirror, commit: str, path: PurePosixPath) -> bytes | None:
    """The content of a file at a commit; None if the commit does not have it."""
    answer = mirror.git("cat-file", "blob", f"{commit}:{path}")
    return answer.stdout if answer.ok else None


def _parse_change(meta: str, path: str) -> ChangedFile:
    before, after, *_ = meta.lstrip(":").split()
    regular = all(mode in {"000000", "100644", "100755"} for mode in (before, after))
    return ChangedFile(path=PurePosixPath(path), regular=regular)


def _parse_commits(log: bytes) -> Iterator[Commit]:
    fields = log.decode("utf-8", "replace").split("\0")
    for at in range(0, len(fields) - 3, 4):
        full, parents, date, message = fields[at : at + 4]
        yield Commit(
            hash=full,
            parents=tuple(parents.split()),
            date=datetime.fromisoformat(date),
            message=message,
        )


class PatchDoesNotApplyError(ValueError):
    """A patch cannot be applied; the text says why, as the rest of a sentence about the patch."""


def apply_patch_to_commit(patch: bytes, mirror: Mirror) -> PatchedFiles:
    """Apply a patch to the mirror's commit, in a scratch index.

    Raises:
        PatchDoesNotApplyError: git refuses it, or it creates a symlink or a submodule.
    """
    return _patched_files(patch, mirror) if patch.strip() else {}


@lru_cache(maxsize=64)  # the attempts at a task use the same patches
def _patched_files(patch: bytes, mirror: Mirror) -> PatchedFiles:
    commit = mirror.commit
    with scratch_index(mirror) as (folder, env):
        (folder / "patch").write_bytes(patch)
        index_git(env, "read-tree", commit)
        apply = ("apply", "--cached", "--whitespace=nowarn", str(folder / "patch"))
        try:
            index_git(env, *apply)
        except PatchDoesNotApplyError as error:
            for fault, mended in _mended_line_ends(patch):
                (folder / "patch").write_bytes(mended)
                if git(*apply, cwd=mirror.path, env=env).ok:
                    raise PatchDoesNotApplyError(fault) from error
            raise
        listing = index_git(env, "diff-index", "--cached", "-z", "--raw", "--no-renames", commit)
        return MappingProxyType(_listed_files(listing, env))


def _mended_line_ends(patch: bytes) -> Iterator[tuple[str, bytes]]:
    """What can be wrong with a patch's line ends, which git's message hides, and it without that.

    Git takes a patch without its last line feed for cut off ("corrupt patch").
    """
    whole = patch if patch.endswith(b"\n") else patch + b"\n"
    if whole != patch:
        yield "lacks its last line feed; add one", whole
    if b"\r\n" in whole:
        mended = whole.replace(b"\r\n", b"\n")
        yield "has lines that end in CRLF, and the files have LF; save it with LF", mended


@contextmanager
def scratch_index(mirror: Mirror) -> Iterator[tuple[Path, dict[str, str]]]:
    """A scratch folder, and git's variables for an index and new objects in it."""
    with owned_folder("agentbench-patch-") as folder:
        (folder / "objects").mkdir()
        scratch = {
            "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(mirror.path / "objects"),
        }
        yield folder, mirror.git_env | scratch


def _listed_files(
    listing: bytes, env: Mapping[str, str]
) -> dict[PurePosixPath, FileContent | None]:
    fields = listing.split(b"\0")
    files: dict[PurePosixPath, FileContent | None] = {}
    for meta, raw_path in zip(fields[::2], fields[1::2], strict=False):
        _, mode, _, blob, status = meta.decode().split()
        path = PurePosixPath(os.fsdecode(raw_path))
        if status == "D":
            files[path] = None
        elif not mode.startswith("100"):
            kind = "a symlink" if mode == "120000" else "a submodule"
            raise PatchDoesNotApplyError(
                f"makes {path} {kind}; a task's patches may only change regular files"
            )
        else:
            content = index_git(env, "cat-file", "blob", blob)
            files[path] = FileContent(content=content, executable=mode == "100755")
    return files


def index_git(env: Mapping[str, str], *arguments: str) -> bytes:
    """Run git with the variables of a scratch index, and return its output.

    Raises:
        PatchDoesNotApplyError: git fails.
    """
    return git(*arguments, cwd=Path(env["GIT_DIR"]), env=env).output_or(
        lambda message: PatchDoesNotApplyError(f"does not apply to the base commit: {message}")
    )


def write_commit_files(mirror: Mirror, commit: str, folder: Path) -> None:
    """Write a commit's files into a new folder, also those that `.gitattributes` excludes.

    Raises:
        InputError: the repository is damaged.
        OSError: the folder cannot be created.
    """
    folder.mkdir(parents=True)
    with scratch_index(mirror) as (_, env):
        env["GIT_WORK_TREE"] = str(folder.resolve())
        for arguments in (("read-tree", commit), ("checkout-index", "--all", "--force")):
            git(*arguments, cwd=folder, env=env).output_or(
                lambda message: InputError(f"{commit}: cannot be checked out: {message}")
            )
