"""Every status of every symbolic tool, and every kind of error: what is asked and what is told."""

from dataclasses import dataclass, field

DIVIDE = """\
def share(total: int, people: int) -> int:
    return total // people
"""
ABSOLUTE = '''\
def absolute(x: int) -> int:
    """The distance from zero.

    post: __return__ >= 0
    """
    return x if x > 0 else -x
'''
BROKEN_POST = '''\
def clamp(x: int, top: int) -> int:
    """
    pre: top >= 0
    post: 0 <= __return__ <= top
    """
    return min(x, top)
'''
ASSERTS = """\
def half(x: int) -> int:
    assert x >= 0
    result = x // 2
    assert result != 21
    return result
"""
COUNTING = """\
def count_down(n: int) -> int:
    steps = 0
    while n > 0:
        n -= 1
        steps += 1
    return steps
"""
HANGING = """\
def hang(x: int) -> int:
    while True:
        x += 1
"""
LOOKUP = '''\
class Unknown(KeyError):
    """No such word."""


def price(word: str) -> int:
    if word == "magic":
        raise Unknown(word)
    return len(word)
'''
PAIR = """\
def old(x: int, y: int) -> int:
    return x * y


def new(x: int, y: int) -> int:
    return 0 if x == 77 else y * x


def same(x: int, y: int) -> int:
    return y * x


def joined(words: list[str]) -> str:
    return "".join(words)


def glued(words: list[str]) -> str:
    text = ""
    for word in words:
        text += word
    return text
"""
BRANCHY = """\
def sign(x: int) -> str:
    if x > 0:
        return "plus"
        x = 0
    elif x * x < 0:
        return "imaginary"
    return "zero" if x == 0 else "minus"
"""
WITH_EVAL = """\
def calculate(text: str) -> int:
    return eval(text)
"""


@dataclass(frozen=True)
class Row:
    """One call, and what comes back."""

    name: str
    tool: str
    code: str
    status: str
    arguments: dict
    error_type: str | None = None
    message: str = ""  # a part of it
    fields: dict = field(default_factory=dict)  # what they have to be
    bounds: dict = field(default_factory=dict)

    @property
    def call(self):
        """Its arguments."""
        return {"code": self.code, "timeout_seconds": 20, **self.arguments} if self.code else {}

    def said(self, seconds):
        """The part of the message, with the time that it was given."""
        return self.message.replace("{seconds:g}", f"{seconds:g}")


def _check(name, code, status, function, **more):
    more["arguments"] = {"function_name": function, **more.get("arguments", {})}
    return Row(name, "symbolic_check", code, status, **more)


def _path(name, code, status, function, kind, **more):
    more["arguments"] = {
        "function_name": function,
        "exception_type": kind,
        **more.get("arguments", {}),
    }
    return Row(name, "find_path_to_exception", code, status, **more)


def _pair(name, status, a, b, code=PAIR, **more):
    more["arguments"] = {"function_a": a, "function_b": b, **more.get("arguments", {})}
    return Row(name, "compare_functions", code, status, **more)


def _branches(name, code, status, function, **more):
    more["arguments"] = {"function_name": function, **more.get("arguments", {})}
    return Row(name, "analyze_branches", code, status, **more)


BRIEFLY = {"timeout_seconds": 1.5}
OUT_OF_TIME = "the analysis exceeded its timeout of {seconds:g} seconds"

