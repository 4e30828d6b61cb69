"""Mirrors: bare repositories on the host, one per origin, that workspaces are checked out from.

They are on the host because the user's credentials are there. They are cached, and changed under a
file lock. Each has a checksum over all of its files, since git neither reads every byte nor checks
its own settings. A mirror that was damaged on disk is created again when a process needs it.
"""

import hashlib
import logging
import os
import shutil
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from threading import Event

from pydantic import ValidationError

from agentbench.core.checksums import ChecksummedDocument, is_undamaged, tree_checksum
from agentbench.core.display_text import without_credentials
from agentbench.core.file_locks import LockHeldError, SharedLock, creation_lock
from agentbench.core.files import owned_folder, write_atomically
from agentbench.errors import GitCloneError, GitCloneTimeoutError
from agentbench.tasks.host_git import GitResult, git
from agentbench.tasks.task import RepoSource

# Running the tests by hand leaves these behind; they must not change a commit's hash.
_DEBRIS = frozenset({"__pycache__", ".pytest_cache", ".hypothesis", ".git"})
_INIT_COMMAND = ("init", "--quiet", "--bare", "--initial-branch=main", "--template=", ".")
_ADD_COMMAND = ("add", "--all", "--force", "--", ".")
_COMMIT_COMMAND = ("commit", "--quiet", "--allow-empty", "--no-verify", "--message")

_CHECKSUM_FILE = "agentbench.json"
_LOG = logging.getLogger("agentbench.cache")

CLONE_TIMEOUT = timedelta(minutes=30)
"""The time limit of a clone; the largest public repositories need some minutes."""


class MirrorChecksum(ChecksummedDocument):
    """The file in a mirror that holds the checksum of git's files."""

    tree: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A bare repository that holds the commit a task starts from."""

    path: Path
    commit: str
    has_commit: bool = True  # false: the origin answered and has no such commit
    use: SharedLock | None = field(default=None, compare=False, repr=False)  # prevents eviction

    @property
    def git_env(self) -> dict[str, str]:
        """The environment variables with which git uses it."""
        return {"GIT_DIR": str(self.path)}

    def git(self, *arguments: str, stdin: Path | None = None) -> GitResult:
        """Run git in it, isolated from the user's configuration."""
        return git(*arguments, cwd=self.path, env=self.git_env, stdin=stdin)


