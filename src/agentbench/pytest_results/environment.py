"""Finds the Python that a project's tests run with, in ADR-004's order."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDERS = (".venv", "venv", ".virtualenv")
"""Where a project keeps its environment, the most usual first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An interpreter that may have pytest. `name` says where it was looked for."""

    name: str
    interpreter: Path

    @property
    def exists(self) -> bool:
        """Whether there is a file of that name."""
        return self.interpreter.is_file()


def candidates(
    root: Path, *, explicit: Path | None, environ: Mapping[str, str]
) -> tuple[Candidate, ...]:
    """Every place to look for a project's Python, in order; an explicit one is the only one.

    Args:
        root: The project's folder.
        explicit: What the user named: an interpreter, or a virtual environment.
        environ: Our own environment, for VIRTUAL_ENV and PATH.
    """
    if explicit is not None:
        chosen = explicit / "bin" / "python" if explicit.is_dir() else explicit
        return (Candidate(name="--python", interpreter=chosen.absolute()),)
    return tuple(_detected(root, environ))


def _detected(root: Path, environ: Mapping[str, str]) -> Iterator[Candidate]:
    activated = environ.get("VIRTUAL_ENV")
    if activated:
        yield Candidate(name="VIRTUAL_ENV", interpreter=Path(activated, "bin", "python"))
    for folder in FOLDERS:
        yield Candidate(name=folder, interpreter=root / folder / "bin" / "python")
    for name in ("python", "python3"):
        found = shutil.which(name, path=environ.get("PATH"))
        if found is not None:
            yield Candidate(name=f"{name} on PATH", interpreter=Path(found).absolute())
