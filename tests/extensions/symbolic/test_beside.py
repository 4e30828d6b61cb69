"""What functions do beside what they return, and what nobody can see of them."""

import pytest

from agentbench.extensions.symbolic.analysis import ComparisonEnding
from tests.extensions.symbolic.test_trees import Trees

DIFFERENT = {
    "what is printed": ("def f(x: int) -> None:\n    print(x)\n", "print(x)", "print(x + 1)"),
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
    "what is printed",
    "a coroutine",  # as a generator
    "an asynchronous generator",
    "many arguments",
    "arguments of any name",
    "names that nobody typed",
    "a regular expression",
    "a regular expression of the module",
}
"""Those that the gate asks in another form, and those that need inputs of their own, which the
search for a difference shows; what they return is like anything else. What is printed has a test
of its own, where no path proves it."""


@pytest.mark.parametrize(
    "name",
    [
        # That is asked below, where it is shown.
        pytest.param(name, marks=pytest.mark.soak if name == "what is printed" else ())
        for name in DIFFERENT
    ],
)
def test_a_difference_is_found_in(tmp_path, name):
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
def test_the_same_is_never_accused_for(tmp_path, name):
    source, _one, _other = DIFFERENT[name]
    answer = Trees(tmp_path, source, f"{source}\n\n# the same\n").compare("f", symbolic=True)
    assert answer.ending is ComparisonEnding.NO_DIFFERENCE


def test_what_is_printed_is_shown(tmp_path):
    left = "def f(x: int) -> int:\n    print('of', x)\n    return x\n"
    answer = Trees(tmp_path, left, left.replace("of", "for")).compare("f")
    assert answer.difference.left == "prints 'of 0\\n' and returns 0"


def test_what_a_reference_complains_of_is_no_contract(tmp_path):
    left = "import sys\ndef f(x: int) -> int:\n    print(x, file=sys.stderr)\n    return x\n"
    trees = Trees(tmp_path, left, left.replace("print(x,", "print(-x,"))
    assert trees.compare("f").ending is ComparisonEnding.NO_DIFFERENCE
    assert trees.compare("f", errors="all").ending is ComparisonEnding.DIFFERENT


def test_no_path_proves_what_is_printed(tmp_path):
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
    [
        # Which errors count is of account to those inputs alone on which all fails.
        pytest.param(name, errors, marks=pytest.mark.soak if is_alike else ())
        for name in UNSEEN
        for errors in ("all", "contract")
        for is_alike in [
            (errors == "contract" and name != "files that are not there")
            or name in {"a process", "an object without public parts"}
        ]
    ],
)
def test_it_is_never_called_equal_where_what_matters_is_not_seen(
    tmp_path, monkeypatch, name, errors
):
    monkeypatch.chdir(tmp_path)
    body, why = UNSEEN[name]
    head = "_KEPT = []\nclass Closed:\n    def __init__(self, x): self._x = x\n"
    left = f"{head}def f(x: int):\n{body}"
    answer = Trees(tmp_path, left, f"{left}\n").compare("f", errors=errors, symbolic=True)
    assert (answer.ending, answer.exhausted) == (ComparisonEnding.NOT_COMPARED, False)
    assert why in answer.why


def test_a_variable_of_the_module_is_how_a_project_keeps_its_state(tmp_path):
    left = "SEEN = []\ndef f(x: int) -> int:\n    SEEN.append(x)\n    return x\n"
    trees = Trees(tmp_path, left, left.replace("append(x)", "append(-x)"))
    assert trees.compare("f").ending is ComparisonEnding.NO_DIFFERENCE
    told = trees.compare("f", errors="all").difference
    assert (told.left, told.right) == ("leaves shop.SEEN as [1]", "leaves shop.SEEN as [-1]")


def test_a_choice_that_an_annotation_names_stays_one(tmp_path):
    left = (
        "from typing import Literal\n"
        "def f(how: Literal['up', 'down']) -> int:\n    return 1 if how == 'up' else 2\n"
    )
    answer = Trees(tmp_path, left, left.replace("2", "3")).compare("f")
    assert answer.difference.call == "f('down')"
