"""The page as a user starts it: a process of its own, told to stop at the end."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.patience import HANG_SECONDS


class Found(NamedTuple):
    """A server that answers."""

    process: "subprocess.Popen[str]"
    address: str  # without a slash at its end, and without a query
    said: str  # the address as it was printed


def command_for(folder: Path, *options: object) -> list[str]:
    """The program as a user starts it."""
    return [sys.executable, "-m", "agentbench", "view", str(folder), *map(str, options)]


@contextmanager
def serving(folder: Path, *options: object, **env: str) -> Iterator[Found]:
    """A server on a free port, until the end of the block."""
    process = subprocess.Popen(
        command_for(folder, "--port", 0, *options),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    with ExitStack() as keep:
        keep.callback(process.stderr.close)
        keep.callback(process.wait, HANG_SECONDS)
        keep.callback(process.send_signal, signal.SIGTERM)
        line = process.stderr.readline()
        found = re.match(r"serving on ((http://[^/]+)\S*) ", line)
        assert found is not None, f"expected where it serves, found {line!r}"
        yield Found(process, found[2], found[1])
