"""A program, not a module.

Runs one command as its subreaper and kills its whole process tree at the end. Standard library
only.

Started by `process.py` as `python -I -S keeper.py`, so it uses the standard library only and
imports nothing of ours. It is the subreaper of all that the command starts: a process that detaches
itself becomes its child, and is killed when the command ends or the keeper is told to (SIGTERM). It
may have rights that the command has not, and so cannot be killed by it.

Its one argument is a descriptor from which it reads, as JSON, what `CommandOrder` says.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from typing import NoReturn, TypedDict

_SET_NO_NEW_PRIVILEGES, _SET_SUBREAPER, _SET_DEATH_SIGNAL = 38, 36, 1  # of prctl
_WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class CommandOrder(TypedDict):
    """What to run, and as whom."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    user: int | None
    limits: list[tuple[int, int]]


def main(order: int) -> NoReturn:
    """Start, wait, kill what is left, and exit as the command did (128 + n for signal n)."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_SET_DEATH_SIGNAL, int(signal.SIGTERM), 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    with open(order) as file:
        wanted: CommandOrder = json.load(file)
    command = os.fork()
    if command == 0:
        _become(wanted, libc)
    status = _wait_for(command)
    _end_all()
    code = 0 if status is None else os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


def _become(wanted: "CommandOrder", libc: ctypes.CDLL) -> NoReturn:
    """Turn the forked child into the command."""
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        for number, value in wanted["limits"]:
            resource.setrlimit(number, (value, value))
        if (user := wanted["user"]) is not None:
            os.setgroups(())
            os.setgid(user)
            os.setuid(user)
        libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        os.chdir(wanted["cwd"])
        os.execvpe(wanted["argv"][0], wanted["argv"], wanted["env"])
    except FileNotFoundError as fault:
        code, said = 127, str(fault)
    except (OSError, ValueError) as fault:
        code, said = 126, str(fault)
    os.write(2, f"{said}\n".encode(errors="replace"))
    os._exit(code)


def _wait_for(command: int) -> int | None:
    """The command's status; None when we were told to end it."""
    while True:
        if signal.sigwait(_WATCHED) != signal.SIGCHLD:
            return None
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0] != 0:
                if found[0] == command:
                    return found[1]


def _end_all() -> None:
    """Kill every descendant until there is none; what a dying one forks comes in the next round."""
    while True:
        for pid in _descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return
        signal.sigtimedwait((signal.SIGCHLD,), 0.05)


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - a hot loop
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:  # noqa: PTH123
            parent = int(file.read().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    found, new = [], children.get(os.getpid(), [])
    while new:
        found += new
        new = [grandchild for child in new for grandchild in children.get(child, [])]
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]))
