"""A program, not a module: runs one command as its subreaper, and kills its whole process tree.

`runner.py` starts it as `python -I -S subreaper.py DESCRIPTOR`, so it uses only the standard
library. All processes that the command starts are its descendants: a process that detaches itself
becomes its child. It kills them when the command ends or when it receives SIGTERM. It may have
privileges that the command lacks, and so the command cannot kill it.

It reads a `CommandOrder` as JSON from the descriptor.
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
    """A command, its user and its limits."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    user: int | None
    limits: list[tuple[int, int]]


def main(order: int) -> NoReturn:
    """Run the command, kill its tree, and exit with its code (128 + n for signal n)."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_SET_DEATH_SIGNAL, int(signal.SIGTERM), 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    with open(order) as file:
        request: CommandOrder = json.load(file)
    command = os.fork()
    if command == 0:
        _become(request, libc)
    status = _wait_for(command)
    _end_all()
    code = 0 if status is None else os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


def _become(request: "CommandOrder", libc: ctypes.CDLL) -> NoReturn:
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        for number, value in request["limits"]:
            resource.setrlimit(number, (value, value))
        if (user := request["user"]) is not None:
            os.setgroups(())
            os.setgid(user)
            os.setuid(user)
        libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        os.chdir(request["cwd"])
        os.execvpe(request["argv"][0], request["argv"], request["env"])
    except FileNotFoundError as fault:
        code, message = 127, str(fault)
    except (OSError, ValueError) as fault:
        code, message = 126, str(fault)
    os.write(2, f"{message}\n".encode(errors="replace"))
    os._exit(code)


def _wait_for(command: int) -> int | None:
    """The command's status; None if a signal asks to end it."""
    while True:
        if signal.sigwait(_WATCHED) != signal.SIGCHLD:
            return None
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0] != 0:
                if found[0] == command:
                    return found[1]


def _end_all() -> None:
    """Kill all descendants until there is none; new forks are killed in the next round."""
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
