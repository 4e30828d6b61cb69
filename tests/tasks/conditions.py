"""What may surround git: a user's settings, hooks that tell on themselves, a silent server."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

HOOKS = (
    "post-checkout",
    "pre-commit",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "fsmonitor-watchman",
)


def telltale(path: Path, marker: Path) -> Path:
    """A program that leaves a marker when it runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    path.chmod(0o755)
    return path


def telltale_hooks(folder: Path, marker: Path) -> Path:
    """A folder of hooks, each leaving a marker when it runs."""
    for name in HOOKS:
        telltale(folder / name, marker)
    return folder


def odd_user(home: Path, marker: Path) -> Path:
    """The home of a user who set whatever could change what git does."""
    home.mkdir()
    hooks = telltale_hooks(home / "template" / "hooks", marker)
    (home / "ignored").write_text("*.log\ncode.py\n")
    (home / "attributes").write_text("* text eol=crlf ident\n")
    (home / ".gitconfig").write_text(
        f"""\
[user]
    name = Somebody Else
    email = else@localhost
[core]
    autocrlf = true
    fileMode = false
    excludesFile = {home}/ignored
    attributesFile = {home}/attributes
    hooksPath = {hooks}
    fsmonitor = {telltale(home / "monitor", marker)}
[commit]
    gpgSign = true
    template = {home}/no-such-file
[init]
    templateDir = {home}/template
    defaultObjectFormat = sha256
    defaultBranch = trunk
[clone]
    defaultRemoteName = upstream
[i18n]
    commitEncoding = ISO-8859-1
"""
    )
    return home


@contextmanager
def silent_server(called: Event | None = None) -> Iterator[int]:
    """The port of a server that takes a connection, sets `called`, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as open_ends:

        def take() -> None:
            with suppress(OSError):  # the block ended before anybody called
                open_ends.enter_context(server.accept()[0])
                if called is not None:
                    called.set()

        taker = Thread(target=take)
        taker.start()
        yield server.getsockname()[1]
        with suppress(OSError):  # whoever called is gone; and if nobody did, let the taker go
            server.shutdown(socket.SHUT_RDWR)
        taker.join()


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def commands_with(text: str) -> list[str]:
    """The command lines of running processes that bear a text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:  # it ended meanwhile
            continue
        if text in line:
            found.append(line)
    return found
