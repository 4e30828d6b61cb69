"""Commits of a mirrored repository, the files they change, and patches between them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from agentbench.errors import InputError
from agentbench.tasks.host_git import GitResult, git
from agentbench.tasks.mirror import Mirror, Mirrors
from agentbench.tasks.task import RepoSource

_FORMAT = "%H%x00%P%x00%cI%x00%B"
_HASH_LENGTH = 40  # hex digits of a whole one


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit, without its content."""

    hash: str
    parents: tuple[str, ...]
    date: datetime
    """When it was committed."""
    message: str

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.strip().partition("\n")[0].strip()

    @property
    def base(self) -> str | None:
        """The commit that it was made on; of a merge, the branch that was merged into."""
        return self.parents[0] if self.parents else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that a commit changes."""

    path: PurePosixPath
    status: str
    """git's letter: A added, D deleted, M modified, T of another type."""
    regular: bool
    """Whether it is a plain file before and after: no link, no submodule."""


def mirror_of_head(url: str, mirrors: Mirrors) -> Mirror:
    """A mirror that holds what the repository's HEAD names now.

    Raises:
        InputError: there is no such repository, or it has no commit.
        GitCloneError: it does not answer.
    """
    answer = git("ls-remote", "--quiet", "--", url, "HEAD", cwd=Path("/"), sealed=False)
    if not answer.ok:
        raise InputError(f"{url}: expected a git repository: {answer.error_message}")
    head = answer.stdout.decode("ascii", "replace").split("\t")[0].strip()
    if len(head) != _HASH_LENGTH:
        raise InputError(f"{url}: the repository has no commit that HEAD names")
    return mirrors.of(RepoSource(url=url, commit=head))


def find_commit(mirror: Mirror, name: str) -> Commit:
    """The commit that a hash, its beginning, a tag or a branch names.

    Raises:
        InputError: nothing of that name is there, or it is no commit.
    """
    answer = _git(mirror, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    if not answer.ok:
        raise InputError(f"{name}: expected a commit of the repository: {answer.error_message}")
    return next(
        _parse_commits(_git(mirror, "log", "-1", *_log_format(), answer.stdout.decode().strip()))
    )


def list_commits(
    mirror: Mirror, *, since: str | None = None, until: str | None = None
) -> Iterator[Commit]:
    """The commits that HEAD of the mirror is made of, newest first; merges are left out.

    Args:
        mirror: The repository.
        since: Only commits after this; a date, or what else git understands.
        until: Only commits before this.

    Raises:
        InputError: the history cannot be read.
    """
    limits = [f"--since={since}"] * (since is not None) + [f"--until={until}"] * (until is not None)
    answer = _git(mirror, "log", "--no-merges", *_log_format(), *limits, mirror.commit)
    if not answer.ok:
        raise InputError(f"the history cannot be read: {answer.error_message}")
    return _parse_commits(answer)


def changed_files(mirror: Mirror, base: str, commit: str) -> tuple[ChangedFile, ...]:
    """The files that differ between two commits; a renamed one is one deleted and one added.

    Raises:
        InputError: the repository is damaged.
    """
    answer = _git(mirror, "diff-tree", "-r", "-z", "--raw", "--no-renames", base, commit)
    if not answer.ok:
        raise InputError(f"{commit}: cannot be compared: {answer.error_message}")
    fields = answer.stdout.split(b"\0")
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
    answer = _git(
        mirror, "diff", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
        "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", base, commit, "--",
        *(f":(literal){path}" for path in paths),
    )  # fmt: skip
    if not answer.ok:
        raise InputError(f"{commit}: cannot be compared: {answer.error_message}")
    return answer.stdout


def content_at(mirror: Mirror, commit: str, path: PurePosixPath) -> bytes | None:
    """What a file held at a commit; None where it was not there."""
    answer = _git(mirror, "cat-file", "blob", f"{commit}:{path}")
    return answer.stdout if answer.ok else None


def _parse_change(meta: str, path: str) -> ChangedFile:
    before, after, _, _, status = meta.lstrip(":").split()
    regular = all(mode in {"000000", "100644", "100755"} for mode in (before, after))
    return ChangedFile(path=PurePosixPath(path), status=status[0], regular=regular)


def _log_format() -> tuple[str, ...]:
    return ("-z", f"--format={_FORMAT}", "--encoding=UTF-8", "--no-show-signature")


def _parse_commits(answer: GitResult) -> Iterator[Commit]:
    fields = answer.stdout.decode("utf-8", "replace").split("\0")
    for at in range(0, len(fields) - 3, 4):
        full, parents, date, message = fields[at : at + 4]
        yield Commit(
            hash=full,
            parents=tuple(parents.split()),
            date=datetime.fromisoformat(date),
            message=message,
        )


def _git(mirror: Mirror, *arguments: str) -> GitResult:
    return git(*arguments, cwd=mirror.path, env={"GIT_DIR": str(mirror.path)})
