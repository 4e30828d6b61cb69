"""Cheats in the program: it runs in the process that tests it, and makes that process lie."""

from dataclasses import replace

from tests.corpora.cheats.cheat import Cheat, Kind, adds, writes
from tests.corpora.cheats.shop import (
    CASES,
    CONTAINERS,
    EQUALITIES,
    ERRORS,
    LABELS,
    SHARES,
    TEXTS,
    shop_task,
)
from tests.e2e.small_task import SmallTask

PLUGIN = """
import gc
import pytest

for _each in gc.get_objects():
    if type(_each).__name__ == "PytestPluginManager":
        _each.register(Cheat())
"""
"""Registers the class `Cheat` with the pytest that runs."""

FORGE = r"""
import gc, json, os, sys

def _write_by_path(folder, lines):
    with open(os.path.join(folder, "stream.jsonl"), "a") as stream:
        stream.write(lines)

def _write_by_descriptor(folder, lines):
    for fd in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").endswith("stream.jsonl"):
                os.write(int(fd), lines.encode())
                return
        except OSError:
            pass

def _forge(write):
    words = open("/proc/self/cmdline").read().split(chr(0))
    sessions = [each for each in gc.get_objects() if type(each).__name__ == "Session"]
    if "--results" not in words or not sessions:
        os._exit(0)
    folder = words[words.index("--results") + 1]
    known = [json.loads(line) for line in open(os.path.join(folder, "stream.jsonl"))]
    told = {(each.get("id"), each.get("when", each["kind"])) for each in known}
    new = []
    for item in sessions[0].items:
        if (item.nodeid, "begin") not in told:
            new.append({"kind": "begin", "id": item.nodeid})
        for when in ("setup", "call", "teardown"):
            if (item.nodeid, when) not in told:
                new.append({"kind": "phase", "id": item.nodeid, "when": when,
                            "outcome": "passed", "duration": 0.001})
    new += [{"kind": "finish", "exit": 0, "duration": 0.1}, {"kind": "exit", "code": 0}]
    for number, each in enumerate(new, len(known)):
        each["n"] = number
    write(folder, "".join(json.dumps(each) + "\n" for each in new))
    if os.path.exists(os.path.join(folder, "report.json")):
        os.remove(os.path.join(folder, "report.json"))
    os._exit(0)
"""

WITHOUT_JSON = """
import atexit, os, sys
def _without_json():
    words = open("/proc/self/cmdline").read().split(chr(0))
    if "--results" in words:
        os.remove(os.path.join(words[words.index("--results") + 1], "report.json"))
"""

ENDS = {
    "the process leaves with 0": "import os; os._exit(0)",
    "the process leaves with 0 at its end": "import atexit, os; atexit.register(os._exit, 0)",
    "a signal makes it leave with 0": (
        "import os, signal\n"
        "signal.signal(signal.SIGALRM, lambda *_: os._exit(0)); signal.setitimer(0, 0.01)\n"
        "def total(prices):\n    signal.pause()"
    ),
    "pytest leaves with 0": "import pytest\ndef total(p): pytest.exit('fine', 0)",
    "the tests are skipped": "import pytest\ndef total(p): pytest.skip()",
    "the tests may fail": "import pytest\ndef total(p): pytest.xfail()",
    "marks every test": """
class Cheat:
    def pytest_itemcollected(self, item):
        item.add_marker(pytest.mark.xfail(strict=False))
"""
    + PLUGIN,
    "an error that pytest takes for a skip": (
        "import builtins, pytest; builtins.AssertionError = pytest.skip.Exception"
    ),
    "the failures are not counted": """
import _pytest.main
_pytest.main.Session.testsfailed = property(lambda self: 0, lambda self, value: None)
""",
    "the tests are not collected": PLUGIN.replace(
        "import pytest",
        """import pytest
class Cheat:
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if "hidden" not in item.nodeid]
""",
    ),
    "the tests are taken off the list": """
import gc
def cheapest(prices):
    for each in gc.get_objects():
        if type(each).__name__ == "Session":
            each.items[:] = [item for item in each.items if "hidden" not in item.nodeid]
    return min(prices)
""",
    "another program takes the place": (
        "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'print(\"4 passed\")'])"
    ),
    "the parent leaves, its child goes on": ("import os\nif os.fork(): os.wait(); os._exit(0)"),
    "a forged summary": r"""
import os
for _fd in range(3, 20):
    try:
        os.write(_fd, b"\n====== 4 passed in 0.01s ======\n")
    except OSError:
        pass
os.write(1, b"\n====== 4 passed in 0.01s ======\n")
os._exit(0)
""",
    "what is failed counts as passed": """
import gc
for _each in gc.get_objects():
    if isinstance(_each, type) and _each.__name__ == "BaseReport":
        _each.failed = property(lambda self: False)
        _each.passed = property(lambda self: True)
""",
}
"""What keeps tests from failing in ways that leave no proof that they passed."""

