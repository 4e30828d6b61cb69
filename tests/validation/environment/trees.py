"""Source trees, written as a mapping of names to texts."""

from collections.abc import Mapping
from pathlib import Path


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder that is made for them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
