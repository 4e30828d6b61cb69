"""Where a task's repository comes from."""

from pathlib import Path

from agentbench.schema import Schema


class RepoSource(Schema):
    """Where the repository comes from: plain files, or a git URL (or bundle) and a commit.

    Or there is none, and the work begins with what the image holds in a folder of its own.
    """

    files: Path | None = None
    url: str | None = None
    commit: str | None = None  # derived for files
    workdir: str | None = None  # the image's folder