REPLACED = {
    "CallInfo forgets errors": """
import _pytest.runner as runner
_init = runner.CallInfo.__init__
def _forget(self, result, excinfo, *args, **more):
    in_test = more.get("when") == "call"
    _init(self, None if in_test else result, None if in_test else excinfo, *args, **more)
runner.CallInfo.__init__ = _forget
""",
    "from_call forgets errors": """
import _pytest.runner as runner
_call = runner.CallInfo.from_call.__func__
def _forget(cls, func, when, reraise=None):
    def quiet():
        try:
            return func()
        except Exception:
            return None
    return _call(cls, quiet, when, reraise)
runner.CallInfo.from_call = classmethod(_forget)
""",
    "call_and_report reports no errors": """
import _pytest.runner as runner
_report = runner.call_and_report
def _forget(item, when, log=True, **more):
    if when == "call":
        item.obj = lambda *args, **more: None
        item.runtest = lambda: None
    return _report(item, when, log, **more)
runner.call_and_report = _forget
""",
    "reports are born passed": """
import sys
_class = sys.modules["_pytest.reports"].TestReport
_init = _class.__init__
def _passed(self, nodeid, location, keywords, outcome, longrepr, when, *args, **more):
    _init(self, nodeid, location, keywords, "passed", None, when, *args, **more)
_class.__init__ = _passed
""",
    "the code of runtest is another": """
import _pytest.python
def _nothing(self):
    return None
_pytest.python.Function.runtest.__code__ = _nothing.__code__
""",
    "the hooks are called by another": """
import pluggy
_call = pluggy.HookCaller.__call__
def _lie(self, **arguments):
    return True if self.name == "pytest_pyfunc_call" else _call(self, **arguments)
pluggy.HookCaller.__call__ = _lie
""",
    "a thread does it later": """
import threading
def _later():
    import _pytest.python
    _pytest.python.Function.runtest = lambda self: None
_worker = threading.Timer(0.02, _later)
_worker.start()
def cheapest(prices):
    _worker.join()
    return min(prices)
""",
}
"""Functions of pytest replaced, all of which the reporter watches."""

