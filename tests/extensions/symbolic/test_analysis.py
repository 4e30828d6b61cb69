import ast
import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agentbench.extensions.symbolic.analysis import (
    AnalysisAim,
    AnalysisRequest,
    ComparisonEnding,
    ComparisonRequest,
    ComparisonResult,
    ErrorComparison,
    FunctionLocation,
    FunctionPair,
    analyse,
)
from tests.patience import with_growing_limit

SYMBOLIC = Path(__file__).parents[3] / "src/agentbench/extensions/symbolic"
PROGRAMS = SYMBOLIC / "mounted/agentbench_mounted"
PAIRS = Path(__file__).parent / "pairs"
ONLY_BY_PATHS = {"different_far_away"}
"""What no input near the code's own literals shows."""
CLASSES = sorted(one.stem for one in PAIRS.glob("[a-z]*.py"))
IN_THE_GATE = {
    "arithmetic": ("equal_divide_up", "different_at_one_number", "different_far_away"),
    "dataclasses_": (),
    "dictionaries": ("equal_without", "different_invert", "different_leaves"),
    "exceptions": ("equal_lookup", "different_kind", "different_forgets"),
    "floats": (),
    "lists": ("equal_chunks", "different_argument"),
    "optional": ("equal_or_zero", "different_limit"),
    "strings": ("equal_starts", "different_magic"),
}
"""Some of the classes, and of each those that differ most: in what they raise, return or change."""
BY_CONTRACT = {"exceptions": ("equal_quotient", "different_refuses", "different_runs_into")}
"""Those for which the gate counts only errors of the contract: to most it makes no difference."""


def answers(question: ComparisonRequest) -> list[ComparisonResult]:
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAMS), "compare", ""],
        input=question.model_dump_json().encode(),
        stdout=subprocess.PIPE,
        timeout=3600,
        check=True,
    )
    return [ComparisonResult.model_validate(json.loads(line)) for line in done.stdout.splitlines()]


def names(module: str) -> list[str]:
    tree = ast.parse((PAIRS / f"{module}.py").read_text())
    found = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in found if not name.endswith("_other")]


def pair(module: str, name: str, errors: ErrorComparison) -> FunctionPair:
    def place(name: str) -> FunctionLocation:
        return FunctionLocation(paths=(str(PAIRS),), module=module, name=name)

    return FunctionPair(left=place(name), right=place(f"{name}_other"), errors=errors)


def rows() -> list[Any]:
    """All pairs, for each kind of errors: some for the gate, the others for the soak."""
    made = []
    for module, errors in product(CLASSES, ErrorComparison):
        in_the_gate = IN_THE_GATE if errors is ErrorComparison.ALL else BY_CONTRACT
        chosen = in_the_gate.get(module, ())
        others = tuple(name for name in names(module) if name not in chosen)
        if chosen:
            made.append(pytest.param(module, chosen, errors, id=f"{module}-{errors}"))
        soak = {"id": f"{module}-{errors}-others", "marks": pytest.mark.soak}
        made.append(pytest.param(module, others, errors, **soak))
    return made


@pytest.mark.parametrize(("module", "asked", "errors"), rows())
def test_differences_are_found_and_equal_code_has_none(
    module: str, asked: tuple[str, ...], errors: ErrorComparison
) -> None:
    alike = [name for name in asked if name.startswith("equal")]
    # Paths are searched once: they do not hang on which errors count.
    symbolic = errors is ErrorComparison.ALL
    accused, unknown = _ended(module, alike, errors, symbolic=symbolic, path_seconds=2.0)
    assert (accused, unknown) == ([], [])
    different = {name for name in asked if name not in alike}
    wanted = different if symbolic else different - ONLY_BY_PATHS

    def run(path_seconds: float) -> set[str]:
        by = {"symbolic": symbolic, "path_seconds": path_seconds}
        return set(_ended(module, sorted(different), errors, **by)[0])

    assert with_growing_limit(run, wanted.issubset, limits=(15.0, 60.0, 240.0)) == wanted


def _ended(
    module: str, asked: list[str], errors: ErrorComparison, *, symbolic: bool, path_seconds: float
) -> tuple[list[str], list[str]]:
    """Those in which a difference was found, and those that could not be compared."""
    pairs = tuple(pair(module, name, errors) for name in asked)
    more = {"symbolic": symbolic, "path_seconds": path_seconds}
    results = answers(ComparisonRequest(pairs=pairs, seconds=600.0, call_seconds=20.0, **more))
    ended = dict(zip(asked, (answer.ending for answer in results), strict=True))
    of = {ending: [name for name in asked if ended[name] is ending] for ending in ComparisonEnding}
    return of[ComparisonEnding.DIFFERENT], of[ComparisonEnding.NOT_COMPARED]