class Mirrors:
    """The mirrors below one folder of the host; safe to share between threads and processes."""

    def __init__(
        self,
        folder: Path,
        *,
        timeout: timedelta = CLONE_TIMEOUT,
        cancel: Event | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """Use a folder, which may not exist yet; `say` receives a line before each long clone."""
        self._folder = folder.resolve()
        self._say = say
        self._timeout = timeout
        self._cancel = cancel

    def of(self, source: RepoSource) -> Mirror:
        """The mirror of a source, cloned or fetched only if it lacks the commit.

        Raises:
            GitCloneError: the origin does not answer or is not a repository.
            RunCancelled: a clone or fetch was cancelled.
        """
        if source.files is not None:
            return self._of_files(source.files)
        assert source.url is not None  # the task file has checked both
        assert source.commit is not None
        return self._of_url(source.url, source.commit)

    def find_complete(self, source: RepoSource) -> Mirror | None:
        """The mirror of a URL if it has the commit and is not being created; fetches nothing."""
        assert source.url is not None
        assert source.commit is not None
        path = self._path_of(source.url)
        if not path.exists():
            return None
        lock = creation_lock(path)
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
        with creation_lock(path):
            if not _is_usable(path):
                with owned_folder("clone-", self._folder) as scratch:
                    target, tree = scratch / "mirror.git", scratch / "tree"
                    # A copy, since git takes a folder with a .git for a submodule.
                    ignore = shutil.ignore_patterns(*_DEBRIS)
                    shutil.copytree(files, tree, symlinks=True, ignore=ignore)
                    commit_trees(
                        {"The task's repository": tree},
                        target,
                        lambda message: GitCloneError(f"{files}: {message}"),
                    )
                    _write_checksum(target)
                    target.rename(path)
            use = SharedLock(path)
        mirror = Mirror(path=path, commit="main", use=use)
        commit = mirror.git("rev-parse", "--verify", "refs/heads/main^{commit}").output_or(
            lambda message: GitCloneError(f"{path}: the mirror is damaged: {message}; remove it")
        )
        return replace(mirror, commit=commit.decode().strip())

    def _of_url(self, url: str, commit: str) -> Mirror:
        path = self._path_of(url)
        self._folder.mkdir(parents=True, exist_ok=True)
        with creation_lock(path):
            if not _is_usable(path):
                if self._say is not None and not url.startswith("file:"):
                    self._say(f"cloning {without_credentials(url)}")
                with owned_folder("clone-", self._folder) as scratch:
                    target = scratch / "mirror.git"
                    answer = git(
                        "clone", "--mirror", "--quiet", "--template=", "--origin=origin",
                        "--", url, str(target),
                        cwd=scratch, isolated=False, timeout=self._timeout, cancel=self._cancel,
                    )  # fmt: skip
                    if not answer.ok:
                        raise _clone_error(url, answer)
                    _write_checksum(target)
                    target.rename(path)
            use = SharedLock(path)
            if not _has_commit(path, commit):
                try:
                    refresh = self._git_fetch(path, "--prune", "origin")
                    if not refresh.timed_out and not _has_commit(path, commit):
                        # Many servers still send a commit that is on no branch if it is requested
                        # by its hash.
                        self._git_fetch(path, "origin", commit)
                    if not refresh.ok and not _has_commit(path, commit):
                        raise _clone_error(url, refresh)
                finally:
                    _write_checksum(path)
        return Mirror(path=path, commit=commit, has_commit=_has_commit(path, commit), use=use)

    def _git_fetch(self, path: Path, *what: str) -> GitResult:
        return git(
            "fetch", "--quiet", *what,
            cwd=path, env=Mirror(path=path, commit="").git_env, isolated=False,
            timeout=self._timeout, cancel=self._cancel,
        )  # fmt: skip


def tracked_files(mirror: Mirror) -> frozenset[PurePosixPath]:
    """The files of a mirror's commit.

    Raises:
        GitCloneError: the mirror is damaged.
    """
    listing = mirror.git("ls-tree", "-r", "--name-only", "-z", mirror.commit).output_or(
        lambda message: GitCloneError(f"{mirror.path}: the mirror is damaged: {message}; remove it")
    )
    names = listing.split(b"\0")
    return frozenset(PurePosixPath(os.fsdecode(name)) for name in names if name)


def tree_digest(folder: Path, *, without: Set[str] = frozenset()) -> str:
    """The sha256 of the names, modes and contents of all files in a folder, except debris.

    Args:
        folder: The folder.
        without: More names directly in the folder to leave out.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if relative.parts[0] in without or not _DEBRIS.isdisjoint(relative.parts):
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
    return kind(f"{without_credentials(url)}: {answer.error_message}")


def commit_trees(
    trees: Mapping[str, Path], repository: Path, error: Callable[[str], Exception]
) -> None:
    """Create a bare repository with a commit for each tree; hashes depend only on the arguments.

    Args:
        trees: The folders of the commits' files, by the commits' messages, oldest first.
        repository: The folder of the repository, which does not exist yet.
        error: Makes the exception to raise from git's error message.
    """
    repository.mkdir()
    git(*_INIT_COMMAND, cwd=repository).output_or(error)
    for message, tree in trees.items():
        env = {"GIT_DIR": str(repository), "GIT_WORK_TREE": str(tree)}
        for arguments in (_ADD_COMMAND, (*_COMMIT_COMMAND, message)):
            git(*arguments, cwd=tree, env=env).output_or(error)


# git neither reads every byte of a repository nor checks its own settings.
def _write_checksum(path: Path) -> None:
    facts = MirrorChecksum(tree=tree_checksum(path, without={_CHECKSUM_FILE}))
    write_atomically(path / _CHECKSUM_FILE, facts.json_with_checksum().encode())
    # A sandbox reads the mirror as another user, whatever our umask.
    (path / _CHECKSUM_FILE).chmod(0o644)


def _is_usable(path: Path) -> bool:
    """Whether a mirror exists and is undamaged; a damaged one is removed."""
    if not path.exists():
        return False
    try:
        facts = MirrorChecksum.model_validate_json((path / _CHECKSUM_FILE).read_bytes())
        whole = is_undamaged(path, facts.tree, without={_CHECKSUM_FILE})
    except (OSError, ValidationError):
        whole = False
    if whole:
        os.utime(path / _CHECKSUM_FILE)  # marks it as recently used
        return True
    _LOG.warning("%s was damaged on disk, or an older agentbench made it; it is recreated", path)
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise GitCloneError(
            f"{path}: is damaged and cannot be removed ({error.strerror}); remove it"
        ) from error
    return False


def _has_commit(path: Path, commit: str) -> bool:
    return Mirror(path=path, commit=commit).git("cat-file", "-e", f"{commit}^{{commit}}").ok
