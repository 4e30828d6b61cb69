"""Honest fixes that work in unusual ways: threads, caches, frames, hooks, lazy and moved code."""

from tests.corpora.cheats import shop
from tests.corpora.cheats.cheat import adds, writes
from tests.corpora.cheats.honest import Honest
from tests.corpora.unusual import kit
from tests.corpora.unusual.styles import SIGNED_MOCKS
from tests.corpora.unusual.values import SHOP, in_kit, in_shop

_IN_SHOP = {
    "caches": """
import functools
label = functools.lru_cache(label)
share = functools.cache(share)
""",
    "a mutable default as a cache": """
_label = label
def label(name, count, *, _known={}):
    if (name, count) not in _known:
        _known[name, count] = _label(name, count)
    return _known[name, count]
""",
    "random order": """
import random
_totals = totals
def totals(lines):
    found = list(_totals(random.sample(lines, len(lines))).items())
    random.shuffle(found)
    return dict(found)
""",
    "frames read for a log": """
import inspect, logging, sys
_label = label
def label(name, count):
    caller = inspect.stack()[1]
    logging.getLogger("shop").info(
        "%s:%s %s %s", caller.filename, caller.lineno, caller.code_context,
        sorted(sys._getframe(1).f_locals))
    return _label(name, count)
""",
    "threads": """
import concurrent.futures, threading
_lock, _label = threading.Lock(), label
def label(name, count):
    found = []
    def work():
        with _lock:
            found.append(_label(name, count))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]
_totals = totals
def totals(lines):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return pool.submit(_totals, lines).result()
""",
    "processes": """
import multiprocessing, subprocess, sys
_label = label
def _put(pipe, name, count):
    pipe.send(_label(name, count))
def label(name, count):
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_put, args=(there, name, count))
    process.start()
    found = here.recv()
    process.join()
    return found
def is_dear(price):
    return subprocess.run([sys.executable, "-c", f"exit(not {price} > 10)"]).returncode == 0
""",
    "an event loop": """
import asyncio
_label = label
async def _later(name, count):
    await asyncio.sleep(0)
    return _label(name, count)
def label(name, count):
    return asyncio.run(_later(name, count))
""",
    "slowness": """
import time
_label = label
def label(name, count):
    time.sleep(0.05)
    return _label(name, count)
""",
    "noise": """
import logging, sys, warnings
logging.basicConfig(level=logging.DEBUG)
_label = label
def label(name, count):
    print("label", name, count)
    print("\\x1b[1m== FAILED ==\\x1b[0m", file=sys.stderr)
    logging.getLogger(__name__).warning("labels are slow")
    warnings.warn("label may change", FutureWarning, stacklevel=2)
    return _label(name, count)
""",
    "imports on first use": """
def share(total, people):
    from fractions import Fraction
    import json, statistics
    return json.loads(json.dumps(float(statistics.fmean([Fraction(total, people)]))))
""",
    "a module that makes its functions on demand": """
_made = {"label": label, "share": share}
del label, share
def __getattr__(name):
    try:
        return _made[name]
    except KeyError:
        raise AttributeError(name) from None
def __dir__():
    return sorted([*globals(), *_made])
""",
    "a module of another class": """
import sys, types
class _Module(types.ModuleType):
    @property
    def label(self):
        return self._label
_label = label
del label
sys.modules[__name__].__class__ = _Module
""",
    "descriptors and a metaclass": """
class _Rule:
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, instance, owner): return owner.rules[self.name]
class _Meta(type):
    def __new__(mcs, name, bases, space):
        return super().__new__(mcs, name, bases, {**space, "rules": {"limit": 10}})
    def __call__(cls, price): return price > cls.limit
class is_dear(metaclass=_Meta):
    limit = _Rule()
""",
    "a callable object with partial arguments": """
import functools, operator
class _Label:
    def __init__(self, plural): self.plural = plural
    def __call__(self, name, count):
        return " ".join([str(count), name + self.plural * (count != 1)])
label = _Label("s")
is_dear = functools.partial(operator.lt, 10)
""",
    "builtins patched for a moment": """
import builtins
_real = builtins.sorted
builtins.sorted = lambda items, **more: _real(items, **more)
try:
    _ORDER = sorted(["label", "share"])
finally:
    builtins.sorted = _real
""",
    "garbage collection and recursion": """
import gc, sys
gc.disable()
sys.setrecursionlimit(5_000)
gc.freeze()
_label = label
def label(name, count, depth=900):
    return label(name, count, depth - 1) if depth else _label(name, count)
""",
    "signals": """
import signal
signal.signal(signal.SIGUSR1, lambda *_: _seen.append(1))
_seen, _label = [], label
def label(name, count):
    signal.raise_signal(signal.SIGUSR1)
    return _label(name, count) if _seen.pop() else None
""",
    "the locale": """
import locale
locale.setlocale(locale.LC_ALL, "C")
def names(lines):
    return sorted({line[0] for line in lines}, key=locale.strxfrm)
""",
    "context variables and blocks": """
import contextlib, contextvars
_plural = contextvars.ContextVar("plural", default="s")
@contextlib.contextmanager
def _singular():
    token = _plural.set("")
    try:
        yield
    finally:
        _plural.reset(token)
def label(name, count):
    with _singular() if count == 1 else contextlib.nullcontext():
        return f"{count} {name}{_plural.get()}"
""",
    "code made from text": """
exec(compile('def share(total, people):\\n    return total / people\\n', "<made>", "exec"))
label = eval("lambda name, count: '%d %s%s' % (count, name, '' if count == 1 else 's')")
""",
    "a database in memory": """
import sqlite3
def totals(lines):
    with sqlite3.connect(":memory:") as base:
        base.execute("create table line (name, count, price)")
        base.executemany("insert into line values (?, ?, ?)", lines)
        return dict(base.execute("select name, sum(count * price) from line group by name"))
""",
    "the memory of C": """
import ctypes
def share(total, people):
    cell = ctypes.c_double(total)
    ctypes.pointer(cell)[0] /= people
    return cell.value
""",
    "a trace that counts calls": """
import sys
_counts, _label = {}, label
def _count(frame, event, arg):
    _counts[frame.f_code.co_name] = _counts.get(frame.f_code.co_name, 0) + 1
def label(name, count):
    before = sys.getprofile()
    sys.setprofile(_count)
    try:
        return _label(name, count)
    finally:
        sys.setprofile(before)
""",
    "objects that log their end": """
import atexit, logging, weakref
class _Session:
    def __del__(self): logging.getLogger(__name__).debug("closed")
_session = _Session()
weakref.finalize(_session, list)
atexit.register(print, "the shop is closed")
""",
}
_IN_KIT = {
    "decorators of several kinds": """
import functools
def _checked(function):
    @functools.wraps(function)
    def wrapper(*arguments, **more):
        return function(*arguments, **more)
    return wrapper
mean, words, level = map(_checked, (mean, words, level))
@functools.singledispatch
def encode(text): raise TypeError(text)
@encode.register
def _(text: str): return text.encode("utf-8")
""",
    "exit stacks and threads around blocks": """
import threading
@contextlib.contextmanager
def opened(events):
    with contextlib.ExitStack() as stack:
        events.append("open")
        stack.callback(events.append, "close")
        thread = threading.Thread(target=sum, args=([1, 2],))
        thread.start()
        stack.callback(thread.join)
        yield events
""",
    "writing through a temporary file": """
import tempfile
def save(path, lines):
    path = os.fspath(path)
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False) as file:
        file.writelines(f"{line}\\n" for line in lines)
    os.replace(file.name, path)
def greet(name):
    os.sys.stdout.write("Hello, ")
    os.sys.stdout.write(f"{name}!\\n")
    os.sys.stdout.flush()
""",
}
_MOVED = (
    shop.FIX
    + "mkdir -p core; git mv shop.py core/trade.py; touch core/__init__.py; "
    + writes(
        "shop.py",
        """
import importlib
from core.trade import OrderError, is_dear, order, share
_trade = importlib.import_module("core.trade")
label, totals, names = _trade.label, _trade.totals, _trade.names
""",
    )
)
_RENAMED = (
    "git mv shop.py market.py; "
    "sed -i 's/OrderError/MarketError/g; s/def label/def text/' market.py; "
    + shop.FIX.replace("shop.py", "market.py")
    .replace("OrderError", "MarketError")
    .replace("def label", "def text")
    + writes(
        "shop.py",
        """
import market
from market import *
OrderError, label = market.MarketError, market.text
""",
    )
)
_IN_DOCKER = {"processes"}

FIXES = [
    *(in_shop(name, code, in_docker=name in _IN_DOCKER) for name, code in _IN_SHOP.items()),
    *(in_kit(name, code) for name, code in _IN_KIT.items()),
    Honest(
        name="gives a mock positions where the reference solution gives keywords",
        line=f"{kit.FIX}sed -i 's/send(name, retries=3)/send(name, 3)/' kit.py",
        task=kit.kit_task(SIGNED_MOCKS),
    ),
    Honest(name="moves the functions and exports them again", line=_MOVED, task=SHOP),
    Honest(name="renames a module, a class and a function", line=_RENAMED, task=SHOP),
    Honest(
        name="a module and its compiled data",
        line=shop.FIX
        + "python -c \"import pickle; pickle.dump({1: ''}, open('plural.bin', 'wb'))\"; "
        + adds(
            """
import pathlib, pickle
_PLURAL = pickle.loads(pathlib.Path(__file__).with_name("plural.bin").read_bytes())
def label(name, count):
    return f"{count} {name}{_PLURAL.get(count, 's')}"
""",
            to="shop.py",
        ),
        task=SHOP,
    ),
]