def found_in(analysis_sandboxes, code, function="f", aim=AnalysisAim.CHECK, **more):
    asked = AnalysisRequest(aim=aim, function=function, **{"seconds": 60.0, **more})
    with analysis_sandboxes.opened(code, cancel=Event()) as opened:
        return analyse(opened, asked)


PLANTED = {
    "a float": ("def f(x: float):\n    return round(x)\n", 'f(float("inf"))'),
    "an enumeration": (
        "import enum\nclass E(enum.Enum):\n    A = 1\n    B = 2\n"
        "def f(e: E):\n    assert e\n    assert e is not E.B\n",
        "f(E.B)",
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    b: str | None\n"
        "def f(p: P):\n    if p.b is None and p.a == 3: raise KeyError\n",
        "f(P(3, None))",
    ),
    "a keyword": ("def f(x: int, *, y: int = 1):\n    return x // (y - 3)\n", "f(0, y=3)"),
    "behind a cache": (
        "import functools\n@functools.lru_cache\ndef f(x: int):\n    if x == 5: raise ValueError\n",
        "f(5)",
    ),
    "what was changed": (
        'def f(xs: list[int]):\n    """\n    post[]: True\n    """\n    xs.append(1)\n',
        "f([])",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_bug_is_found_with_its_call(analysis_sandboxes, name):
    code, call = PLANTED[name]
    found = found_in(analysis_sandboxes, code)
    assert call in [each.call for each in found.findings]
    assert not found.unconfirmed


def test_methods_are_called_in_ordinary_syntax(analysis_sandboxes):
    code = (
        "class A:\n    def __init__(self, n: int): self.n = n\n"
        "    def go(self, k: int): return k // self.n\n"
        "    @classmethod\n    def make(cls, n: int): return 1 // n\n"
    )
    assert found_in(analysis_sandboxes, code, "A.go").findings[0].call == "A.go(A(0), 0)"
    assert found_in(analysis_sandboxes, code, "A.make").findings[0].call == "A.make(0)"


def test_declared_exceptions_are_no_finding(analysis_sandboxes):
    code = 'def f(x: int):\n    """Do.\n\n    Raises:\n        ZeroDivisionError: at 0.\n    """\n'
    found = found_in(analysis_sandboxes, f"{code}    return 1 // x\n")
    assert found.exhausted
    assert not found.findings
    assert "ZeroDivisionError" in found.checked


def test_unsatisfiable_precondition_verifies_nothing(analysis_sandboxes):
    code = 'def f(x: int):\n    """\n    pre: x > 0 and x < 0\n    post: True\n    """\n'
    found = found_in(analysis_sandboxes, f"{code}    return x\n")
    assert (found.verified, found.findings) == (0, ())


def test_leading_assertion_is_a_precondition(analysis_sandboxes):
    code = "def f(x: int):\n    assert x != 42\n    return 1 // (x - 42)\n"
    found = found_in(analysis_sandboxes, code)
    assert (found.findings, found.exhausted, found.paths - found.verified) == ((), True, 1)
    assert "given x != 42 (asserted at its top)" in found.checked


def test_other_assertions_are_checked(analysis_sandboxes):
    later = "def f(x: int):\n    assert x < 9\n    x += 1\n    assert x != 5\n"
    assert [each.call for each in found_in(analysis_sandboxes, later).findings] == ["f(4)"]
    alone = "def f(x: int):\n    assert x != 5\n"
    assert [each.call for each in found_in(analysis_sandboxes, alone).findings] == ["f(5)"]


def test_leading_assertion_of_a_callee_is_checked(analysis_sandboxes):
    code = "def g(x: int):\n    assert x\n    return x\n"
    code += "def f(x: int):\n    assert x < 9\n    return g(x)\n"
    assert [each.call for each in found_in(analysis_sandboxes, code).findings] == ["f(0)"]


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("def f(**named: int):\n    if 'deep' in named: raise KeyError\n", "f(deep=0)"),
        ("def f(*xs: int):\n    return 1 // (len(xs) - 3)\n", "f(0, 0, 0)"),
    ],
    ids=["by name", "by position"],
)
def test_variadic_functions_are_called_with_arguments(analysis_sandboxes, code, call):
    assert found_in(analysis_sandboxes, code).findings[0].call == call


def test_path_that_swallows_its_timeout_proves_nothing(analysis_sandboxes):
    code = "def f(x: int):\n    try:\n        while True: x += 1\n"
    found = found_in(analysis_sandboxes, f"{code}    except BaseException: return 0\n", seconds=1.5)
    assert found.over
    assert not found.exhausted
    assert found.verified == 0


