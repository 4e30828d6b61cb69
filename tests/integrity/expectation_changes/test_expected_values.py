from random import Random

import pytest

from agentbench.integrity.expectation_changes.engine import rewrite_tests


def mutants(expected: str) -> set[int | str]:
    """Lengths that an expected container has when it is changed in many ways."""
    text = f"def test():\n    assert found() == {expected}\n"
    lengths: set[int | str] = set()
    for seed in range(60):
        source = rewrite_tests(text, "t.py", ["t.py::test"], Random(seed)).source
        names: dict[str, object] = {"x": 1, "y": 2, "z": 3, "f": lambda *given: given}
        value = eval(source.partition(" == ")[2].strip(), names)
        assert value != eval(expected, names)
        lengths.add(len(value))
    return lengths


@pytest.mark.parametrize(
    ("expected", "lengths"),
    [
        ("[]", {1}),
        ("()", {1}),
        ("{}", {1}),
        ("set()", {1}),
        ("[1, 2]", {2, 3}),
        ("['a', 'b', 'c']", {2, 3, 4}),
        ("('a', 'b', 'c')", {2, 3, 4}),
        ("(1,)", {1, 2}),
        ("{1, 2, 3}", {2, 3, 4}),
        ("{'a': 1, 'b': 2, 'c': 3}", {2, 3}),
        ("[x, y, z]", {2}),
        ("[  # one\n (1), (2), # two\n (3)]", {3}),
        ("f(1, 2, 3)", {3}),
    ],
)
def test_elements_come_and_go_where_that_is_easily_written(expected: str, lengths: set[int]):
    assert mutants(expected) == lengths


def test_an_element_that_is_there_twice_is_not_taken_out():
    assert mutants("['a', 'b', 'b', 'c']") == {4, 5}


def test_a_removed_element_leaves_its_lines():
    text = "def test():\n    assert f() == [\n        x,\n        y,\n        z,\n    ]\n"
    assert rewrite_tests(text, "t.py", ["t.py::test"], Random(1)).source.count("\n") == 6