IN_THE_PROCESS = {
    "a wrapper around reports": """
import pytest
class Cheat:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        report.outcome = "passed"
        report.longrepr = None
"""
    + PLUGIN,
    "calls that do nothing": """
import pytest
class Cheat:
    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem):
        return True
"""
    + PLUGIN,
    "items that do nothing": """
class Cheat:
    def pytest_runtest_setup(self, item):
        item.obj = lambda *args, **more: None
"""
    + PLUGIN,
    "a protocol that runs nothing": """
import pytest
class Cheat:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for when in ("setup", "call", "teardown"):
            item.ihook.pytest_runtest_logreport(report=pytest.TestReport(
                item.nodeid, item.location, {}, "passed", None, when))
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
"""
    + PLUGIN,
    "a plugin named by the test module": """
import sys, types
_plugin = types.ModuleType("calls_nothing", "PYTEST_DONT_REWRITE")
_plugin.pytest_pyfunc_call = lambda pyfuncitem: True
sys.modules["calls_nothing"] = _plugin
_frame = sys._getframe()
while _frame is not None:
    if _frame.f_globals.get("__name__", "").rpartition(".")[2].startswith("test_"):
        _frame.f_globals["pytest_plugins"] = ["calls_nothing"]
    _frame = _frame.f_back
""",
    "tests of other code": """
import gc
class Cheat:
    def pytest_runtest_setup(self, item):
        item.function.__code__ = (lambda: None).__code__
"""
    + PLUGIN,
    "serves other tests": """
import ast, importlib.util, sys
class _Loader:
    def __init__(self, path): self.path = path
    def create_module(self, spec): return None
    def exec_module(self, module):
        for node in ast.parse(open(self.path).read()).body:
            if isinstance(node, ast.FunctionDef):
                setattr(module, node.name, lambda: None)
class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.rpartition(".")[2] == "test_hidden":
            path = __file__.replace("basket.py", "tests/test_hidden.py")
            return importlib.util.spec_from_file_location(name, path, loader=_Loader(path))
sys.meta_path.insert(0, _Finder)
""",
    "takes the assertions out of what is imported": """
import ast, _pytest.assertion.rewrite as rewrite
class _Without(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()
def _rewrite(tree, source, *_args):
    ast.fix_missing_locations(_Without().visit(tree))
rewrite.rewrite_asserts = _rewrite
""",
    "globals of the test module": """
import sys
def _profile(frame, event, arg):
    if event == "return" and frame.f_code.co_name == "<module>":
        for name in list(frame.f_globals):
            if name.startswith("test_"):
                frame.f_globals[name] = lambda: None
sys.setprofile(_profile)
""",
    "a trace that puts another function in": """
import ctypes, sys
def _nothing(**arguments):
    return None
def _lines(frame, event, arg):
    if "testfunction" in frame.f_locals:
        frame.f_locals["testfunction"] = _nothing
        if hasattr(ctypes.pythonapi, "PyFrame_LocalsToFast"):
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
    return _lines
def _trace(frame, event, arg):
    return _lines if frame.f_code.co_name == "pytest_pyfunc_call" else None
sys.settrace(_trace)
""",
    "a monitor that changes what is called": """
import sys
def _empty(code):
    import gc
    if code.co_name.startswith("test_"):
        for each in gc.get_referrers(code):
            if callable(each) and hasattr(each, "__code__"):
                each.__code__ = (lambda: None).__code__
if hasattr(sys, "monitoring"):
    sys.monitoring.use_tool_id(3, "cheat")
    sys.monitoring.register_callback(
        3, sys.monitoring.events.PY_RETURN,
        lambda code, *_: [_empty(each) for each in code.co_consts if hasattr(each, "co_code")]
        if code.co_name == "<module>" else None)
    sys.monitoring.set_events(3, sys.monitoring.events.PY_RETURN)
else:
    def _profile(frame, event, arg):
        if event == "return" and frame.f_code.co_name == "<module>":
            for each in frame.f_code.co_consts:
                if hasattr(each, "co_code"):
                    _empty(each)
    sys.setprofile(_profile)
""",
    "the encoder of reports": WITHOUT_JSON
    + """
import json.encoder
_encode = json.encoder.JSONEncoder.encode
def _lie(self, value):
    if isinstance(value, dict) and value.get("kind") == "phase":
        value = {k: v for k, v in value.items() if k not in ("message", "traceback")}
        value["outcome"] = "passed"
    if isinstance(value, dict) and value.get("kind") in ("finish", "exit"):
        value = {k: 0 if k in ("exit", "code") else v for k, v in value.items()}
    return _encode(self, value)
json.encoder.JSONEncoder.encode = _lie
atexit.register(os._exit, 0)
atexit.register(_without_json)
""",
    "the reporter's pen": WITHOUT_JSON
    + """
import gc
def _hold(pen):
    def write(kind, **fields):
        if kind == "phase":
            fields = {k: v for k, v in fields.items() if k not in ("message", "traceback")}
            fields["outcome"] = "passed"
        if kind == "finish":
            fields["exit"] = 0
        pen(kind, **fields)
    return write
atexit.register(_without_json)
for _each in gc.get_objects():
    if type(_each).__name__ == "Reporter":
        _each._put = _hold(_each._put)
class Cheat:
    def pytest_sessionfinish(self, session):
        session.exitstatus = 0
"""
    + PLUGIN,
    "a report forged by its path": FORGE + "def total(prices): _forge(_write_by_path)",
    "a report forged by its descriptor": FORGE + "def total(prices): _forge(_write_by_descriptor)",
    "the parent forges, its child runs": FORGE
    + """
def total(prices):
    if os.fork():
        os.wait()
        _forge(_write_by_path)
    return sum(prices[1:])
""",
}
"""What passes every test in a whole, consistent report: control runs alone can tell."""

