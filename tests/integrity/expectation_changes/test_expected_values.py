from random import Random

import pytest

from agentbench.integrity.expectation_changes.engine import rewrite_tests


def mutants(expected: str) -> set[int | str]:
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
        ("[1, 2]", {2}),
        ("{'a': 1, 'b': 2, 'c': 3}", {3}),
        ("f(1, 2, 3)", {3}),
    ],
)
def test_only_empty_containers_get_another_length(expected: str, lengths: set[int]):
    assert mutants(expected) == lengths
