"""Files of this machine that a command agent uses: its script, or the folder of its program."""

import os
import re
import shlex
import shutil
import stat
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentbench.core.files import describe_read_error, owned_folder
from agentbench.errors import UsageError
from agentbench.sandbox.interface import ReadOnlyMount

AGENT_FILES_MOUNT = "agent-files"
"""The mount's name of these files in a sandbox."""
_WORD = re.compile(r"""[^\s'"`|&;()<>$=:,{}*?\[\]!\\]+""")
_QUOTED = re.compile(r"'[^']+'|\"[^\"$`\\]+\"")
_INTERPRETER = re.compile(
    r"(?:^|[\s;&|(/])(?:(?:ba|da|z|k)?sh|(?:python|pypy|node|perl|ruby)[\d.]*|uv run)"
    r"(?:\s+-(?![cem]\b)\S*)*\s+"  # its options, except those that take a text or a module
)


class AgentFiles:
    """Copies of files and folders, for read-only mounts in sandboxes.

    They are copied once, so all attempts of a run get the same files, and a sandbox gets nothing
    that is next to them. The copies are removed when this object or its process is gone.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        """Copy them.

        Raises:
            UsageError: one does not exist or cannot be copied, or two have the same name.
        """
        # Unlike `Path.resolve`, this follows links that lead in a circle.
        self._paths = [Path(os.path.realpath(path)) for path in paths]
        names = [path.name for path in self._paths]
        if len(set(names)) < len(names):
            raise UsageError(f"--agent-files: expected different names, found {', '.join(names)}")
        # A sandbox must see neither the neighbours of these files nor later edits.
        with ExitStack() as stack:
            self._folder = stack.enter_context(owned_folder("agentbench-files-")) / "files"
            self._folder.mkdir()
            for path in self._paths:
                if not path.name:
                    raise UsageError(
                        f"--agent-files: {path} has no name; name files or folders in it"
                    )
                if not path.exists():
                    what = "expected a file or a folder, found nothing"
                    raise UsageError(f"--agent-files: {what} at {path}")
                target = self._folder / path.name
                try:
                    # With what their links lead to, and readable by every user.
                    if path.is_dir():
                        shutil.copytree(path, target, ignore_dangling_symlinks=True)
                    else:
                        shutil.copy2(path, target)
                    for copy in (target, *target.rglob("*")):
                        is_program = copy.is_dir() or copy.stat().st_mode & stat.S_IXUSR
                        copy.chmod(0o755 if is_program else 0o644)
                except (OSError, RecursionError) as error:  # shutil.Error is an OSError
                    is_many = isinstance(error, shutil.Error)
                    why = error.args[0][0][2] if is_many else describe_read_error(error)
                    raise UsageError(f"--agent-files {path}: cannot be copied: {why}") from error
            weakref.finalize(self, stack.pop_all().close)

    @property
    def mount(self) -> ReadOnlyMount:
        """The mount; it has an entry with the name of each path."""
        return ReadOnlyMount(name=AGENT_FILES_MOUNT, source=self._folder)

    def search_path(self, mounted: PurePosixPath) -> str:
        """The folders of the files for PATH."""
        folders = [path.name for path in self._paths if (self._folder / path.name).is_dir()]
        return ":".join(str(mounted / name) for name in (*folders, ""))

    def provides(self, program: str) -> bool:
        """Whether a program of a command is one of the files."""
        if "/" in program:
            return self._find(program) is not None
        folders = [self._folder, *self._folder.iterdir()]
        return any((folder / program).is_file() for folder in folders)

    def with_paths(self, line: str, mounted: PurePosixPath) -> str:
        """A shell command whose paths to these files are those in the sandbox."""
        result, end = "", 0
        for path in _paths(line):
            found = self._find(path.text) if path.start >= end else None
            if found is not None:
                result += line[end : path.start] + shlex.quote(str(mounted / found))
                end = path.end
        return result + line[end:]

    def _find(self, word: str) -> PurePosixPath | None:
        """The file that a path of this machine means, relative to the mount."""
        path = Path(word)
        if path.is_absolute():
            own = next((own for own in self._paths if path.is_relative_to(own)), None)
            return None if own is None else PurePosixPath(own.name) / path.relative_to(own)
        # From any working directory, since `resume` may have another one.
        parts = [part for part in path.parts if part != ".."]
        if not parts:
            return None
        begins = [PurePosixPath()]  # `agent/fix.sh`, and for --agent-files . also `./fix.sh`
        if word.startswith(".") or "/" not in word:
            begins += [PurePosixPath(own.name) for own in self._paths]
        found = [begin.joinpath(*parts) for begin in begins]
        # `tools/fix.sh` for --agent-files tools/fix.sh, whose folder is not mounted.
        found += [
            PurePosixPath(own.name, *parts[end:])
            for own in self._paths
            for end in range(2, len(parts) + 1)
            if list(own.parts[-end:]) == parts[:end]
        ]
        return next((each for each in found if (self._folder / each).exists()), None)


def local_programs(line: str) -> tuple[str, ...]:
    """The paths in a shell command that are programs or scripts on this machine.

    Other files do not count, since a command may name files that it writes.
    """
    found: dict[str, None] = {}
    end = 0
    for path in _paths(line):
        try:
            is_file = path.start >= end and Path(path.text).is_file()
        except OSError:  # too long for a name
            continue
        if is_file and (path.is_script or os.access(path.text, os.X_OK)):
            found[path.text] = None
            end = path.end
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Path:
    """A part of a shell command that may be a path."""

    start: int
    end: int
    text: str
    is_script: bool  # the file that an interpreter runs


def _paths(line: str) -> Iterator[_Path]:
    """The parts of a shell command that may be paths; a quoted text comes before its words."""
    scripts = {found.end() for found in _INTERPRETER.finditer(line)}
    found = [*_QUOTED.finditer(line), *_WORD.finditer(line)]
    for each in sorted(found, key=lambda each: each.start()):
        text, is_script = each[0].strip("'\""), each.start() in scripts
        if text.startswith("~/"):
            text = str(Path.home() / text[2:])
        # Other words without a slash are programs on PATH, or texts.
        if is_script or "/" in text:
            yield _Path(start=each.start(), end=each.end(), text=text, is_script=is_script)
