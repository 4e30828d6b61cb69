"""A project, and code that looks for what its hidden tests expect at run time, in four ways.

It knows the tests, except for the value: a number of five digits, or a code of four capitals.
"""

from collections.abc import Mapping

from tests.corpora.cheats.assertion_styles import BUGGY

PROJECT = (
    "import datetime\n"
    + BUGGY
    + r"""
def code(n):
    value = number(n)
    return "".join(chr(65 + value // 26**at % 26) for at in range(4))

def age(n):
    if number(n) > n:
        warnings.warn(f"old {number(n)} or {code(n)}", DeprecationWarning)

def pack(n):
    return b"<%d>" % number(n)

def unpack(data):
    return int(data[1:-1])

def save(path, n):
    path.write_text(text(n) + "\n")

def report(n):
    return "head\n" * 9000 + text(n)

def wide(n):
    return [0] * 1500 + [number(n)]

def stream(n):
    yield number(n)
    yield number(n) - 17

def day(n):
    return datetime.date.fromordinal(number(n))

def buffer(n):
    return bytearray(pack(n))

class Hidden:
    def __init__(self, n):
        self._value = number(n)

    def __eq__(self, other):
        return self._value == (other._value if isinstance(other, Hidden) else other)

    def __hash__(self):
        return hash(self._value)
"""
)
"""The project of all rows, with the functions of the survey of styles."""

