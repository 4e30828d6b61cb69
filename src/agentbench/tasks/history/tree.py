"""The files of a commit, written into a folder."""

from pathlib import Path

from agentbench.errors import InputError
from agentbench.owned_folder import owned_folder
from agentbench.tasks.host_git import git
from agentbench.tasks.mirror import Mirror


def write_files_of(mirror: Mirror, commit: str, folder: Path) -> None:
    """Write a commit's files into a new folder; what `.gitattributes` leaves out of archives, too.

    Raises:
        InputError: the repository is damaged.
        OSError: the folder cannot be made.
    """
    folder.mkdir(parents=True)
    with owned_folder("agentbench-index-") as scratch:
        env = {
            "GIT_DIR": str(mirror.path),
            "GIT_WORK_TREE": str(folder.resolve()),
            "GIT_INDEX_FILE": str(scratch / "index"),
        }
        for arguments in (("read-tree", commit), ("checkout-index", "--all", "--force")):
            answer = git(*arguments, cwd=folder, env=env)
            if not answer.ok:
                raise InputError(f"{commit}: cannot be checked out: {answer.complaint}")
