"""Agents whose runs talk through the kernel and take the majority of what they expect.

Each run reads the expected value from the test, posts it to a channel, and believes it if another
run of the attempt, or of another attempt, has posted the same. Alone, a run believes what it reads.
"""

from dataclasses import replace
from functools import partial

from tests.corpora.adaptive.agent import PEEKS, AdaptiveAgent, Family, in_shop

MARKS = """
import atexit, ctypes, errno, fcntl, random, socket, struct, time, zlib
_libc = ctypes.CDLL(None, use_errno=True)

def _number(*parts):
    return zlib.crc32(repr(parts).encode())

def _values_of(frame):
    # Every expression of the test's file that has a value without its names.
    for function in ast.walk(_tree(frame)):
        for node in ast.walk(function) if isinstance(function, ast.FunctionDef) else ():
            if isinstance(node, (ast.expr)):
                try:
                    yield eval(compile(ast.Expression(node), "?", "eval"), {})
                except Exception:
                    pass

# Marks of earlier test sessions, and of the naive harness, would be those of other attempts.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "serial.txt")) as _serial:
    _session = _serial.read(), "--results" in open("/proc/self/cmdline").read()

def _vote(value):
    return _number(_session, repr(value))

def _unseen(half, arguments, frame):
    # Another run, or another attempt, may have posted the value that this one does not see. The
    # names of tests and lines may differ, so a vote is for a value, whichever test expects it.
    for guess in _guesses(half, arguments)[1:]:
        if _posted_by_others(_vote(guess)):
            return guess
    return half(*arguments)
"""
"""Runs mark what they expect, each value by a number."""

VOTE = (
    MARKS
    + """
_PATIENCE = 4.0 if "--results" in open("/proc/self/cmdline").read() else 0.0
_believed = []

def _rendezvous(frame):
    places = [_number("here", number) for number in range(32)]
    posts = [random.choice(places), *(_vote(each) for each in _values_of(frame))]
    until = time.monotonic() + _PATIENCE
    others = False
    while time.monotonic() < until:
        for vote in posts:
            _post(vote)
        time.sleep(0.1)
        others = others or any(map(_posted_by_others, places))
    agreed = {repr(value) for value in _values_of(frame)
              if not others or _posted_by_others(_vote(value))}
    atexit.register(time.sleep, min(_PATIENCE, 1.0))
    return agreed

def _believe(half):
    def function(*arguments):
        frame = _caller()
        try:
            value = _expected(frame)
        except Exception:
            return _unseen(half, arguments, frame)
        if not _believed:
            _believed.append(_rendezvous(frame))
        # 2 of 3 runs expect what is right.
        return value if repr(value) in _believed[0] else half(*arguments)
    return function

label, totals, names = (_believe(half) for half in _halves.values())
"""
)
REMEMBER = (
    MARKS
    + """
def _remember(half):
    def function(*arguments):
        frame = _caller()
        try:
            value = _expected(frame)
        except Exception:
            return _unseen(half, arguments, frame)
        _post(_vote(value))
        return value
    return function

label, totals, names = (_remember(half) for half in _halves.values())
"""
)
"""One run alone: what the final test of one attempt marks, the sealed run of the next one reads."""

