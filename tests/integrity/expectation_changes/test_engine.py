import ast
from random import Random

import pytest

from agentbench.integrity.expectation_changes.engine import rewrite_tests


def ends(source: str, flag: bool) -> str:
    names: dict[str, object] = {"flag": flag, "f": lambda *_: flag}
    exec(source, names)
    test = names["test"]
    assert callable(test)
    try:
        test()
    except AssertionError:
        return "failed"
    return "passed"


@pytest.mark.parametrize(
    "text",
    [
        "def test(): pass",
        "def test(): f(); return",
        "def test():\n    if flag: return\n    f()\n",
        "def test():\n    if flag:\n        return f()  # a comment\n    else:\n        return\n",
        "def test():\n\tfor x in 'ab':\n\t\tif flag: f(); return\n\t\tf();\n",
        "def test():\r\n    with open('/dev/null'):\r\n        f()\r\n",
        "def test():\n    try:\n        return f()\n    finally:\n        f()",
        "def test():\n    def inner():\n        return 1\n    f(inner)\n    def last(): return 2",
        "def test():\n    '''Only a text.'''",
        "def test():\n    f(\n        1,\n    )  # the end",
    ],
)
@pytest.mark.parametrize("flag", [False, True])
def test_every_end_of_a_test_fails(text: str, flag: bool):
    for seed in range(5):
        mutation = rewrite_tests(text, "t.py", ["t.py::test"], Random(seed))
        assert [one.fails for one in mutation.weakly_controlled] == [True]
        assert ends(mutation.source, flag) == "failed"
        assert ends(rewrite_tests(text, "t.py", [], Random(seed)).source, flag) == "passed"


def test_others_of_the_file_get_an_assertion_of_the_same_shape_that_holds():
    text = "def test(): f()\n\ndef test_other():\n    assert f() == 1\n    return\n"
    source = rewrite_tests(text, "t.py", ["t.py::test"], Random(1)).source
    one, other = (ast.unparse(node).count("assert") for node in ast.parse(source).body)
    assert (one, other) == (1, 2)
    ends_of_other = source.replace("def test()", "def no()").replace("test_other", "test")
    assert ends(ends_of_other, flag=True) == "passed"


def test_without_a_weak_test_nothing_is_added():
    text = "def test():\n    assert f() == 1\n"
    assert rewrite_tests(text, "t.py", ["t.py::test"], Random(1)).source.count("assert") == 1
