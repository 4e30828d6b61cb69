"""Files that name the folder they lie in, wherever that is moved."""

import fcntl
import re
import secrets
from pathlib import Path

_BYTES = 16
_WHOLE = re.compile(rf"[0-9a-f]{{{2 * _BYTES}}}")


def identity(path: Path) -> str:
    """The random name in a file; it is made where there is none, or none that is whole.

    Threads and processes that ask at the same time get the same one.

    Raises:
        OSError: the file can neither be read nor made.
    """
    with path.open("a+", encoding="ascii", errors="replace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known = file.read()
        if _WHOLE.fullmatch(known):
            return known
        file.truncate(0)
        file.write(made := secrets.token_hex(_BYTES))
        return made
