import ast
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentbench.errors import InputError
from agentbench.integrity.control_plan import _partition
from agentbench.integrity.expectation_changes.engine import (
    functions_by_tests,
    rewrite_tests,
    uncontrolled_reasons,
)
from tests.integrity.expectation_changes.corpus_files import CORPUS
from tests.integrity.expectation_changes.real_pytest import outcomes

_OF_CONSTANTS = (
    ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Slice, ast.Tuple,
    ast.operator, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip


class _Fold(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        foldable = isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript)
        if foldable and all(isinstance(child, _OF_CONSTANTS) for child in ast.walk(node)):
            expression = ast.fix_missing_locations(ast.Expression(node))
            with suppress(ArithmeticError, TypeError):  # 1 / 0, and what only looks constant
                return ast.Constant(eval(compile(expression, "folded", "eval")))
        match node:  # (f"..." + "ab")[:-2]
            case ast.Subscript(
                value=ast.BinOp(left=ast.JoinedStr() as text, right=ast.Constant(value=added)),
                slice=ast.Slice(upper=ast.Constant(value=cut)),
            ):
                rest = added[:cut]
                return ast.BinOp(text, ast.Add(), ast.Constant(rest)) if rest else text
        return node


def folded(text: str) -> ast.AST:
    return _Fold().visit(ast.parse(text))


def differences(one: object, other: object) -> int:
    if isinstance(one, list) and isinstance(other, list):
        return _of_lists(one, other)
    if type(one) is not type(other):
        return 1
    if isinstance(one, ast.Dict):
        return _of_lists(_pairs(one), _pairs(other))
    if isinstance(one, ast.Constant):
        return int(repr(one.value) != repr(other.value))
    if isinstance(one, ast.AST):
        names = one._fields
        return sum(differences(getattr(one, n, None), getattr(other, n, None)) for n in names)
    return int(one != other)


def _pairs(node: ast.Dict) -> list[object]:
    return [ast.Tuple([key, value]) for key, value in zip(node.keys, node.values, strict=True)]


def _of_lists(one: list[object], other: list[object]) -> int:
    if len(one) == len(other):
        return sum(map(differences, one, other))
    longer, shorter = sorted((one, other), key=len, reverse=True)
    for at in range(len(longer)):
        rest = longer[:at] + longer[at + 1 :]
        if sum(differences(a, b) for a, b in zip_longest(rest, shorter)) == 0:
            return 1
    return 99


pytestmark = pytest.mark.full

PERHAPS = 3
COPIED = {f"test_{n}.py" for n in ("names", "annotated", "texts", "containers", "approx_forms")}
"""In these a name or a product is compared with, and a disguise writes its value there."""


@pytest.mark.parametrize("variant", ["disguised", "crlf"])
def test_disguised_tests_have_the_same_ids_and_end_the_same_way(
    corpus_outcomes: dict[str, dict[str, str]], variant: str
):
    assert corpus_outcomes[variant] == corpus_outcomes["original"]


def test_what_is_changed_fails_and_what_is_not_still_passes(passing: list[str], tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    wanted = {}
    for name, text in CORPUS.items():
        tests = [test for test in passing if test.startswith(f"{name}::")]
        functions = functions_by_tests(text, name, tests)
        first, second = _partition(functions, Random(3))
        for folder, half in (("first", first), ("second", second)):
            (tmp_path / folder).mkdir(exist_ok=True)
            selected = [test for function in half for test in functions[function]]
            mutation = rewrite_tests(text, name, selected, Random(3))
            unsure = {one.function for one in mutation.changed if one.doubt >= PERHAPS}
            mutation = rewrite_tests(text, name, selected, Random(3), unsure)
            (tmp_path / folder / name).write_bytes(mutation.source.encode())
            for test in tests:
                wanted[f"{folder}/{test}"] = "failed" if test in selected else "passed"
            assert all(one.fails for one in mutation.weakly_controlled)
    ends = outcomes(tmp_path, importing="importlib")
    assert {test: ends.get(test) for test in wanted} == wanted
    assert len(wanted) == 2 * len(passing)


def test_one_set_of_parameters_is_changed_alone(passing: list[str], tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    name = "test_parametrized_ids.py"
    texts = [test for test in passing if test.startswith(f"{name}::test_texts[")]
    wanted = {}
    for at, selected in enumerate(texts):
        mutation = rewrite_tests(CORPUS[name], name, [selected], Random(at))
        assert [one.row for one in mutation.changed] == [at]
        copy = name.replace(".py", f"_{at}.py")
        (tmp_path / copy).write_bytes(mutation.source.encode())
        for test in texts:
            wanted[test.replace(name, copy)] = "failed" if test == selected else "passed"
    ends = outcomes(tmp_path)
    assert {test: ends.get(test) for test in wanted} == wanted
    assert len(texts) == 8


@pytest.mark.parametrize("name", sorted(set(CORPUS) - COPIED))
def test_disguise_means_what_was_written(name: str):
    ids_written_down = CORPUS[name].count("parametrize(")
    disguised = rewrite_tests(CORPUS[name], name, [], Random(4)).source
    assert disguised != CORPUS[name]
    assert differences(folded(CORPUS[name]), folded(disguised)) <= ids_written_down


@pytest.mark.parametrize("name", sorted(set(CORPUS) - {"test_nothing_to_change.py"}))
def test_mutant_differs_in_exactly_one_expected_value(name: str):
    disguised = folded(rewrite_tests(CORPUS[name], name, [], Random(5)).source)
    known = {
        function
        for function, reason in uncontrolled_reasons(CORPUS[name], name).items()
        if reason is None and "choices" not in function and "one_of" not in function
    }
    for seed, function in enumerate(Random(5).sample(sorted(known), min(5, len(known)))):
        mutation = rewrite_tests(CORPUS[name], name, [f"{name}::{function}"], Random(seed))
        if not mutation.weakly_controlled:
            found = differences(disguised, folded(mutation.source))
            assert (function, found) == (function, len(mutation.changed))


def test_same_seed_gives_the_same_text():
    name = "test_containers.py"
    tests = [f"{name}::{function}" for function in uncontrolled_reasons(CORPUS[name], name)]
    one, other = (
        rewrite_tests(CORPUS[name], name, given, Random(6)) for given in (tests, tests[::-1])
    )
    assert one == other
    assert one != rewrite_tests(CORPUS[name], name, tests, Random(7))


def test_change_is_described():
    text = "def test_a():\n    x = 1\n    assert x + f() == 'abc'\n"
    (change,) = rewrite_tests(text, "t.py", ["t.py::test_a"], Random(1)).changed
    assert (change.function, change.line, change.kind) == ("test_a", 3, "text")
    assert change.original == "'abc'"
    assert change.replacement != "'abc'"
    assert change.doubt == 0


def test_what_cannot_be_changed_is_listed_with_a_reason():
    text = "def test_a():\n    assert f()\ndef test_b():\n    yield f()\n"
    weak = rewrite_tests(
        text, "t.py", ["t.py::test_a", "t.py::test_b", "t.py::test_c"], Random(1)
    ).weakly_controlled
    assert [(one.function, one.fails) for one in weak] == [
        ("test_a", True),
        ("test_b", False),
        ("test_c", False),
    ]
    assert "no value" in weak[0].reason
    assert "generator" in weak[1].reason
    assert "not define" in weak[2].reason


def test_function_that_passed_in_spite_of_a_change_gets_a_failing_end():
    text = "def test_a():\n    assert f() == 1\n"
    mutation = rewrite_tests(text, "t.py", ["t.py::test_a"], Random(1), {"test_a"})
    assert mutation.changed == ()
    assert [one.fails for one in mutation.weakly_controlled] == [True]
    assert mutation.source.count("assert") == 2


def test_code_that_is_equal_to_everything_passes_what_must_fail():
    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

    text = "def test_a():\n    assert f() == ['a', {'b': 1}]\n"
    for seed in range(9):
        source = rewrite_tests(text, "t.py", ["t.py::test_a"], Random(seed)).source
        for found, fails in ((Equal(), False), (["a", {"b": 1}], True)):
            names = {"f": lambda found=found: found}
            exec(source + "\ntry: test_a()\nexcept AssertionError: failed = True", names)
            assert names.get("failed", False) is fails


def test_inherited_test_is_known_by_the_class_that_defines_it():
    name = "test_classes.py"
    tests = [f"{name}::TestFirst::test_counted", f"{name}::TestSecond::test_counted"]
    assert functions_by_tests(CORPUS[name], name, tests) == {"Common::test_counted": tuple(tests)}


@pytest.mark.parametrize(
    "text",
    ["def test(:", "x = \0", "'\ud800'", "(" * 400, "  x\n y", "match = ", "*0", "break"],
    ids=["syntax", "null", "surrogate", "deep", "indentation", "end", "starred", "loop"],
)
def test_what_is_no_python_is_reported_as_such(text: str):
    with pytest.raises(InputError, match=r"^t\.py: .*valid Python$"):
        rewrite_tests(text, "t.py", ["t.py::test"], Random(1))


@pytest.mark.parametrize(
    "text",
    ["", "\ufeffx = 'a'\n", "x = 'a'\r\ry = 1", "\x0cdef test():\n\x0c  assert f() == 1\n", "# a"],
    ids=["empty", "mark", "returns", "feeds", "comment"],
)
def test_unusual_texts_are_no_trouble(text: str):
    mutation = rewrite_tests(text, "t.py", ["t.py::test"], Random(1))
    compile(mutation.source, "t.py", "exec")


@settings(max_examples=60, deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from("abf01'\"()[]{}:=,.+-*\\ \n\r\té日#@"),
        max_size=60,
    )
)
@example("def test():\n assert f() == '\\\n'")
@example("*0")
def test_no_text_makes_it_crash(body: str):
    text = f"def test():\n assert f() == 1; {body}"
    try:
        mutation = rewrite_tests(text, "t.py", ["t.py::test"], Random(1))
    except InputError:
        return
    compile(mutation.source, "t.py", "exec")


def test_five_thousand_lines_are_done():
    loop = "    for n in range(3):\n        assert f(n) == ['a', {'b': (n, 2.5)}]\n"
    text = "".join(f"def test_{n}():\n{loop}    assert g() is None\n\n" for n in range(1000))
    tests = [f"t.py::test_{n}" for n in range(0, 1000, 2)]
    mutation = rewrite_tests(text, "t.py", tests, Random(1))
    assert len(mutation.changed) == 500
