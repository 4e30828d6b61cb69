"""Two trees of the same project: what is compared, what is not, and who may say what."""

import json
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from agentbench.extensions.symbolic.analysis import (
    AnalysisResult,
    ComparisonEnding,
    ComparisonRequest,
    ComparisonResult,
    ErrorComparison,
    FunctionLocation,
    FunctionPair,
    ReplayRequest,
    ReplayResult,
    compare_functions,
)
from tests.patience import with_growing_limit

SYMBOLIC = Path(__file__).parents[4] / "src/agentbench/extensions/symbolic"
PROGRAMS = SYMBOLIC / "mounted/agentbench_mounted"


def told(program: str, question: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAMS), program, ""],
        input=question.encode(),
        stdout=subprocess.PIPE,
        timeout=900,
        check=True,
    )
    return done.stdout


class Trees:
    """A reference and an agent's tree, each with one module."""

    def __init__(self, folder: Path, left: str, right: str) -> None:
        self.folders = folder / "left", folder / "right"
        for place, source in zip(self.folders, (left, right), strict=True):
            place.mkdir()
            (place / "shop.py").write_text(source)

    def compare(self, name: str, **asked: object) -> ComparisonResult:
        left, right = (
            FunctionLocation(paths=(str(folder),), module="shop", name=name)
            for folder in self.folders
        )
        errors = ErrorComparison(str(asked.pop("errors", "contract")))
        observed = asked.pop("observed", ())
        pair = FunctionPair(left=left, right=right, errors=errors, observed=observed)
        # Ample, but for paths: on a slow machine fewer of them are searched, which accuses nobody.
        time = {"seconds": 60.0, "call_seconds": 20.0, "path_seconds": 3.0}
        question = ComparisonRequest.model_validate(
            {"pairs": (pair,), "symbolic": False, **time, **asked}
        )
        return ComparisonResult.model_validate(
            json.loads(told("compare", question.model_dump_json()))
        )

    def replay(self, at: int, *program: str) -> ReplayResult:
        asked = ReplayRequest(paths=(str(self.folders[at]),), program=program)
        return ReplayResult.model_validate(
            json.loads(told("worker_process", asked.model_dump_json()))
        )


BOX = """
class Box:
    def __init__(self, size: int) -> None:
        self._items: list[int] = []
        self._size = max(size, 1)

    def put(self, item: int) -> bool:
        if len(self._items) >= self._size:
            return False
        self._items.append(item)
        return True

    def take(self) -> int | None:
        return self._items.pop(0) if self._items else None

    @property
    def full(self) -> bool:
        return len(self._items) == self._size
"""


def test_fault_behind_several_steps_is_found(tmp_path: Path) -> None:
    wrong = BOX.replace("self._items.pop(0)", "self._items.pop()")
    answer = Trees(tmp_path, BOX, wrong).compare("Box.take")
    assert answer.difference is not None
    assert answer.difference.call.count("it.put(") == 2
    assert answer.difference.call.endswith("it.take()")


@pytest.mark.parametrize(
    "name",
    [
        "Box",
        "Box.take",
    ],
)
def test_private_attributes_are_not_compared(tmp_path: Path, name: str) -> None:
    other = BOX.replace("_items", "_kept").replace("_size", "_room")
    answer = Trees(tmp_path, BOX, other).compare(name)
    assert (answer.ending, answer.why) == (ComparisonEnding.NO_DIFFERENCE, "")


def test_difference_is_confirmed_in_the_trees_alone(tmp_path: Path) -> None:
    trees = Trees(tmp_path, BOX, BOX.replace(">= self._size", "> self._size"))
    difference = trees.compare("Box.full").difference or trees.compare("Box.put").difference
    assert difference is not None
    left, right = (trees.replay(at, *difference.program) for at in (0, 1))
    assert left.outcomes == (difference.left,) * 2
    assert right.outcomes == (difference.right,) * 2
    assert left.values[0] != right.values[0]


def test_missing_annotations_are_guessed(tmp_path: Path) -> None:
    right = "def longest(words):\n    return max(words, key=len) if words else None\n"
    left = "def longest(words):\n    return sorted(words, key=len)[-1] if words else None\n"
    answer = Trees(tmp_path, left, right).compare("longest")
    assert answer.difference is not None  # the last of the longest, or the first
    assert answer.difference.left.startswith("returns '")


