"""Two trees of the same project: what is compared, what is not, and who may say what."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentbench.extensions.symbolic.analysis import (
    ComparisonEnding,
    ComparisonRequest,
    ComparisonResult,
    ErrorComparison,
    FunctionLocation,
    FunctionPair,
    ReplayRequest,
    ReplayResult,
)
from tests.patience import with_growing_limit

SYMBOLIC = Path(__file__).parents[3] / "src/agentbench/extensions/symbolic"
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


def test_a_fault_that_needs_several_steps_is_found(tmp_path: Path) -> None:
    wrong = BOX.replace("self._items.pop(0)", "self._items.pop()")
    answer = Trees(tmp_path, BOX, wrong).compare("Box.take")
    assert answer.difference is not None
    assert answer.difference.call.count("it.put(") == 2
    assert answer.difference.call.endswith("it.take()")


@pytest.mark.parametrize(
    "name",
    [
        "Box",
        pytest.param("Box.put", marks=pytest.mark.soak),
        "Box.take",
        pytest.param("Box.full", marks=pytest.mark.soak),
    ],
)
def test_other_private_parts_are_no_difference(tmp_path: Path, name: str) -> None:
    other = BOX.replace("_items", "_kept").replace("_size", "_room")
    answer = Trees(tmp_path, BOX, other).compare(name)
    assert (answer.ending, answer.why) == (ComparisonEnding.NO_DIFFERENCE, "")


def test_a_difference_is_seen_again_in_the_trees_alone(tmp_path: Path) -> None:
    trees = Trees(tmp_path, BOX, BOX.replace(">= self._size", "> self._size"))
    difference = trees.compare("Box.full").difference or trees.compare("Box.put").difference
    assert difference is not None
    left, right = (trees.replay(at, *difference.program) for at in (0, 1))
    assert left.outcomes == (difference.left,) * 2
    assert right.outcomes == (difference.right,) * 2
    assert left.values[0] != right.values[0]


def test_types_that_nobody_wrote_down_are_guessed(tmp_path: Path) -> None:
    right = "def longest(words):\n    return max(words, key=len) if words else None\n"
    left = "def longest(words):\n    return sorted(words, key=len)[-1] if words else None\n"
    answer = Trees(tmp_path, left, right).compare("longest")
    assert answer.difference is not None  # the last of the longest, or the first
    assert answer.difference.left.startswith("returns '")


def test_an_error_that_the_reference_runs_into_accuses_nobody(tmp_path: Path) -> None:
    left = "def head(items: list[int]) -> int:\n    return items[0]\n"
    right = "def head(items: list[int]) -> int:\n    return items[0] if items else 0\n"
    trees = Trees(tmp_path, left, right)
    assert trees.compare("head").ending is ComparisonEnding.NO_DIFFERENCE
    assert trees.compare("head", errors="all").difference is not None


def test_an_error_that_the_reference_raises_is_what_it_does(tmp_path: Path) -> None:
    check = "    if not items:\n        raise ValueError\n"
    left = f"def head(items: list[int]) -> int:\n{check}    return 1\n"
    difference = Trees(tmp_path, left, "def head(items: list[int]) -> int:\n    return 1\n")
    found = difference.compare("head").difference
    assert found is not None
    assert found.call == "head([])"
    assert found.left.startswith("raises ValueError")


def test_what_nothing_is_known_to_make_is_not_called_alike(tmp_path: Path) -> None:
    source = "import socket\ndef f(peer: socket.socket) -> str:\n    return str(peer)\n"
    answer = Trees(tmp_path, source, source + "\n").compare("f")
    assert (answer.ending, "socket" in answer.why) == (ComparisonEnding.NOT_COMPARED, True)


def test_a_tree_that_cannot_be_loaded_is_not_called_alike(tmp_path: Path) -> None:
    source = "def f(n: int) -> int:\n    return n\n"
    answer = Trees(tmp_path, source, "import nowhere\n" + source).compare("f")
    assert answer.ending is ComparisonEnding.NOT_COMPARED
    assert "ModuleNotFoundError" in answer.why


@pytest.mark.parametrize(
    "body",
    [
        "import os; os._exit(0)",
        pytest.param(
            "import os, signal; os.kill(os.getppid(), signal.SIGCONT); os.abort()",
            marks=pytest.mark.soak,  # a process that ends is one, whatever ends it
        ),
        "import sys; sys.stdout.write('{}' * 9999); sys.exit(3)",
        "import os; [os.close(n) for n in range(3, 50)]; return n",
    ],
)
def test_code_that_ends_its_process_is_a_difference_and_no_end_of_the_comparing(
    body: str, tmp_path: Path
) -> None:
    difference = unlike_at_3(tmp_path, body).compare("f").difference
    assert difference is not None
    assert (difference.call, difference.left) == ("f(3)", "returns 3")


def unlike_at_3(folder: Path, body: str) -> Trees:
    left = "def f(n: int) -> int:\n    return n\n"
    right = f"def f(n: int) -> int:\n    if n == 3:\n        {body}\n    return n\n"
    return Trees(folder, left, right)


def test_code_that_does_not_end_is_a_difference(tmp_path: Path) -> None:
    trees = unlike_at_3(tmp_path, "while True: pass")

    def run(call_seconds: float) -> str:
        """The call and what came of it, if all others could end in so many seconds."""
        found = trees.compare("f", seconds=120 * call_seconds, call_seconds=call_seconds).difference
        return "" if found is None else f"{found.call} {found.left} {found.right}"

    said = with_growing_limit(run, lambda said: said.startswith("f(3) "), limits=(0.5, 5.0, 30.0))
    assert said.startswith("f(3) returns 3 does not end within ")


def test_the_order_in_a_set_accuses_nobody(tmp_path: Path) -> None:
    left = "def f(words: list[str]) -> list[str]:\n    return list(set(words))\n"
    right = "def f(words: list[str]) -> list[str]:\n    return list(dict.fromkeys(words))\n"
    assert Trees(tmp_path, left, right).compare("f").ending is not ComparisonEnding.DIFFERENT


def test_chance_accuses_nobody(tmp_path: Path) -> None:
    source = "import random\ndef f(n: int) -> float:\n    return random.random()\n"
    assert Trees(tmp_path, source, source).compare("f").ending is not ComparisonEnding.DIFFERENT


def test_a_known_literal_leads_to_what_no_random_text_is(tmp_path: Path) -> None:
    left = "def f(text: str) -> bool:\n    return text == 'xyzzy' + ' plugh'\n"
    trees = Trees(tmp_path, left, "def f(text: str) -> bool:\n    return text == '---'\n")
    found = trees.compare("f", literals=("'xyzzy plugh'",))
    assert found.difference is not None


def test_a_call_of_the_tests_is_tried_first(tmp_path: Path) -> None:
    right = "def f(n: int) -> int:\n    return n if n * n * 7 != 4375000000007 * 7 else 0\n"
    left = "def f(n: int) -> int:\n    return 1 if n == 123456 * 1000 else n\n"
    found = Trees(tmp_path, left, right).compare("f", observed=("f(123456000)",)).difference
    assert found is not None
    assert found.call == "f(123456000)"


def test_a_reference_that_is_slow_at_times_is_compared_where_it_is_not(tmp_path: Path) -> None:
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


def test_numbers_so_large_that_rounding_decides_accuse_nobody(tmp_path: Path) -> None:
    left = "def f(x: float, y: float) -> float:\n    return x + y - y if y < 1e300 else 0.0\n"
    right = "def f(x: float, y: float) -> float:\n    return x if y < 1e300 else 0.0\n"
    answer = Trees(tmp_path, left, right).compare("f", errors="all", symbolic=True)
    assert answer.ending is ComparisonEnding.NO_DIFFERENCE


@pytest.mark.soak
def test_letters_of_other_scripts_accuse_no_fix_of_code_that_knows_none(tmp_path: Path) -> None:
    left = "def f(text: str) -> str:\n    return text.upper().lower()\n"
    right = "def f(text: str) -> str:\n    return text.lower()\n"
    answer = Trees(tmp_path, left, right).compare("f", symbolic=True, path_seconds=12.0)
    assert answer.ending is ComparisonEnding.NO_DIFFERENCE
