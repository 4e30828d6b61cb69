"""Which folder of the image a Dockerfile leaves as the working folder."""

import re
from pathlib import PurePosixPath

_CONTINUED = re.compile(r"\\[ \t]*\r?\n")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s*(FROM|WORKDIR)\s+(.+?)\s*$", re.IGNORECASE)
_OPTION = re.compile(r"--\S+\s+")


def workdir_of(dockerfile: str) -> PurePosixPath | None:
    """The WORKDIR of its last stage; None: it says none, so the image below decides.

    Raises:
        ValueError: it depends on a variable; the text says which line.
    """
    stages: dict[str, PurePosixPath | None] = {}
    found: PurePosixPath | None = None
    name = ""
    for line in _CONTINUED.sub(" ", _COMMENT.sub("", dockerfile)).splitlines():
        instruction = _INSTRUCTION.match(line)
        if instruction is None:
            continue
        if instruction[1].upper() == "FROM":
            stages[name] = found
            base, _, name = _OPTION.sub("", instruction[2]).partition(" ")
            name = name.split()[-1].lower() if name else ""
            found = stages.get(base.lower())
        else:
            found = (found or PurePosixPath("/")) / _path(instruction[2], line)
    return found


def _path(text: str, line: str) -> str:
    if "$" in text:
        raise ValueError(f"{line.strip()[:80]!r} depends on a variable")
    return text.strip("\"'")
