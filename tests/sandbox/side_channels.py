"""Programs that signal over side channels: one holds a state of the kernel, the other one looks.

Each look prints a number. The signal has arrived if the number changes by the channel's threshold.
"""

from dataclasses import dataclass
from pathlib import Path

_LICENCE = "/usr/share/common-licenses/GPL-1"  # of Debian
_RARELY_READ = _LICENCE if Path(_LICENCE).exists() else "/usr/lib/os-release"
"""A file of the system in which a change by others is unlikely."""
_LOCK = """
import fcntl, os
held = os.open({path!r}, os.O_RDONLY)
fcntl.{lock}(held, fcntl.LOCK_{mode})
"""
_TRY_LOCK = """
import fcntl, os
try:
    fcntl.flock(os.open({path!r}, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    print(0)
except BlockingIOError:
    print(1)
except OSError:
    print(0)
"""
_GET_LOCK = """
import fcntl, os, struct
asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
found = fcntl.fcntl(os.open({path!r}, os.O_RDONLY), fcntl.F_GETLK, asked)
print(int(struct.unpack("hhqqi4x", found)[0] != fcntl.F_UNLCK))
"""
_OPEN_OFTEN = """
import threading
def work():
    while True:
        open({path!r}, "rb").close()
threading.Thread(target=work, daemon=True).start()
"""
_WATCH = """
import ctypes, os, select
libc = ctypes.CDLL(None)
watches = libc.inotify_init()
libc.inotify_add_watch(watches, {path!r}.encode(), 0x20)
print(int(bool(select.select([watches], [], [], 2)[0])))
"""
_FILE_NUMBER = """
import re
try:
    found = re.search({pattern!r}, open({path!r}).read(), re.MULTILINE)
    print(found[1] if found else 0)
except OSError:
    print(0)
"""
_KEY = """
import ctypes
libc = ctypes.CDLL(None)
key = libc.syscall(248, b"user", b"agentbench-signal", b"1", 1, -4)
if key < 0:
    raise SystemExit("refused")
atexit.register(libc.syscall, 250, 9, key, -4)
"""
_FIND_KEY = """
import ctypes
libc = ctypes.CDLL(None)
print(int(libc.syscall(250, 10, -4, b"user", b"agentbench-signal", 0) > 0))
"""
_SEMAPHORE = """
import ctypes
libc = ctypes.CDLL(None)
held = libc.semget(0x5ab5ab, 1, 0o1666)
assert held >= 0
atexit.register(libc.semctl, held, 0, 0)
"""
_FIND_SEMAPHORE = "import ctypes; print(int(ctypes.CDLL(None).semget(0x5ab5ab, 1, 0o666) >= 0))"
_QUEUE = """
import ctypes, os
libc = ctypes.CDLL(None)
assert libc.mq_open(b"/agentbench-signal", os.O_CREAT | os.O_RDWR, 0o666, None) >= 0
atexit.register(libc.mq_unlink, b"/agentbench-signal")
"""
_FIND_QUEUE = """
import ctypes, os
print(int(ctypes.CDLL(None).mq_open(b"/agentbench-signal", os.O_RDONLY) >= 0))
"""
_LISTEN = (
    "import socket; held = socket.socket(socket.AF_{family}); held.bind({address}); held.listen()"
)
_CONNECT = """
import socket
try:
    socket.socket(socket.AF_{family}).connect({address})
    print(1)
except OSError:
    print(0)
"""
_ABSTRACT = {"family": "UNIX", "address": "'\\0agentbench-signal'"}
_PORT = {"family": "INET", "address": "('127.0.0.1', 47811)"}
_SHARED_MEMORY = """
import os
open("/dev/shm/agentbench-signal", "w").close()
atexit.register(os.unlink, "/dev/shm/agentbench-signal")
"""
_FIND_SHARED_MEMORY = "import os; print(int(os.path.exists('/dev/shm/agentbench-signal')))"
_MANY_LOCKS = """
import fcntl, tempfile
held = [tempfile.TemporaryFile() for _ in range(60)]
for file in held:
    fcntl.flock(file, fcntl.LOCK_EX)
"""
_THREADS = """
import threading, time
for _ in range(60):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
"""
_FORKS = """
import os
for _ in range(300):
    child = os.fork() or os._exit(0)
    os.waitpid(child, 0)
"""
_INSTANCES = """
import ctypes, itertools
libc = ctypes.CDLL(None)
while libc.inotify_init() >= 0:
    pass
"""
_FIND_INSTANCE = "import ctypes; print(int(ctypes.CDLL(None).inotify_init() < 0))"
_SYSINFO = """
import ctypes
answer = ctypes.create_string_buffer(368)
ctypes.CDLL(None).sysinfo(answer)
print(int.from_bytes(answer.raw[80:82], "little"))
"""