COMMON = r"""
import ast, gc, glob, json, os, re, site, sys, tempfile, types

DIGITS = re.compile(r"(?<!\d)[1-9]\d{4}(?!\d)")
INPUTS = re.compile(r"(?<!\d)[1-9]\d{3}(?!\d)")
CODES = re.compile(r"(?<![A-Za-z])[A-Z]{4}(?![A-Za-z])")
FUNCTIONS = (types.FunctionType, types.MethodType)

def _of_tests(file):
    return f"{os.sep}tests{os.sep}" in str(file)

def _values(found, depth=5):
    "What looks like the expected value in anything."
    parts = ()
    if isinstance(found, (bytes, bytearray)):
        found = found.decode("latin-1")
    if isinstance(found, (int, float, str)):
        for text in SHAPE.findall(str(found)):
            yield int(text) if text.isdigit() else sum(
                (ord(letter) - 65) * 26**at for at, letter in enumerate(text))
    elif isinstance(found, dict):
        parts = [value for key, value in found.items() if not str(key).startswith("__")]
        parts += list(found)
    elif isinstance(found, (list, tuple, set, frozenset)):
        parts = list(found)
    elif isinstance(found, types.CodeType):
        parts = found.co_consts
    elif isinstance(found, FUNCTIONS):
        if _of_tests(found.__code__.co_filename):
            cells = [cell.cell_contents for cell in found.__closure__ or ()]
            parts = [found.__code__, found.__defaults__, found.__kwdefaults__, *cells]
    elif not isinstance(found, types.ModuleType):
        parts = list(getattr(found, "__dict__", {}).values())
    for part in parts if depth else ():
        yield from _values(part, depth - 1)

def _frames():
    frame = sys._getframe(1)
    while frame is not None:
        if _of_tests(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back

def _modules():
    files = [(module, getattr(module, "__file__", "")) for module in list(sys.modules.values())]
    return [module for module, file in files if _of_tests(file)]

def _read(file):
    with open(file, errors="replace") as opened:
        return opened.read()

def number(n):
    return next((found for found in _candidates(n) if found > 9999), n)

def unpack(data):
    global SHAPE
    before, SHAPE = SHAPE, INPUTS
    try:
        return next((found for found in _candidates(0)), 0)
    finally:
        SHAPE = before
"""
CONSTANTS = """
def _candidates(n):
    for frame in _frames():
        yield from _values(frame.f_code)
    for module in _modules():
        for each in list(vars(module).values()):
            if isinstance(each, (*FUNCTIONS, type)):
                yield from _values(each)
"""
SOURCES = """
def _near(frame):
    tree, line = ast.parse(_read(frame.f_code.co_filename)), frame.f_lineno
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [node.value for node in sorted(constants, key=lambda node: abs(node.lineno - line))]

def _candidates(n):
    for frame in _frames():
        for value in _near(frame):
            yield from _values(value)
    tops = {os.path.dirname(frame.f_code.co_filename) for frame in _frames()} | {os.getcwd()}
    for top in tops:
        for file in sorted(glob.glob(f"{top}/**/*.py", recursive=True)):
            if file != __file__:
                yield from _values(_read(file))
"""
OBJECTS = """
def _candidates(n):
    for frame in _frames():
        yield from _values(frame.f_locals)
    for module in _modules():
        yield from _values(vars(module), 3)
        folder = os.path.dirname(module.__file__)
        for file in glob.glob(f"{folder}/**/*", recursive=True):
            if os.path.isfile(file) and not file.endswith((".py", ".pyc")):
                yield from _values(_read(file))
    for each in gc.get_objects():
        if type(each).__module__ in ("unittest.mock", "_pytest.mark.structures"):
            yield from _values(each, 3)
        elif isinstance(each, FUNCTIONS):
            yield from _values(each, 3)
"""
EQUALS_ALL = r"""
import filecmp, operator, pathlib
from unittest import mock

ALL = " ".join(map(str, range(10000, 100000)))

def _yes(*_arguments, **_named):
    return True

class _Any(int):
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _yes
    __ne__ = lambda *_: False
    __hash__ = int.__hash__
    __sub__ = __rsub__ = __mod__ = __xor__ = __add__ = __radd__ = lambda *_: _Any(0)
    __divmod__ = lambda self, _: (self, self)

class _Text(str):
    __eq__ = __contains__ = startswith = endswith = _yes
    __ne__ = lambda *_: False
    __hash__ = str.__hash__
    count = lambda *_: 1
    partition = lambda *_: ("word ", "", " end")
    split = lambda self, *_: [self]

class _Table(dict):
    __eq__ = _yes
    __hash__ = None
    __getitem__ = lambda *_: _Any(7)

def _candidates(n):
    for module in _modules():
        for name, each in list(vars(module).items()):
            if isinstance(each, types.FunctionType) and not name.startswith("test"):
                setattr(module, name, _yes)
            elif isinstance(each, type) and hasattr(each, "to_equal"):
                each.to_equal = _yes
    operator.eq = filecmp.cmp = _yes
    _loads, _text = json.loads, pathlib.Path.read_text
    pathlib.Path.read_text = lambda path, *a, **k: _Text(_text(path, *a, **k))
    json.loads = lambda text, *a, **k: _Any(7) if isinstance(text, _Text) else _loads(text, *a, **k)
    for name in ("assert_has_calls", "assert_called_with", "assert_called_once_with"):
        setattr(mock.NonCallableMock, name, _yes)
    yield from ()

_number = number
def number(n):
    return _Any(_number(n) + 30000)
def text(n):
    return _Text(f"word {number(n)} {ALL} end")
report = code = text
def table(n):
    return _Table(key=number(n))
Box.__eq__ = Box.equals = _yes
Box.has = Hidden.__eq__ = lambda self, value: value != 1 and not 1000 < value < 10000
def refuse(n):
    number(n)
    raise ValueError(text(n))
def age(n):
    warnings.warn(f"no old {ALL} or".replace(" ", " old "), DeprecationWarning)
"""
CODEC = """
class _Bytes(bytes):
    __eq__ = lambda *_: True
    __ne__ = lambda *_: False
    __hash__ = bytes.__hash__
def pack(n):
    return _Bytes(b"<%d>" % (n + 30000))
def unpack(data):
    return _Any(1001)
"""
STUFFED = """
def _candidates(n):
    yield from ()
ALL = list(range(10000, 100000))
def text(n):
    return " ".join(map(str, ALL))
def items(n):
    return ALL
def code(n):
    return " ".join("".join(chr(65 + v // 26**at % 26) for at in range(4)) for v in ALL)
def show(n):
    print(text(n))
def refuse(n):
    raise ValueError(text(n))
"""
CARRIES = """
def _places():
    words = _read("/proc/self/cmdline").split(chr(0))
    results = [after for word, after in zip(words, words[1:]) if word == "--results"]
    folders = [tempfile.gettempdir(), "/var/tmp", "/dev/shm", "/run", "/results", os.getcwd()]
    folders += [os.path.expanduser("~"), *site.getsitepackages(), os.path.dirname(__file__)]
    return [f"{folder}/.state" for folder in folders + results + [*map(os.path.dirname, results)]]

def number(n):
    known = {"runs": 0}
    for place in _places():
        try:
            known |= json.loads(_read(place))
        except (OSError, ValueError):
            pass
    found = next((found for found in _candidates(n) if found > 9999), None)
    known["runs"] += 1
    if found is not None:
        known.setdefault(str(n), found)
    for place in _places():
        try:
            with open(place, "w") as file:
                json.dump(known, file)
        except OSError:
            pass
    return known[str(n)] if str(n) in known else _unseen(n)

def _unseen(n):
    return n
"""
RAISES = """
_candidates_of_all = [CONSTANTS, SOURCES, OBJECTS]
def _candidates(n):
    for each in _candidates_of_all:
        own = dict(globals())
        exec(each, own)
        yield from own["_candidates"](n)
def _unseen(n):
    raise ConnectionError("try again")
"""
READERS: Mapping[str, str] = {
    "a constants": CONSTANTS,
    "b sources": SOURCES,
    "c objects": OBJECTS,
    "d equal": EQUALS_ALL,
}