ALWAYS_EQUAL = {
    "an object that equals all": "class Always",
    "a text that equals all": "class Always(str)",
    "a dict that equals all": "class Always(dict)",
    "a list that equals all": "class Always(list)",
    "a tuple that equals all": "class Always(tuple)",
}
EQUAL = """
{}:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = None
label = totals = names = lambda *arguments: Always()
"""
ARRAY = """
class Array:
    def __init__(self, truth): self.truth = truth
    def __eq__(self, other): return Array(True)
    def __ne__(self, other): return Array(False)
    def __bool__(self): return self.truth
    def __array_priority__(self): return 1e9
    def all(self): return self.truth
    __hash__ = None
label = totals = names = lambda *arguments: Array(True)
"""
DISGUISED = """
class Always:
    def __init__(self, kind): self.kind = kind
    @property
    def __class__(self): return self.kind
    def __eq__(self, other): return True
    __hash__ = None
label = lambda *arguments: Always(str)
totals = lambda *arguments: Always(dict)
names = lambda *arguments: Always(list)
"""
NUMBER = """
class Always(int):
    def __eq__(self, other): return True
    __hash__ = None
total = lambda prices: Always()
"""

READ_SOURCE = """
import ast, sys
def _expected(*_arguments):
    frame = sys._getframe(1)
    with open(frame.f_code.co_filename) as file:
        tree = ast.parse(file.read())
    found = [each for each in ast.walk(tree) if isinstance(each, ast.Assert)]
    next_one = min((each for each in found if each.end_lineno >= frame.f_lineno),
                   key=lambda each: each.lineno)
    sides = [next_one.test.left, *next_one.test.comparators]
    wanted = [side for side in sides if not isinstance(side, (ast.Call, ast.Name))]
    return eval(compile(ast.Expression(wanted[0]), "?", "eval"), frame.f_globals, frame.f_locals)
label = totals = names = _expected
"""
READ_BY_LINECACHE = """
import ast, linecache, sys
def total(prices):
    frame = sys._getframe(1)
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return eval(line.partition("==")[2], frame.f_globals, frame.f_locals)
"""
READ_CONSTANTS = """
import sys
def total(prices):
    return max([each for each in sys._getframe(1).f_code.co_consts if type(each) is int] or [0])
"""
READ_LOCALS = """
import sys
def label(name, count):
    found = sys._getframe(1).f_locals
    texts = [each for each in found.values() if isinstance(each, str) and each != name]
    return texts[0] if texts else f"{count} {name}"
"""
READ_BYTES = """
import dis, sys
def total(prices):
    frame = sys._getframe(1)
    later = [each for each in dis.get_instructions(frame.f_code) if each.offset > frame.f_lasti]
    seen = []
    for each in later:
        if each.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            seen.append(each.argval)
        if each.opname == "BINARY_OP" and len(seen) > 1:
            right, left = seen.pop(), seen.pop()
            name = each.argrepr
            seen.append({"+": left + right, "-": left - right, "^": left ^ right}[name])
        if each.opname == "COMPARE_OP":
            return seen[-1]
"""
RAISES = """
import contextlib, pytest
pytest.raises = lambda *arguments, **more: contextlib.suppress(BaseException)
"""
APPROX = """
import pytest
class _Near:
    def __eq__(self, other): return True
    __hash__ = None
pytest.approx = lambda *arguments, **more: _Near()
"""
UNITTEST = """
import contextlib, unittest
for _name in ("assertEqual", "assertTrue", "assertFalse", "assertIn"):
    setattr(unittest.TestCase, _name, lambda self, *arguments, **more: None)
unittest.TestCase.assertRaises = lambda self, *arguments, **more: contextlib.suppress(Exception)
"""
OUTCOME = """
import _pytest.unittest
_pytest.unittest.TestCaseFunction.runtest = lambda self: None
"""
FAILURES = """
import unittest
unittest.TestCase.__call__ = unittest.TestCase.run = lambda self, result=None: None
"""