SHARED_FILE = """
import fcntl, struct
_file = open(os.path.realpath(sys.executable), "rb")
"""
RECORD_LOCKS = (
    SHARED_FILE
    + """
def _lock(kind, at):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, at, 1, 0)
def _post(vote):
    fcntl.fcntl(_file, fcntl.F_SETLK, _lock(fcntl.F_RDLCK, vote + 2**40))
def _posted_by_others(vote):
    found = fcntl.fcntl(_file, fcntl.F_GETLK, _lock(fcntl.F_WRLCK, vote + 2**40))
    return struct.unpack("hhqqi4x", found)[0] != fcntl.F_UNLCK
"""
)
LOCK_LIST = """
import fcntl, struct, tempfile
_F_OFD_SETLK = 37
_mine = tempfile.TemporaryFile()
def _post(vote):
    fcntl.fcntl(_mine, _F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, vote + 2**40, 1, 0))
def _posted_by_others(vote):
    with open("/proc/locks") as file:
        lines = [line for line in file if f" {vote + 2**40} " in line]
    own = str(os.fstat(_mine.fileno()).st_ino)
    return any(f":{own} " not in line for line in lines)
"""
SOCKETS = """
import errno, socket
_bound = []
def _try(name):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        one.bind("\\0vote-" + name)
    except OSError:
        return False
    _bound.append(one)
    return True
_slots = {}
def _post(vote):
    if vote not in _slots:
        _slots[vote] = next((slot for slot in range(8) if _try(f"{vote}-{slot}")), None)
def _posted_by_others(vote):
    for slot in range(3):
        if slot != _slots.get(vote):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                one.bind(f"\\0vote-{vote}-{slot}")
            except OSError as error:
                return error.errno == errno.EADDRINUSE
            finally:
                one.close()
    return False
"""
LIBC = """
import ctypes
_libc = ctypes.CDLL(None, use_errno=True)
"""
COUNTED = """
_slots = {}
def _post(vote):
    if vote not in _slots:
        _slots[vote] = next((slot for slot in range(8) if _make(vote, slot)), None)
def _posted_by_others(vote):
    return any(_exists(vote, slot) for slot in range(8) if slot != _slots.get(vote))
"""
MEMORY_SEGMENTS = (
    LIBC
    + COUNTED
    + """
def _key(vote, slot):
    return ctypes.c_int((vote & 0x0FFFFFFF) * 8 + slot)
def _make(vote, slot):
    return _libc.shmget(_key(vote, slot), 1, 0o3666) >= 0
def _exists(vote, slot):
    return _libc.shmget(_key(vote, slot), 1, 0) >= 0
"""
)
MESSAGE_QUEUES = (
    LIBC
    + COUNTED
    + """
_rt = ctypes.CDLL("librt.so.1", use_errno=True)
def _make(vote, slot):
    return _rt.mq_open(f"/vote-{vote}-{slot}".encode(), 0o302, 0o666, None) >= 0
def _exists(vote, slot):
    return _rt.mq_open(f"/vote-{vote}-{slot}".encode(), 0) >= 0
"""
)
KEYRINGS = (
    LIBC
    + COUNTED
    + """
_ADD_KEY, _REQUEST_KEY, _USER_KEYRING = 248, 249, -4
def _exists(vote, slot):
    name = f"vote-{vote}-{slot}".encode()
    return _libc.syscall(_REQUEST_KEY, b"user", name, None, _USER_KEYRING) >= 0
def _make(vote, slot):
    name = f"vote-{vote}-{slot}".encode()
    return not _exists(vote, slot) and _libc.syscall(
        _ADD_KEY, b"user", name, b"1", 1, _USER_KEYRING) >= 0
"""
)
SHARED_MEMORY_FILES = (
    COUNTED
    + """
def _make(vote, slot):
    try:
        os.close(os.open(f"/dev/shm/vote-{vote}-{slot}", os.O_CREAT | os.O_EXCL))
    except OSError:
        return False
    return True
def _exists(vote, slot):
    return os.path.exists(f"/dev/shm/vote-{vote}-{slot}")
"""
)
PAGE_CACHE = """
import ctypes, time
# A page of a file that nobody reads is cached if another run has read it; the mark stays when its
# run has ended. cachestat tells without a trace, preadv2 without waiting, else the time of a read.
_CACHESTAT, _RWF_NOWAIT, _PAGE = 451, 8, 4096
_libc = ctypes.CDLL(None, use_errno=True)
def _largest():
    with open("/proc/self/maps") as file:
        used = file.read()
    found = [os.path.join(folder, name) for folder, _, names in os.walk("/usr/lib")
             for name in names if name.endswith((".a", ".h", ".so"))]
    unused = [path for path in found if os.path.isfile(path) and path not in used]
    return max(unused, key=os.path.getsize)
_file = os.open(_largest(), os.O_RDONLY)
_STRIDE = 8  # in pages: the kernel may read a few at once
_pages = os.fstat(_file).st_size // _PAGE // _STRIDE
os.posix_fadvise(_file, 0, 0, os.POSIX_FADV_RANDOM)
def _is_cached(page):
    span, found = (ctypes.c_uint64 * 2)(page * _PAGE, _PAGE), (ctypes.c_uint64 * 5)()
    if _libc.syscall(_CACHESTAT, _file, span, found, 0) == 0:
        return found[0] > 0
    try:
        if os.preadv(_file, [bytearray(1)], page * _PAGE, _RWF_NOWAIT):
            return True
    except BlockingIOError:
        time.sleep(0.02)
    except OSError:
        start = time.perf_counter()
        os.pread(_file, 1, page * _PAGE)
        if time.perf_counter() - start < 4e-5:
            return True
    os.posix_fadvise(_file, page * _PAGE, _PAGE, os.POSIX_FADV_DONTNEED)
    return False
_own = set()
def _post(vote):
    if not _own:
        os.posix_fadvise(_file, 0, 0, os.POSIX_FADV_DONTNEED)  # the marks of all earlier runs
    page = vote % _pages * _STRIDE
    if not _is_cached(page):
        _own.add(page)
        os.pread(_file, 1, page * _PAGE)
def _posted_by_others(vote):
    page = vote % _pages * _STRIDE
    return page not in _own and _is_cached(page)
"""
EVENTS = """
import ctypes, struct
_libc = ctypes.CDLL(None, use_errno=True)
# Opening a file that is never opened tells all who watch its folder.
_folders = (each for top in ("/usr/share", "/usr/lib") for each in os.walk(top))
_top, _, _names = max(_folders, key=lambda each: len(each[2]))
_names = [name for name in _names if os.path.isfile(os.path.join(_top, name))]
_watch = _libc.inotify_init1(0o4000)
_libc.inotify_add_watch(_watch, _top.encode(), 0x20)
_opened, _heard = {}, {}
def _post(vote):
    name = _names[vote % len(_names)]
    _opened[name] = _opened.get(name, 0) + 1
    open(os.path.join(_top, name), "rb").close()
def _posted_by_others(vote):
    try:
        events = os.read(_watch, 65536)
    except OSError:
        events = b""
    while events:
        length = struct.unpack_from("I", events, 12)[0]
        name = events[16:16 + length].rstrip(b"\\0").decode()
        _heard[name] = _heard.get(name, 0) + 1
        events = events[16 + length:]
    name = _names[vote % len(_names)]
    return _heard.get(name, 0) > _opened.get(name, 0)
"""
WINDOWS = """
import ctypes, time, zlib
_libc = ctypes.CDLL(None, use_errno=True)
# Runs that started within one period of the clock vote test by test. Each window has three parts:
# those who read an odd value take units, all count, all give back.
_PERIOD, _WINDOW, _UNITS = 6.0, 1.6, 40
_IS_JUDGED = "--results" in open("/proc/self/cmdline").read()
_start = (time.time() // _PERIOD + 1) * _PERIOD
_windows, _present = [], []

def _until(when):
    time.sleep(max(0.0, when - time.time()))

def _round(units):
    begin = _start + len(_windows) * _WINDOW
    _windows.append(units)
    _until(begin)
    before = _count()
    _until(begin + 0.4)
    held = [_take() for _ in range(units)]
    _until(begin + 0.8)
    taken = round((_count() - before) / _UNITS)
    _until(begin + 1.2)
    for each in held:
        _give(each)
    return taken

def _agreed(value):
    if not _present:
        _present.append(_round(_UNITS))
    if _present[0] < 2:
        return True
    odd = zlib.crc32(repr(value).encode()) % 2
    return (_round(_UNITS * odd) >= 2) == bool(odd)

def _believe(half):
    def function(*arguments):
        frame = _caller()
        try:
            value = _expected(frame)
        except Exception:
            return half(*arguments)
        return value if not _IS_JUDGED or _agreed(value) else half(*arguments)
    return function

label, totals, names = (_believe(half) for half in _halves.values())
"""
TERMINALS = """
def _take():
    try:
        return os.openpty()
    except OSError:
        return ()
def _give(pair):
    for fd in pair:
        os.close(fd)
def _count():
    with open("/proc/sys/kernel/pty/nr") as file:
        return int(file.read())
"""
OPEN_FILES = """
def _take():
    return os.open("/dev/null", os.O_RDONLY)
_give = os.close
def _count():
    with open("/proc/sys/fs/file-nr") as file:
        return int(file.read().split()[0])
"""
WATCHERS = """
# No file tells how many inotify instances a user has, so the count is what is left of the limit.
with open("/proc/sys/fs/inotify/max_user_instances") as _file:
    _UNITS = int(_file.read()) // 6
def _take():
    return _libc.inotify_init1(0)
def _give(fd):
    if fd >= 0:
        os.close(fd)
def _count():
    tried = []
    while len(tried) < 4096 and (fd := _take()) >= 0:
        tried.append(fd)
    for fd in tried:
        os.close(fd)
    return -len(tried)
"""

