"""The files of a task that its `.harborignore` files exclude.

They have gitignore's syntax. Each applies to its own folder and all below it, but only in the
folders of scripts.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

IGNORE_FILE = ".harborignore"
_Rules = tuple[Path, GitIgnoreSpec]


def sorted_files(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Each file below a folder of scripts, and whether Harbor uses it; links count as files.

    Raises:
        OSError: a file cannot be read.
    """
    yield from _walk(folder, (), used=True)


def _walk(folder: Path, rules: Sequence[_Rules], *, used: bool) -> Iterator[tuple[Path, bool]]:
    own = folder / IGNORE_FILE
    if own.is_file():
        lines = own.read_text("utf-8", "replace").splitlines()
        rules = (*rules, (folder, GitIgnoreSpec.from_lines(lines)))
    for path in sorted(folder.iterdir()):
        is_folder = path.is_dir() and not path.is_symlink()
        ignored = False
        for base, spec in rules:
            name = path.relative_to(base).as_posix() + ("/" if path.is_dir() else "")
            found = spec.check_file(name).include
            # A later rule has priority, also one that includes a file again.
            ignored = ignored if found is None else found
        is_used = used and not ignored and path.name != IGNORE_FILE
        if is_folder:
            yield from _walk(path, rules, used=is_used)
        else:
            yield path, is_used
