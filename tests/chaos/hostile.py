"""Commands that mean harm, and what an attempt by each of them may end in.

Each runs as an agent's command in a sandbox of small limits (`HOSTILE_TASK`). Where the command
fixes the bug before it does its harm, the attempt has to be resolved all the same: the final test
runs elsewhere, on what was taken out.
"""

from dataclasses import dataclass, replace

from tests.chaos import hostile_programs as programs
from tests.e2e.small_task import FIX, SmallTask

MEMORY_MIB, DISK_MIB, FILES = 256, 256, 12_000
LIMITS_SECONDS = (6, 120)
"""Of the agent; the longer one where a busy machine needs it for the harm to come to its end."""
HOSTILE_TASK = SmallTask(
    environment=f"memory_mib = {MEMORY_MIB}\npids = 64\ndisk_mib = {DISK_MIB}\nfiles = {FILES}",
)

RESOLVED = "resolved"
TIMEOUT = "TIMEOUT, agent"
NO_MEMORY = f"SANDBOX_ERROR, agent: out of memory (limit {MEMORY_MIB} MiB)"
NO_DISK = f"SANDBOX_ERROR, agent: out of disk (limit {DISK_MIB} MiB)"
NO_FILES = f"SANDBOX_ERROR, agent: out of disk (limit {FILES} files)"
TOOL_ERROR = "TOOL_ERROR, agent"
TESTS_FAILED = "TESTS_FAILED, agent"
BROKEN = "INTERNAL_ERROR, agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """One command."""

    name: str
    line: str
    ends: tuple[str, ...]  # one, or two where `why` says what they depend on
    why: str = ""
    anywhere: bool = False  # harms nobody by an unprivileged user without walls either

    def ends_in(self, end: str) -> bool:
        """Whether an attempt by it may end so."""
        return end.startswith(self.ends)

    def may_need_longer(self, end: str) -> bool:
        """Whether it was ended by its limit before it came to what it does."""
        return end.startswith(TIMEOUT) and not self.ends_in(end)


def task_within(seconds: float, environment: str = "") -> SmallTask:
    """The task, with a limit for its agent."""
    return replace(
        HOSTILE_TASK,
        environment=f"{HOSTILE_TASK.environment}\n{environment}",
        agent=f'timeout_s = {seconds}\n[integrity]\ncontrols = "off"',
    )


def _python(script: str) -> str:
    return f"python3 - <<'PROGRAM'\n{script}\nPROGRAM"


def _after_the_fix(line: str) -> str:
    return f"{FIX}\n{line}\ntrue"


def _resolved(name: str, line: str, *, anywhere: bool = False) -> Hostile:
    return Hostile(name=name, line=_after_the_fix(line), ends=(RESOLVED,), anywhere=anywhere)


def _ends(name: str, line: str, *ends: str, why: str = "", anywhere: bool = False) -> Hostile:
    return Hostile(name=name, line=line, ends=ends, why=why, anywhere=anywhere)


HOSTILE = (
    # processes
    _ends("fork bomb in sh", "f() { while :; do f & done; }\nf &\nexec sleep 1000", TIMEOUT),
    _ends(
        "fork bomb in python",
        _python(programs.FORKS),
        TIMEOUT,
        NO_MEMORY,
        why="what a process weighs",
    ),
    _ends(
        "ignored signals",
        "trap '' TERM INT HUP QUIT\nwhile :; do sleep 1; done",
        TIMEOUT,
        anywhere=True,
    ),
    _ends("stopped with its parent", "kill -STOP $PPID\nkill -STOP $$", TIMEOUT),
    _ends("never out of vfork", _python(programs.VFORK), TIMEOUT, anywhere=True),
    _ends("a pipe nobody writes to", "mkfifo pipe\ncat pipe", TIMEOUT, anywhere=True),
    _ends("a crash with a core", "ulimit -c unlimited\nkill -SEGV $$", TOOL_ERROR, anywhere=True),
    _resolved("daemons", _python(programs.DAEMONS), anywhere=True),
    _resolved("zombies", _python(programs.ZOMBIES)),
    _resolved("a daemon by another name", _python(programs.RENAMED), anywhere=True),
    _resolved("kill everybody", "kill -9 -1"),
    _resolved("trace everybody", _python(programs.PTRACE)),
    # memory
    _ends("memory bomb", f"exec {_python(programs.MEMORY_BOMB)}", NO_MEMORY),
    _ends("shared memory bomb", f"exec {_python(programs.SHARED_BOMB)}", NO_MEMORY),
    _ends(
        "memory bomb that means to outlive all",
        programs.LAST_TO_GO + _python(programs.MEMORY_BOMB),
        NO_MEMORY,
    ),
    _ends(
        "System V memory",
        f"exec {_python(programs.SYSTEM_V)}",
        NO_MEMORY,
        TESTS_FAILED,
        why="the kernel may allow fewer segments",
    ),
    _resolved("memory bomb in a child", _python(programs.MEMORY_BOMB)),
    _resolved("/dev/shm filled", "head -c 300M /dev/zero > /dev/shm/x"),
    # output
    _ends("endless output", "yes", TIMEOUT, anywhere=True),
    _ends("endless errors", "cat /dev/zero >&2", TIMEOUT, anywhere=True),
    _ends("10 GB of output", "head -c 10G /dev/zero\nsleep 1000", TIMEOUT, anywhere=True),
    _ends("an endless pipe", "cat /dev/zero | cat | cat > /dev/null", TIMEOUT, anywhere=True),
    _resolved(
        "garbage for a terminal",
        "head -c 1M /dev/urandom; printf '\\033[2J\\033]0;x\\007'",
        anywhere=True,
    ),
    _resolved("its own output closed", "exec 1>&- 2>&- 0<&-; sleep 1", anywhere=True),
    # disk
    _ends(
        "a million files",
        f"exec {_python(programs.MANY_FILES)}",
        NO_FILES,
        TIMEOUT,
        why="a slow disk does not get so far in time",
        anywhere=True,
    ),
    _ends(
        "a 10 GB real file",
        programs.BIG_FILES,
        NO_DISK,
        anywhere=True,
    ),
    _ends(
        "files without a name",
        f"exec {_python(programs.NAMELESS)}",
        NO_DISK,
        TIMEOUT,
        why="only root sees into processes",
    ),
    _ends(
        "results filled",
        programs.FILLED_RESULTS,
        NO_DISK,
        anywhere=True,
    ),
    _resolved(
        "/tmp filled", 'for n in 1 2 3; do head -c 90M /dev/zero > "${TMPDIR:-/tmp}/$n"; done'
    ),
    _resolved("400 GB of holes", programs.SPARSE, anywhere=True),
    _resolved("270 GB of hard links", _python(programs.LINKED), anywhere=True),
    _resolved("ten thousand folders in one another", _python(programs.DEEP), anywhere=True),
    _resolved("odd names", _python(programs.NAMES), anywhere=True),
    _resolved(
        "a loop of links",
        "ln -s b a; ln -s a b; ln -s . c; ln -s / d; find -L . -maxdepth 9",
        anywhere=True,
    ),
    # the workspace itself
    _resolved("everything locked", "chmod -R 000 .", anywhere=True),
    _resolved(
        "set-uid files and devices",
        "cp /bin/sh s; chmod 6755 s; ./s -p -c id; mknod sda b 8 0; mknod mem c 1 1",
        anywhere=True,
    ),
    _ends("the workspace removed", "rm -rf ./* ./.git", BROKEN, anywhere=True),
    _ends(
        "everything removed",
        "rm -rf ./* ./.git\ntimeout -k 1 3 rm -rf --no-preserve-root / 2> /dev/null\nexit 0",
        BROKEN,
    ),
    _ends("forged results", _python(programs.REPORTS), TESTS_FAILED, anywhere=True),
    # limits and walls
    _resolved("100,000 open files", _python(programs.DESCRIPTORS), anywhere=True),
    _resolved("watches used up", _python(programs.WATCHES), anywhere=True),
    _resolved(
        "limits raised",
        "ulimit -n 1000000; ulimit -f unlimited; ulimit -u unlimited; ulimit -v unlimited",
        anywhere=True,
    ),
    _resolved(
        "a huge argument list",
        "/bin/echo $(seq 1 300000) | wc -c; X=$(seq 1 300000); export X; /bin/true",
        anywhere=True,
    ),
    _resolved(
        "clocks and locales",
        programs.CLOCKS,
        anywhere=True,
    ),
    _resolved("the kernel's files", _python(programs.KERNEL_FILES)),
    _resolved("raw sockets", _python(programs.SOCKETS)),
    _resolved(
        "mounts",
        "mount -t tmpfs none /mnt; mount --bind / /mnt; umount -l /proc; umount -l /workspace",
    ),
    _resolved(
        "a user namespace",
        "unshare -Urmpf sh -c 'mount -t tmpfs x /tmp; mount --bind / /mnt; touch /tmp/x'",
    ),
)