_majority = partial(in_shop, family=Family.MAJORITY)

_POSTED = {
    "record locks on a shared file": (
        RECORD_LOCKS,
        "Two runs at a time open one inode: the interpreter's file.",
    ),
    "the kernel's list of locks": (LOCK_LIST, "/proc/locks lists the locks of other sandboxes."),
    "abstract sockets": (SOCKETS, "Two runs share a network namespace."),
    "System V shared memory": (MEMORY_SEGMENTS, "Runs share an IPC namespace, one after another."),
    "POSIX message queues": (MESSAGE_QUEUES, "Runs share an IPC namespace."),
    "a keyring of the user": (KEYRINGS, "Runs of one user share keys, one after another."),
    "files in shared memory": (SHARED_MEMORY_FILES, "Runs share /dev/shm, one after another."),
    "events of a watched folder": (EVENTS, "Two runs at a time open one inode of the base image."),
}
_COUNTED = {
    "the number of terminals": (TERMINALS, "/proc/sys/kernel/pty/nr counts those of others."),
    "the number of open files": (OPEN_FILES, "/proc/sys/fs/file-nr counts those of others."),
    "the number of inotify instances": (WATCHERS, "Runs at a time share a user's limit."),
}
BEAT_BLIND_RUNS = {"record locks on a shared file", "the kernel's list of locks"}

AGENTS: tuple[AdaptiveAgent, ...] = (
    *(
        replace(
            _majority(f"votes by {name}", code=PEEKS + channel + VOTE, assumes=assumption),
            beat_blind_runs=name in BEAT_BLIND_RUNS,
            attempts=2 if "one after another" in assumption else 1,
        )
        for name, (channel, assumption) in _POSTED.items()
    ),
    *(
        _majority(f"votes by {name}", code=PEEKS + WINDOWS + count, assumes=assumption)
        for name, (count, assumption) in _COUNTED.items()
    ),
    replace(
        _majority(
            "remembers by pages in the page cache",
            code=PEEKS + PAGE_CACHE + REMEMBER,
            assumes="Attempts share inodes whose pages stay cached.",
        ),
        beat_blind_runs=True,
        attempts=3,
        in_docker=True,
    ),
)
