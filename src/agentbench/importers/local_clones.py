"""The URLs of repositories: local clones come before their hosts."""

from pathlib import Path


def find_local_clone(repo: str, repos: Path | None) -> str | None:
    """The file URL of a local clone of `owner/name`; None if the folder has none.

    Args:
        repo: The repository.
        repos: The folder of local clones, as `--repos` gives it.
    """
    flat = repo.replace("/", "__")
    names = (repo, f"{repo}.git", flat, f"{flat}.git")
    for folder in (repos / name for name in names) if repos is not None else ():
        if folder.is_dir():
            return folder.resolve().as_uri()
    return None