def test_internal_error_of_the_reference_is_no_difference(tmp_path: Path) -> None:
    left = "def head(items: list[int]) -> int:\n    return items[0]\n"
    right = "def head(items: list[int]) -> int:\n    return items[0] if items else 0\n"
    trees = Trees(tmp_path, left, right)
    assert trees.compare("head").ending is ComparisonEnding.NO_DIFFERENCE
    assert trees.compare("head", errors="all").difference is not None


def test_declared_error_of_the_reference_is_compared(tmp_path: Path) -> None:
    check = "    if not items:\n        raise ValueError\n"
    left = f"def head(items: list[int]) -> int:\n{check}    return 1\n"
    difference = Trees(tmp_path, left, "def head(items: list[int]) -> int:\n    return 1\n")
    found = difference.compare("head").difference
    assert found is not None
    assert found.call == "head([])"
    assert found.left.startswith("raises ValueError")


def test_type_without_known_constructor_is_not_compared(tmp_path: Path) -> None:
    source = "import socket\ndef f(peer: socket.socket) -> str:\n    return str(peer)\n"
    answer = Trees(tmp_path, source, source + "\n").compare("f")
    assert (answer.ending, "socket" in answer.why) == (ComparisonEnding.NOT_COMPARED, True)


def test_tree_that_fails_to_import_is_not_compared(tmp_path: Path) -> None:
    source = "def f(n: int) -> int:\n    return n\n"
    answer = Trees(tmp_path, source, "import nowhere\n" + source).compare("f")
    assert answer.ending is ComparisonEnding.NOT_COMPARED
    assert "ModuleNotFoundError" in answer.why


@pytest.mark.parametrize(
    "body",
    [
        "import os; os._exit(0)",
        "import sys; sys.stdout.write('{}' * 9999); sys.exit(3)",
        "import os; [os.close(n) for n in range(3, 50)]; return n",
    ],
)
def test_process_exit_is_a_difference_and_comparison_continues(body: str, tmp_path: Path) -> None:
    difference = unlike_at_3(tmp_path, body).compare("f").difference
    assert difference is not None
    assert (difference.call, difference.left) == ("f(3)", "returns 3")


def unlike_at_3(folder: Path, body: str) -> Trees:
    left = "def f(n: int) -> int:\n    return n\n"
    right = f"def f(n: int) -> int:\n    if n == 3:\n        {body}\n    return n\n"
    return Trees(folder, left, right)


def test_endless_code_is_a_difference(tmp_path: Path) -> None:
    trees = unlike_at_3(tmp_path, "while True: pass")

    def run(call_seconds: float) -> str:
        """The call and what came of it, if all others could end in so many seconds."""
        found = trees.compare("f", seconds=120 * call_seconds, call_seconds=call_seconds).difference
        return "" if found is None else f"{found.call} {found.left} {found.right}"

    words = with_growing_limit(
        run, lambda words: words.startswith("f(3) "), limits=(0.5, 5.0, 30.0)
    )
    assert words.startswith("f(3) returns 3 does not end within ")


def test_set_order_is_no_difference(tmp_path: Path) -> None:
    left = "def f(words: list[str]) -> list[str]:\n    return list(set(words))\n"
    right = "def f(words: list[str]) -> list[str]:\n    return list(dict.fromkeys(words))\n"
    assert Trees(tmp_path, left, right).compare("f").ending is not ComparisonEnding.DIFFERENT


def test_random_output_is_no_difference(tmp_path: Path) -> None:
    source = "import random\ndef f(n: int) -> float:\n    return random.random()\n"
    assert Trees(tmp_path, source, source).compare("f").ending is not ComparisonEnding.DIFFERENT


def test_known_literal_reaches_a_rare_text(tmp_path: Path) -> None:
    left = "def f(text: str) -> bool:\n    return text == 'xyzzy' + ' plugh'\n"
    trees = Trees(tmp_path, left, "def f(text: str) -> bool:\n    return text == '---'\n")
    found = trees.compare("f", literals=("'xyzzy plugh'",))
    assert found.difference is not None


def test_calls_of_the_tests_are_tried_first(tmp_path: Path) -> None:
    right = "def f(n: int) -> int:\n    return n if n * n * 7 != 4375000000007 * 7 else 0\n"
    left = "def f(n: int) -> int:\n    return 1 if n == 123456 * 1000 else n\n"
    found = Trees(tmp_path, left, right).compare("f", observed=("f(123456000)",)).difference
    assert found is not None
    assert found.call == "f(123456000)"


