import ast

import pytest

from agentbench.python_source.constants import NotConstant, evaluate, is_immutable, is_scalar


def value(text: str) -> object:
    names = {"N": ast.parse("3", mode="eval").body, "M": ast.parse("N * 2", mode="eval").body}
    return evaluate(ast.parse(text, mode="eval").body, names)


@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "'a' 'b'",
        "[1, (2, None)]",
        "{'a': {1}}",
        "'ab' * 3 + 'c'",
        "7 // 2",
        "1 / 3",
        "1 + 2j",
    ],
)
def test_constants_are_evaluated(text: str):
    assert repr(value(text)) == repr(eval(text))


def test_names_stand_for_their_expressions():
    assert value("[N, M, -M]") == [3, 6, -6]


@pytest.mark.parametrize(
    "text",
    ["x", "f()", "[*N]", "{**a}", "1 / 0", "'a' * 10**9", "'a' * 99999", "{[]}", "{[]: 1}", "-'a'",
     "'a' + 1", "2 ** 9", "1e309", "1e308 + 1e308", "not N", "f'{N}'", "..."],
)  # fmt: skip
def test_computed_or_huge_value_is_refused(text: str):
    assert isinstance(value(text), NotConstant)


def test_recursive_name_is_refused():
    loop = {"a": ast.parse("a + 1", mode="eval").body}
    assert isinstance(evaluate(loop["a"], loop), NotConstant)


def test_only_what_cannot_change_is_immutable():
    assert is_immutable((1, ("a", None)))
    assert not is_immutable((1, []))
    assert not is_scalar(float("nan"))
    assert is_scalar(b"")
