"""Mirrors: bare repositories on the host, one per origin, that workspaces are checked out from.

They are on the host because that is where a user's credentials are; they are cached, and changed
under a file lock. Each has a checksum over all its files: one that was damaged on disk (git does
not read every byte, nor check its own settings) is made again when a process first needs it.
"""

import hashlib
import logging
import os
import shutil
from collections.abc import Set
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event

from pydantic import ValidationError

from agentbench.errors import GitCloneError, GitCloneTimeoutError
from agentbench.core.file_locks import FileLock, LockHeldError
from agentbench.core.file_locks import SharedLock
from agentbench.core.owned_folder import owned_folder
from agentbench.core.checksums import ChecksummedDocument
from agentbench.core.checksums import is_undamaged, tree_checksum
from agentbench.core.files import write_atomically
from agentbench.tasks.host_git import git, GitResult
from agentbench.core.redaction import without_credentials
from agentbench.tasks.task import RepoSource

# What running the tests by hand leaves behind; it must not change a commit's hash.
_DEBRIS = frozenset({"__pycache__", ".pytest_cache", ".hypothesis", ".git"})
_INIT_COMMAND = ("init", "--quiet", "--bare", "--initial-branch=main", "--template=", ".")
_COMMIT_COMMAND = (
    "commit",
    "--quiet",
    "--allow-empty",
    "--no-verify",
    "--message",
    "The task's repository",
)

_CHECKSUM_FILE = "agentbench.json"
_LOG = logging.getLogger("agentbench.cache")

CLONE_TIMEOUT = timedelta(minutes=30)
"""How long a clone may take; the largest public repositories need some minutes."""