def test_slow_inputs_of_the_reference_are_left_out(tmp_path: Path) -> None:
    left = "def fib(n: int) -> int:\n    return max(n, 0) if n < 2 else fib(n - 1) + fib(n - 2)\n"
    right = (
        "def fib(n: int) -> int:\n    one, two = 0, 1\n    for _ in range(n):\n"
        "        one, two = two, one + two\n    return one\n"
    )
    trees = Trees(tmp_path, left, right)

    def run(call_seconds: float) -> ComparisonEnding:
        time = {"seconds": 6 * call_seconds, "call_seconds": call_seconds}
        return trees.compare("fib", errors="all", **time).ending

    # It is not compared where a quick call was cut off, which is seen by another try.
    ending = with_growing_limit(
        run,
        lambda ending: ending is not ComparisonEnding.NOT_COMPARED,
        limits=(0.5, 2.0, 10.0, 60.0),
    )
    assert ending is ComparisonEnding.NO_DIFFERENCE


def test_rounding_of_huge_numbers_is_no_difference(tmp_path: Path) -> None:
    left = "def f(x: float, y: float) -> float:\n    return x + y - y if y < 1e300 else 0.0\n"
    right = "def f(x: float, y: float) -> float:\n    return x if y < 1e300 else 0.0\n"
    answer = Trees(tmp_path, left, right).compare("f", errors="all", symbolic=True)
    assert answer.ending is ComparisonEnding.NO_DIFFERENCE


@pytest.mark.soak
def test_foreign_letters_are_no_difference_in_ascii_code(tmp_path: Path) -> None:
    left = "def f(text: str) -> str:\n    return text.upper().lower()\n"
    right = "def f(text: str) -> str:\n    return text.lower()\n"
    answer = Trees(tmp_path, left, right).compare("f", symbolic=True, path_seconds=12.0)
    assert answer.ending is ComparisonEnding.NO_DIFFERENCE


DIFFERENT = {
    "a coroutine": ("async def f(x: int) -> int:\n    return x\n", "return x", "return x or 1"),
    "a generator": ("def f(x: int):\n    yield x\n", "yield x", "yield x or 1"),
    "an asynchronous generator": (
        "async def f(x: int):\n    yield x\n",
        "yield x",
        "yield x or 1",
    ),
    "many arguments": ("def f(*xs: int) -> int:\n    return sum(xs)\n", "(xs)", "(xs[:4])"),
    "arguments of any name": (
        "def f(**named: int) -> int:\n    return len(named)\n",
        "len(named)",
        "len(named) + ('depth' in named)",
    ),
    "names that nobody typed": (
        "def f(**named):\n    return sorted(named)\n",
        "sorted(named)",
        "sorted(named)[:1]",
    ),
    "nan": ("def f(x: float) -> bool:\n    return x == x\n", "x == x", "True"),
    "a regular expression": (
        "import re\ndef f(text: str) -> bool:\n    return bool(re.match(r'^[a-f]+:\\d+$', text))\n",
        "match(",
        "fullmatch(",
    ),
    "a regular expression of the module": (
        "import re\nFORM = re.compile(r'^v\\d+(\\.\\d+)?$')\n"
        "def f(text: str) -> bool:\n    return bool(FORM.match(text))\n",
        "bool(FORM.match(text))",
        "bool(FORM.match(text)) and '.' not in text",
    ),
}

ALIKE_IN_THE_SOAK = {
    "a coroutine",  # as a generator
    "an asynchronous generator",
    "many arguments",
    "arguments of any name",
    "names that nobody typed",
    "a regular expression",
    "a regular expression of the module",
}
"""Those that the gate asks in another form, and those that need inputs of their own, which the
search for a difference shows; what they return is like anything else."""


@pytest.mark.parametrize("name", DIFFERENT)
def test_difference_is_found_in(tmp_path, name):
    source, one, other = DIFFERENT[name]
    assert one in source
    answer = Trees(tmp_path, source, source.replace(one, other)).compare("f")
    assert answer.ending is ComparisonEnding.DIFFERENT


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.soak if name in ALIKE_IN_THE_SOAK else ())
        for name in DIFFERENT
    ],
)
def test_equivalent_code_has_no_difference(tmp_path, name):
    source, _one, _other = DIFFERENT[name]
    answer = Trees(tmp_path, source, f"{source}\n\n# the same\n").compare("f", symbolic=True)
    assert answer.ending is ComparisonEnding.NO_DIFFERENCE


def test_printed_output_is_shown(tmp_path):
    left = "def f(x: int) -> int:\n    print('of', x)\n    return x\n"
    answer = Trees(tmp_path, left, left.replace("of", "for")).compare("f")
    assert answer.difference.left == "prints 'of 0\\n' and returns 0"


