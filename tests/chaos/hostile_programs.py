"""What hostile commands run: programs in Python unless they are named among the shell's, below."""

MEMORY_BOMB = "held = []\nwhile True: held.append(bytearray(1 << 20))"
SHARED_BOMB = (
    "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor at in range(0, 1 << 30, 4096): m[at] = 1"
)
FORKS = """
import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.05)
"""
MANY_FILES = """
import os
for folder in range(1000):
    os.mkdir(f"many-{folder}")
    for number in range(1000):
        os.close(os.open(f"many-{folder}/{number}", os.O_CREAT | os.O_WRONLY))
"""
NAMELESS = """
import os, time
held = []
for number in range(40):
    held.append(open("nameless", "wb"))
    os.unlink("nameless")
    for _ in range(100):
        held[-1].write(bytes(1 << 20))
    held[-1].flush()
time.sleep(1000)
"""
DEEP = """
import os
for _ in range(10_000):
    os.mkdir("d")
    os.chdir("d")
open("bottom", "w").write("x")
"""
NAMES = r"""
import os
odd = b"n" * 255, b"new\nline", b"in\xffval\xfeid", b"\x1b[2J", b" ", b"-rf", b"\\", b"'\"$(x)"
for name in odd:
    open(name, "wb").write(name)
    os.mkdir(name + b".d" if len(name) < 250 else b"m" * 255)
    os.symlink(name, b"link-to-" + name[:100])
"""
DAEMONS = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in range(3):
                os.close(descriptor)
            while True:
                sum(range(10_000))
        os._exit(0)
"""
DESCRIPTORS = """
import os
total = 0
for _ in range(10):
    if os.fork() == 0:
        try:
            for _ in range(100_000):
                os.dup(0)
        except OSError:
            pass
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
PTRACE = """
import ctypes, os
libc = ctypes.CDLL(None)
for pid in [os.getppid(), 1, *(int(name) for name in os.listdir("/proc") if name.isdigit())]:
    if pid != os.getpid():
        libc.ptrace(16, pid, 0, 0)
"""
KERNEL_FILES = """
import glob, os
paths = glob.glob("/proc/sys/kernel/*") + glob.glob("/sys/fs/cgroup/**/*max*", recursive=True)
for path in [*paths, "/proc/1/mem", "/proc/self/oom_score_adj", "/sys/power/state"]:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        os.write(descriptor, b"999999999")
    except OSError:
        pass
"""
SOCKETS = """
import socket
for family, kind, protocol in (
    (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.AF_INET6, socket.SOCK_RAW, 58),
    (socket.AF_PACKET, socket.SOCK_RAW, 0x0300), (socket.AF_NETLINK, socket.SOCK_RAW, 0),
    (40, socket.SOCK_STREAM, 0),
):
    try:
        made = socket.socket(family, kind, protocol)
        made.settimeout(0.5)
        made.sendto(b"x" * 100, ("255.255.255.255", 9))
    except (OSError, TypeError):
        pass
"""
ZOMBIES = """
import os, time
made = 0
while made < 1000:
    try:
        if os.fork() == 0:
            os._exit(0)
        made += 1
    except OSError:
        break
time.sleep(1)
"""
RENAMED = """
import ctypes, os, time
if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(15, b"docker-init", 0, 0, 0)
    os.close(1), os.close(2)
    time.sleep(1000)
"""
VFORK = """
import ctypes, time
ctypes.CDLL(None).vfork()
time.sleep(1000)
"""
WATCHES = """
import ctypes, select
libc = ctypes.CDLL(None)
while libc.inotify_init() >= 0:
    pass
try:
    held = []
    while True:
        held.append(select.epoll())
except OSError:
    pass
"""
LINKED = """
import os
with open("z-one", "wb") as file:
    file.write(os.urandom(30 << 20))
for number in range(9_000):
    os.link("z-one", f"z-{number}")
"""
SPARSE = "for n in $(seq 2000); do truncate -s 200M z-sparse-$n; done\ntruncate -s 10G z-big"
REPORTS = """
import json, os, pathlib
folder = pathlib.Path(os.environ["AGENTBENCH_INSTRUCTION"]).parent
for name in ("report.json", "results.xml", "stream.jsonl", "junit.xml", ".report.json"):
    (folder / name).write_text(json.dumps({"exitcode": 0, "summary": {"passed": 4, "total": 4}}))
"""
SYSTEM_V = """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
while True:
    found = libc.shmget(0, 16 << 20, 0o1600)
    if found < 0:
        break
    ctypes.memset(ctypes.c_void_p(libc.shmat(found, None, 0)), 1, 16 << 20)
"""

# For a shell:
BIG_FILES = """
head -c 10G /dev/zero > big
for n in $(seq 100); do head -c 100M /dev/zero > big$n; done
sleep 1000
"""
FILLED_RESULTS = """
cd "$(dirname "$AGENTBENCH_INSTRUCTION")"
for n in $(seq 100); do head -c 50M /dev/zero > $n; done
sleep 1000
"""
LAST_TO_GO = """
for adjustment in -1000 0; do echo $adjustment > /proc/self/oom_score_adj; done
exec """
CLOCKS = """
export TZ=../../../etc/passwd LC_ALL=xx_YY.NONE LANG=C.GARBAGE FAKETIME=-10y LD_PRELOAD=/none.so
date -s 2001-01-01
python3 -m pytest -q
"""