class MirrorChecksum(ChecksummedDocument):
    """What is written into a mirror beside git's own files."""

    tree: str  # the digest of those


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A bare repository that holds the commit a task starts from."""

    path: Path
    commit: str
    has_commit: bool = True  # false: the origin answered and has no such commit
    use: SharedLock | None = field(default=None, compare=False, repr=False)  # against eviction


class Mirrors:
    """The mirrors below one folder of the host; safe to share between threads and processes."""

    def __init__(
        self,
        folder: Path,
        *,
        timeout: timedelta = CLONE_TIMEOUT,
        cancel: Event | None = None,
    ) -> None:
        self._folder = folder.resolve()
        self._timeout = timeout
        self._cancel = cancel

    def of(self, source: RepoSource) -> Mirror:
        """The mirror of a source, made or refreshed only if it lacks the commit.

        Raises:
            GitCloneError: the origin does not answer or is no repository.
            RunCancelled: a clone or fetch was cancelled.
        """
        if source.files is not None:
            return self._of_files(source.files)
        assert source.url is not None  # the task file has checked both
        assert source.commit is not None
        return self._of_url(source.url, source.commit)

    def present(self, source: RepoSource) -> Mirror | None:
        """The mirror of a URL, if it has the commit and nobody makes it; nothing is fetched."""
        assert source.url is not None
        assert source.commit is not None
        path = self._path_of(source.url)
        if not path.exists():
            return None
        lock = FileLock(path.with_name(f"{path.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except LockHeldError:
            return None
        try:
            if not _is_usable(path) or not _has_commit(path, source.commit):
                return None
            return Mirror(path=path, commit=source.commit, use=SharedLock(path))
        finally:
            lock.release()

    def _path_of(self, url: str) -> Path:
        return self._folder / f"url-{hashlib.sha256(url.encode()).hexdigest()[:32]}.git"

    def _of_files(self, files: Path) -> Mirror:
        path = self._folder / f"files-{tree_digest(files)[:32]}.git"
        self._folder.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f"{path.name}.lock")):
            if not _is_usable(path):
                _commit_files(files, path)
            use = SharedLock(path)
        answer = git(
            "rev-parse", "--verify", "refs/heads/main^{commit}", cwd=path, env=_git_env(path)
        )
        if not answer.ok:
            raise GitCloneError(f"{path}: the mirror is damaged: {answer.complaint}; remove it")
        return Mirror(path=path, commit=answer.stdout.decode().strip(), use=use)

    def _of_url(self, url: str, commit: str) -> Mirror:
        path = self._path_of(url)
        self._folder.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f"{path.name}.lock")):
            if not _is_usable(path):
                self._clone(url, path)
            use = SharedLock(path)
            if not _has_commit(path, commit):
                try:
                    self._fetch(url, path, commit)
                finally:
                    _write_checksum(path)
        return Mirror(path=path, commit=commit, has_commit=_has_commit(path, commit), use=use)

    def _clone(self, url: str, path: Path) -> None:
        with owned_folder("clone-", self._folder) as scratch:
            target = scratch / "mirror.git"
            answer = git(
                "clone", "--mirror", "--quiet", "--template=", "--origin=origin",
                "--", url, str(target),
                cwd=scratch, sealed=False, timeout=self._timeout, cancel=self._cancel,
            )  # fmt: skip
            if not answer.ok:
                raise _clone_error(url, answer)
            _write_checksum(target)
            target.rename(path)

    def _fetch(self, url: str, path: Path, commit: str) -> None:
        refresh = self._fetched(path, "--prune", "origin")
        if not refresh.timed_out and not _has_commit(path, commit):
            # A commit that no branch bears any more can often still be had by its hash.
            self._fetched(path, "origin", commit)
        if not refresh.ok and not _has_commit(path, commit):
            raise _clone_error(url, refresh)

    def _fetched(self, path: Path, *what: str) -> GitResult:
        return git(
            "fetch", "--quiet", *what,
            cwd=path, env=_git_env(path), sealed=False,
            timeout=self._timeout, cancel=self._cancel,
        )  # fmt: skip


def tracked_files(mirror: Mirror) -> frozenset[PurePosixPath]:
    """The files of a mirror's commit.

    Raises:
        GitCloneError: the mirror is damaged.
    """
    answer = git(
        "ls-tree", "-r", "--name-only", "-z", mirror.commit,
        cwd=mirror.path, env=_git_env(mirror.path),
    )  # fmt: skip
    if not answer.ok:
        raise GitCloneError(f"{mirror.path}: the mirror is damaged: {answer.complaint}; remove it")
    names = answer.stdout.split(b"\0")
    return frozenset(PurePosixPath(os.fsdecode(name)) for name in names if name)


def tree_digest(folder: Path, *, without: Set[str] = frozenset()) -> str:
    """The sha256 over names, modes and contents of all files below a folder, debris left out.

    Args:
        folder: The folder.
        without: Names right below it that are left out, too.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if relative.parts[0] in without or _is_debris(relative):
            continue
        if path.is_dir() and not path.is_symlink():
            continue
        executable = bool(path.lstat().st_mode & 0o100)
        content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        header = f"{relative.as_posix()}\0{executable}\0{path.is_symlink()}\0{len(content)}\0"
        digest.update(header.encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def _clone_error(url: str, answer: GitResult) -> GitCloneError:
    kind = GitCloneTimeoutError if answer.timed_out else GitCloneError
    return kind(f"{without_credentials(url)}: {answer.complaint}")


def _is_debris(relative: Path) -> bool:
    return not _DEBRIS.isdisjoint(relative.parts)


def _commit_files(files: Path, path: Path) -> None:
    """Make a bare repository of one commit whose hash depends on the files alone."""
    with owned_folder("clone-", path.parent) as scratch:
        target, tree = scratch / "mirror.git", scratch / "tree"
        # A copy, for git would take a folder that bears a .git for a submodule.
        shutil.copytree(files, tree, symlinks=True, ignore=shutil.ignore_patterns(*_DEBRIS))
        target.mkdir()
        where = {"GIT_DIR": str(target), "GIT_WORK_TREE": str(tree)}
        for arguments, cwd, env in (
            (_INIT_COMMAND, target, {}),
            (("add", "--all", "--force", "--", "."), tree, where),
            (_COMMIT_COMMAND, tree, where),
        ):
            answer = git(*arguments, cwd=cwd, env=env)
            if not answer.ok:
                raise GitCloneError(f"{files}: {answer.complaint}")
        _write_checksum(target)
        target.rename(path)


def _write_checksum(path: Path) -> None:
    facts = MirrorChecksum(tree=tree_checksum(path, without={_CHECKSUM_FILE}))
    write_atomically(path / _CHECKSUM_FILE, facts.sealed_json().encode())
    (path / _CHECKSUM_FILE).chmod(0o644)  # like the other files, whatever our umask


def _is_usable(path: Path) -> bool:
    """Whether a mirror is there as it was made; what is left of a damaged one is removed."""
    if not path.exists():
        return False
    try:
        facts = MirrorChecksum.model_validate_json((path / _CHECKSUM_FILE).read_bytes())
        whole = is_undamaged(path, facts.tree, without={_CHECKSUM_FILE})
    except (OSError, ValidationError):
        whole = False
    if whole:
        os.utime(path / _CHECKSUM_FILE)  # by which the least recently used is told
        return True
    _LOG.warning("%s was damaged on disk, or is of an older agentbench; it is made again", path)
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise GitCloneError(
            f"{path}: is damaged and cannot be removed ({error.strerror}); remove it"
        ) from error
    return False


def _git_env(path: Path) -> dict[str, str]:
    return {"GIT_DIR": str(path)}


def _has_commit(path: Path, commit: str) -> bool:
    return git("cat-file", "-e", f"{commit}^{{commit}}", cwd=path, env=_git_env(path)).ok
