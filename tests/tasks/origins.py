"""Repositories that git made, for mirrors to be made of."""

import os
import subprocess
from pathlib import Path

_ENV = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost",
}


def raw_git(*arguments: str, cwd: Path, stdin: bytes = b"") -> bytes:
    """What git prints; it must succeed."""
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=_ENV, input=stdin, capture_output=True, check=True
    )
    return done.stdout


def run_git(*arguments: str, cwd: Path, stdin: bytes = b"") -> str:
    """What git prints, as text without the last line's end."""
    return raw_git(*arguments, cwd=cwd, stdin=stdin).decode().strip()


def listing(repository: Path, commit: str) -> list[str]:
    """The files of a commit, each with its mode and kind."""
    lines = run_git("ls-tree", "-r", commit, cwd=repository).splitlines()
    return [f"{line.split()[0]} {line.split()[1]} {line.partition(chr(9))[2]}" for line in lines]


class Origin:
    """A repository with a work tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main", ".")

    @property
    def url(self) -> str:
        return self.path.as_uri()

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        return run_git(*arguments, cwd=self.path, stdin=stdin)

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_bytes(text.encode())

    def commit(self, message: str = "a change") -> str:
        """Commit everything in the work tree; the new commit's hash."""
        self.git("add", "--all", ".")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def diff(self, *options: str) -> bytes:
        """The patch from HEAD to what is staged."""
        return raw_git("diff", "--cached", "--binary", *options, cwd=self.path)