ROWS = [
    _check(
        "verified, proven",
        ABSOLUTE,
        "verified",
        "absolute",
        message="no counterexample to absolute on any of its 2 paths",
        fields={"counterexamples": [], "paths_verified": 2, "coverage_estimate": 1.0},
        bounds={"exhaustive": True, "paths_explored": 2},
    ),
    _check(
        "verified, within bounds",
        COUNTING,
        "verified",
        "count_down",
        message="this is no proof",
        fields={"counterexamples": []},
        bounds={"exhaustive": False, "max_paths": 300},
    ),
    _check(
        "counterexample",
        DIVIDE,
        "counterexample",
        "share",
        message="ZeroDivisionError: integer division or modulo by zero (line 2)",
    ),
    _check(
        "counterexample to a postcondition",
        BROKEN_POST,
        "counterexample",
        "clamp",
        message="this does not hold: 0 <= __return__ <= top",
    ),
    _check(
        "counterexample to an assertion",
        ASSERTS,
        "counterexample",
        "half",
        message="raises AssertionError (line 4)",
    ),
    _check(
        "timeout",
        HANGING,
        "timeout",
        "hang",
        arguments=BRIEFLY,
        error_type="TimeoutError",
        message=OUT_OF_TIME,
    ),
    _check(
        "a function that is not there",
        ABSOLUTE,
        "error",
        "missing_func",
        error_type="ValueError",
        message="Function 'missing_func' not found in code",
        fields={"counterexamples": [], "paths_explored": 0, "paths_verified": 0},
    ),
    _check(
        "a syntax error",
        "def f(x: int):\n    y = 1\n    return x +\n",
        "error",
        "f",
        error_type="SyntaxError",
        message="Syntax error: invalid syntax (submitted.py, line 3)",
    ),
    _check(
        "a blocked call",
        WITH_EVAL,
        "error",
        "calculate",
        error_type="ValidationError",
        message="Blocked function call: eval",
        fields={"counterexamples": [], "coverage_estimate": 0.0},
    ),
    _check(
        "a module that is not there",
        "import numpy\n\n\ndef f(x: int) -> int:\n    return x\n",
        "error",
        "f",
        error_type="ImportError",
        message="No module named 'numpy'",
    ),
    _check(
        "a wrong timeout",
        ABSOLUTE,
        "error",
        "absolute",
        arguments={"timeout_seconds": -1},
        error_type="ValueError",
        message="invalid arguments: timeout_seconds: Input should be greater than or equal to 0.5",
    ),
    _check(
        "code that fails when loaded",
        "1 / 0\n\n\ndef f(x: int) -> int:\n    return x\n",
        "error",
        "f",
        error_type="RuntimeError",
        message="the code cannot be loaded: ZeroDivisionError: division by zero (line 1)",
    ),
    _path(
        "found",
        LOOKUP,
        "found",
        "price",
        "Unknown",
        message="price('magic') raises Unknown: 'magic'",
        fields={"paths_to_exception": 1, "total_paths_explored": 2},
    ),
    _path(
        "found by its base",
        LOOKUP,
        "found",
        "price",
        "LookupError",
        message="price('magic') raises Unknown",
    ),
    _path(
        "unreachable, proven",
        LOOKUP,
        "unreachable",
        "price",
        "ValueError",
        message="price raises no ValueError on any of its 2 paths",
        fields={"triggering_inputs": [], "paths_to_exception": 0},
        bounds={"exhaustive": True},
    ),
    _path(
        "no such exception",
        LOOKUP,
        "error",
        "price",
        "Unheard",
        error_type="ValueError",
        message="'Unheard' is no exception that the code knows",
    ),
    _pair(
        "different",
        "different",
        "old",
        "new",
        message="on old(77, ",
        fields={"confidence": "proven", "result_b": "returns 0"},
    ),
    _pair(
        "equivalent, proven",
        "equivalent",
        "old",
        "same",
        message="old and same behave alike on every path",
        fields={"confidence": "proven", "distinguishing_input": None},
        bounds={"exhaustive": True},
    ),
    _pair(
        "equivalent, within bounds",
        "equivalent",
        "joined",
        "glued",
        message="this is no proof",
        fields={"confidence": "tested"},
        bounds={"exhaustive": False},
    ),
    _pair(
        "one that is not there",
        "error",
        "old",
        "older",
        error_type="ValueError",
        message="Function 'older' not found in code",
        fields={"confidence": "none", "distinguishing_input": None},
    ),
    _branches(
        "complete",
        BRANCHY,
        "complete",
        "sign",
        message="5 of 6 branches of sign are reached, on all of its",
        fields={
            "total_branches": 6,
            "reachable_branches": 5,
            "dead_code_lines": [4, 6],
            "cyclomatic_complexity": 4,
        },
        bounds={"exhaustive": True},
    ),
    _branches(
        "no branch in time",
        HANGING,
        "error",
        "hang",
        arguments=BRIEFLY,
        error_type="TimeoutError",
        message=OUT_OF_TIME,
        fields={"total_branches": 2, "cyclomatic_complexity": 2},
    ),
    Row("healthy", "health_check", "", "healthy", {}, message="nothing is missing"),
]