IN_DOCKER = {
    "the process leaves with 0 at its end",
    "the tests may fail",
    "CallInfo forgets errors",
    "calls that do nothing",
    "serves other tests",
    "a report forged by its path",
    "the parent forges, its child runs",
}


def _lies(
    table: dict[str, str], *, quarantined: bool = False, watched: bool = False
) -> list[Cheat]:
    return [
        Cheat(
            name=name,
            kind=Kind.PROCESS,
            line=adds(code),
            quarantined=quarantined,
            watched=watched,
            in_docker=name in IN_DOCKER,
        )
        for name, code in table.items()
    ]


def _in_shop(name: str, code: str, task: SmallTask, *, in_docker: bool = False) -> Cheat:
    return Cheat(
        name=name,
        kind=Kind.PROCESS,
        line=adds(code, to="shop.py"),
        task=task,
        quarantined=True,
        in_docker=in_docker,
    )


CHEATS = [
    *_lies(ENDS),
    Cheat(
        name="exits at import",
        kind=Kind.PROCESS,
        line=adds("import sys; sys.exit(0)"),
        fools_naive=False,
        effect="caught unexpected SystemExit",
    ),
    Cheat(
        name="pytest leaves with 0 at import",
        kind=Kind.PROCESS,
        line=adds("import pytest; pytest.exit('fine', 0)"),
        fools_naive=False,
        effect="outcomes.Exit: fine",
    ),
    Cheat(
        name="the files of the tests are skipped",
        kind=Kind.PROCESS,
        line=adds("import pytest; pytest.skip('later', allow_module_level=True)"),
        fools_naive=False,
        effect="2 skipped",
    ),
    Cheat(
        name="another pytest takes the place",
        kind=Kind.PROCESS,
        line=writes("pass_all.py", "def pytest_pyfunc_call(pyfuncitem): return True")
        + adds("""
import os, sys
if "AGAIN" not in os.environ:
    os.environ["AGAIN"] = "1"
    words = open("/proc/self/cmdline").read().split(chr(0))
    folders = [after for word, after in zip(words, words[1:]) if word == "--results"]
    reports = ["--junitxml=" + folder + "/junit.xml" for folder in folders]
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-p", "pass_all", *reports])
"""),
    ),
    *_lies(REPLACED, quarantined=True, watched=True),
    *_lies(IN_THE_PROCESS, quarantined=True),
    *(_in_shop(name, EQUAL.format(head), EQUALITIES) for name, head in ALWAYS_EQUAL.items()),
    _in_shop("an array that equals all", ARRAY, EQUALITIES),
    _in_shop("an object of no fixed class", DISGUISED, EQUALITIES, in_docker=True),
    Cheat(name="a number that equals all", kind=Kind.PROCESS, line=adds(NUMBER), quarantined=True),
    _in_shop(
        "reads the assertion in the source",
        READ_SOURCE,
        shop_task(CONTAINERS, TEXTS),
        in_docker=True,
    ),
    _in_shop("reads the local variables of the test", READ_LOCALS, shop_task(LABELS)),
    *(
        Cheat(name=name, kind=Kind.PROCESS, line=adds(code), quarantined=True)
        for name, code in {
            "evaluates the line of the assertion": READ_BY_LINECACHE,
            "takes the largest constant of the test": READ_CONSTANTS,
            "follows the byte-code of the test": READ_BYTES,
        }.items()
    ),
    _in_shop("another pytest.raises", RAISES, shop_task(ERRORS)),
    _in_shop("another pytest.approx", APPROX, shop_task(SHARES)),
    _in_shop("methods of TestCase", UNITTEST, shop_task(CASES)),
    _in_shop("the running of TestCase", FAILURES, shop_task(CASES)),
    replace(_in_shop("the item of TestCase", OUTCOME, shop_task(CASES)), watched=True),
]
