"""Where the repository of an instance is cloned from."""

from pathlib import Path

_HOST = "https://github.com"


def clone_url(repo: str, repos: Path | None) -> str:
    """The URL of a repository `owner/name`: a folder of the user's, or else GitHub's."""
    local = _local(repo, repos) if repos is not None else None
    return local.as_uri() if local is not None else f"{_HOST}/{repo}.git"


def is_local(url: str) -> bool:
    """Whether a repository can be looked at without a network."""
    return url.startswith("file://")


def _local(repo: str, repos: Path) -> Path | None:
    flat = repo.replace("/", "__")
    for name in (repo, f"{repo}.git", flat, f"{flat}.git"):
        folder = repos / name
        if folder.is_dir():
            return folder.resolve()
    return None