def test_standard_error_is_compared_only_on_request(tmp_path):
    left = "import sys\ndef f(x: int) -> int:\n    print(x, file=sys.stderr)\n    return x\n"
    trees = Trees(tmp_path, left, left.replace("print(x,", "print(-x,"))
    assert trees.compare("f").ending is ComparisonEnding.NO_DIFFERENCE
    assert trees.compare("f", errors="all").ending is ComparisonEnding.DIFFERENT


def test_printed_output_is_never_proven_equal(tmp_path):
    left = "def f(x: bool) -> bool:\n    print(x)\n    return x\n"
    answer = Trees(tmp_path, left, f"{left}\n").compare("f", errors="all", symbolic=True)
    assert (answer.ending, answer.exhausted) == (ComparisonEnding.NO_DIFFERENCE, False)


UNSEEN = {
    "a function": ("    return lambda y: x + y\n", "cannot be looked into"),
    "an object without public parts": ("    return Closed(x)\n", "cannot be looked into"),
    "nothing": ("    _KEPT.append(x)\n", "what it returns is nothing, and it changes no argument"),
    "a file that is written": ("    open('kept', 'w').close()\n    return x\n", "(open)"),
    "a process": ("    import os\n    return os.system('true')\n", "(os.system)"),
    "files that are not there": ("    return open(f'/none/{x}').read()\n", "too few inputs"),
}


@pytest.mark.parametrize(
    ("name", "errors"),
    # Which errors count is of account to those inputs alone on which all fails.
    [*((name, "all") for name in UNSEEN), ("files that are not there", "contract")],
)
def test_unobservable_results_are_not_compared(tmp_path, monkeypatch, name, errors):
    monkeypatch.chdir(tmp_path)
    body, why = UNSEEN[name]
    head = "_KEPT = []\nclass Closed:\n    def __init__(self, x): self._x = x\n"
    left = f"{head}def f(x: int):\n{body}"
    answer = Trees(tmp_path, left, f"{left}\n").compare("f", errors=errors, symbolic=True)
    assert (answer.ending, answer.exhausted) == (ComparisonEnding.NOT_COMPARED, False)
    assert why in answer.why


def test_module_variables_are_compared_only_on_request(tmp_path):
    left = "SEEN = []\ndef f(x: int) -> int:\n    SEEN.append(x)\n    return x\n"
    trees = Trees(tmp_path, left, left.replace("append(x)", "append(-x)"))
    assert trees.compare("f").ending is ComparisonEnding.NO_DIFFERENCE
    difference = trees.compare("f", errors="all").difference
    assert (difference.left, difference.right) == (
        "leaves shop.SEEN as [1]",
        "leaves shop.SEEN as [-1]",
    )


def test_annotated_choices_stay_within_the_annotation(tmp_path):
    left = (
        "from typing import Literal\n"
        "def f(how: Literal['up', 'down']) -> int:\n    return 1 if how == 'up' else 2\n"
    )
    answer = Trees(tmp_path, left, left.replace("2", "3")).compare("f")
    assert answer.difference.call == "f('down')"


CODE = (
    "def one(x: int) -> int:\n    return abs(x)\n"
    "def other(x: int) -> int:\n    return x if x > -9 else -x\n"
    "def hangs(x: int) -> int:\n    while True: pass\n"
)


def compared(analysis_sandboxes, *names, code=CODE, seconds=120.0):
    with analysis_sandboxes.opened(code, cancel=Event()) as opened:
        return compare_functions(opened, names, seconds)


def test_difference_is_shown_by_a_call(analysis_sandboxes):
    answer = compared(analysis_sandboxes, "one", "other")
    assert answer.ending is ComparisonEnding.DIFFERENT
    assert answer.difference.call.startswith("one(-")


def test_invalid_code_is_refused_before_any_comparison(analysis_sandboxes):
    assert compared(analysis_sandboxes, "one", "none").message == (
        "Function 'none' not found in code"
    )
    assert compared(analysis_sandboxes, "a", "b", code="(").error_type == "SyntaxError"


def test_import_that_never_ends_times_out(analysis_sandboxes):
    likeness = compared(analysis_sandboxes, "a", "b", code="while True: pass\n", seconds=1.0)
    assert likeness.over
    assert isinstance(likeness, AnalysisResult)


def test_printed_text_is_not_read_as_an_answer(analysis_sandboxes):
    forged = 'print(\'{"ending": "no_difference", "bogus": 1}\', flush=True)\n'
    answer = compared(analysis_sandboxes, "one", "other", code=forged + CODE)
    assert answer.ending is ComparisonEnding.DIFFERENT