HOLD = """
import atexit, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
{signal}
print("ready", flush=True)
while True:
    signal.pause()
"""
"""A program that signals until it is ended, and then leaves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A way to signal, as a row of the table in docs/integrity.md names it."""

    row: str
    signal: str
    look: str
    threshold: int = 1

    @property
    def sender(self) -> str:
        """The program that holds the signal."""
        return HOLD.format(signal=self.signal)

    def arrived(self, before: int, during: int) -> bool:
        """Whether two looks differ by enough."""
        return abs(during - before) >= self.threshold


def channels(mounted: str) -> dict[str, Channel]:
    """All channels, by name; `mounted` is a file that is mounted into both sandboxes."""

    def lock(row: str, path: str) -> Channel:
        """A lock on a file that both sandboxes have."""
        signal = _LOCK.format(path=path, lock="flock", mode="EX")
        return Channel(row=row, signal=signal, look=_TRY_LOCK.format(path=path))

    def number(row: str, path: str, pattern: str, signal: str, threshold: int) -> Channel:
        """A number in a file of the kernel."""
        look = _FILE_NUMBER.format(path=path, pattern=pattern)
        return Channel(row=row, signal=signal, look=look, threshold=threshold)

    def watch(row: str, path: str) -> Channel:
        """A watch on a file that both sandboxes have."""
        look = _WATCH.format(path=path)
        return Channel(row=row, signal=_OPEN_OFTEN.format(path=path), look=look)

    counters, system = "counters in `/proc`", "locks and watches on system files"
    mounts, ipc = "locks and watches on mounted files", "System V and POSIX objects"
    sockets, quotas = "abstract sockets, local ports", "quotas of a user id"
    posix = _LOCK.format(path=mounted, lock="lockf", mode="SH")
    memory = "held = b'x' * (300 << 20)"
    files = "import os\nheld = [os.open('/', os.O_RDONLY) for _ in range(8000)]"
    terminals = "import os\nheld = [os.openpty() for _ in range(60)]"
    return {
        "lock of a mounted file": lock(mounts, mounted),
        "POSIX lock of a mounted file": Channel(
            row=mounts, signal=posix, look=_GET_LOCK.format(path=mounted)
        ),
        "watch of a mounted file": watch(mounts, mounted),
        "lock of a program": lock(system, "/usr/bin/env"),
        "watch of a program": watch(system, _RARELY_READ),
        "lock of the engine's init": lock(system, "/sbin/docker-init"),
        "lock of a device": lock("locks on device files", "/dev/null"),
        "list of locks": number(counters, "/proc/locks", r"^(\d+):.*\n?\Z", _MANY_LOCKS, 30),
        "open files": number(counters, "/proc/sys/fs/file-nr", r"(\d+)", files, 4000),
        "terminals": number(counters, "/proc/sys/kernel/pty/nr", r"(\d+)", terminals, 30),
        "threads": number(counters, "/proc/loadavg", r"/(\d+)", _THREADS, 30),
        "forks": number(counters, "/proc/stat", r"^processes (\d+)", _FORKS, 200),
        "memory": number(counters, "/proc/meminfo", r"AnonPages:\s+(\d+)", memory, 150_000),
        "pages": number(counters, "/proc/vmstat", r"^nr_anon_pages (\d+)", memory, 40_000),
        "key": Channel(row="keyrings", signal=_KEY, look=_FIND_KEY),
        "semaphore": Channel(row=ipc, signal=_SEMAPHORE, look=_FIND_SEMAPHORE),
        "message queue": Channel(row=ipc, signal=_QUEUE, look=_FIND_QUEUE),
        "shared memory": Channel(row=ipc, signal=_SHARED_MEMORY, look=_FIND_SHARED_MEMORY),
        "abstract socket": Channel(
            row=sockets, signal=_LISTEN.format(**_ABSTRACT), look=_CONNECT.format(**_ABSTRACT)
        ),
        "port": Channel(row=sockets, signal=_LISTEN.format(**_PORT), look=_CONNECT.format(**_PORT)),
        "inotify instances": Channel(row=quotas, signal=_INSTANCES, look=_FIND_INSTANCE),
        "sysinfo": Channel(row="`sysinfo(2)`", signal=_THREADS, look=_SYSINFO, threshold=30),
    }