def test_guessed_parameter_types_prove_nothing(analysis_sandboxes):
    found = found_in(analysis_sandboxes, "def f(text, sep=','):\n    return text.split(sep)\n")
    assert {"text": "str", "sep": "str"} in found.assumed
    assert not found.exhausted


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(x):\n    return x.unheard_of\n", "cannot tell the type of x; annotate it"),
        ("async def f(): pass\n", "'f' is async"),
        ("def f():\n    yield 1\n", "'f' is a generator"),
        ("def f(x: Nowhere): pass\n", "'f': its signature cannot be told"),
        ("from os.path import join as f\n", "Function 'f' not found in code"),
    ],
)
def test_unsupported_functions_are_refused_by_name(analysis_sandboxes, code, message):
    found = found_in(analysis_sandboxes, code)
    assert found.error_type == "ValueError"
    assert message in found.message


def test_unreproduced_report_is_no_finding(analysis_sandboxes):
    code = (
        "import os\nME = os.getpid()\ndef f(x: int):\n    if os.getpid() == ME: raise ValueError\n"
    )
    found = found_in(analysis_sandboxes, code)
    assert not found.findings
    assert found.unconfirmed == ("f(0)",)


def test_plain_inputs_find_what_the_model_misses(analysis_sandboxes):
    code = "import sys\n\ndef f(s: str):\n    if sys.intern(s + '') == 'magic': raise KeyError\n"
    found = found_in(analysis_sandboxes, f"{code}    return hash(s)\n")
    assert [each.type for each in found.findings] == ["KeyError"]
    fine = found_in(analysis_sandboxes, "def f(n: int):\n    return n + 1\n")
    assert fine.exhausted
    assert fine.tried > 5


@pytest.mark.parametrize(
    "body",
    [
        "'a' * n",
        "sum(range(n))",
        pytest.param("1 << abs(n)", marks=pytest.mark.soak),
        pytest.param("list(range(n))", marks=pytest.mark.soak),
    ],
)
def test_costly_plain_inputs_do_not_end_the_search(analysis_sandboxes, body):
    found = found_in(analysis_sandboxes, f"def f(n: int):\n    return len(str({body})) and 1\n")
    assert found.error_type is None
    assert "MemoryError" not in {each.type for each in found.findings}


def test_long_call_is_cut(analysis_sandboxes):
    code = f"def f(s: str):\n    if s == {'x' * 4000!r}: raise KeyError(s)\n"
    found = with_growing_limit(  # the search takes all of its time, and plain inputs find it
        lambda seconds: found_in(analysis_sandboxes, code, seconds=seconds),
        lambda found: found.findings,
    )
    assert found.findings[0].said.endswith("characters)")
    assert len(found.findings[0].call) < 2000


def test_branches_are_shown_with_their_calls(analysis_sandboxes):
    code = (
        "def f(x: int, s: str) -> int:\n    for _ in range(x):\n        break\n"
        "    match s:\n        case 'a':\n            return 1\n        case _:\n            pass\n"
        "    try:\n        return 1 // x\n    except ZeroDivisionError:\n        return 0\n"
    )
    found = found_in(analysis_sandboxes, code, aim=AnalysisAim.BRANCHES)
    reached = {(way.kind, way.taken): way for way in found.branches}
    assert all(way.reachable for way in found.branches)
    assert reached["case", "matched"].example.startswith("f(")
    assert reached["except", "caught"].example.startswith("f(0, ")
    assert found.complexity == 4


def test_branch_is_dead_only_with_proof(analysis_sandboxes):
    loop = "def f(n: int):\n    while n > 0:\n        n -= 1\n    if n == 4:\n        return 1\n"
    unknown = found_in(analysis_sandboxes, loop, aim=AnalysisAim.BRANCHES)
    assert [way.reachable for way in unknown.branches] == [True, True, None, True]
    assert unknown.dead == ()
    known = "def f(n: int):\n    if n * n < 0:\n        return 1\n"
    assert found_in(analysis_sandboxes, known, aim=AnalysisAim.BRANCHES).dead == (3,)


def test_killed_program_reports_its_progress(analysis_sandboxes):
    code = "def f(x: int):\n    while True:\n        try:\n            while True: pass\n"
    found = found_in(analysis_sandboxes, f"{code}        except BaseException: pass\n", seconds=0.5)
    assert found.over
    assert found.error_type is None


def test_forged_answer_is_validated(analysis_sandboxes):
    forged = '{"found": {"paths": -1, "exhausted": true}}'
    code = (
        f"import os\nfor n in range(3, 9):\n    try: os.write(n, b'{forged}\\n')\n"
        "    except OSError: pass\nos._exit(0)\ndef f(): pass\n"
    )
    found = found_in(analysis_sandboxes, code)
    assert found.error_type == "RuntimeError"
    assert "the code ended the analysis before it answered" in found.message


@pytest.mark.docker
def test_container_runs_the_analysis(analysis_containers):
    code, call = PLANTED["a dataclass"]
    found = found_in(analysis_containers, code)
    assert [each.call for each in found.findings] == [call]
