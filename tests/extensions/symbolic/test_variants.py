"""Files of changed tests: they run, they are about what a test does, and not about its answers."""

import ast
from random import Random

from agentbench.extensions.symbolic.function_edits import other_texts, with_one_case
from agentbench.extensions.symbolic.variants import AmplifiedTests, amplify, changed_name, reduce

SOURCE = '''
"""A file."""
import pytest
from shop import Cart, price

PRICES = {"tea": 3}


@pytest.fixture
def cart():
    return Cart("mine")


def test_sum(cart):
    """Says what it is."""
    cart.add("tea", 2)
    cart.add("milk", 5)
    assert cart.total() == 11


@pytest.mark.parametrize(("text", "shown"), [("a|b", "A"), ("c-d", "C")], ids=["one", "two"])
def test_shown(text, shown):
    assert price(f"{text}!") == shown


class TestRefusals:
    def test_refuses(self):
        with pytest.raises(ValueError, match="no") as caught:
            price("x" * 3)
        assert "no" in str(caught.value)
'''


def amplified(source: str = SOURCE, most: int = 40, seed: int = 0) -> AmplifiedTests:
    found = amplify(source, seed=seed, most=lambda _name: most)
    assert found is not None
    return found


def test_made_file_is_python_with_each_changed_test() -> None:
    made = amplified()
    tree = ast.parse(made.source)
    compile(made.source, "test_x.py", "exec")
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert set(made.variants) == {name for name in names if name.startswith("test")}
    assert {one.test for one in made.variants.values()} == {
        "test_sum",
        "test_shown",
        "test_refuses",
    }


def test_fixtures_and_names_are_unchanged() -> None:
    made = amplified()
    assert "PRICES = {'tea': 3}" in made.source
    assert "Cart('mine')" in made.source
    assert "('text', 'shown')" in made.source


def test_expected_values_are_unchanged() -> None:
    edits = [edit for one in amplified(most=200).variants.values() for edit in one.edits]
    assert edits
    assert not [edit for edit in edits if "'A'" in edit.before and "'A'" not in edit.after]


def test_changed_parametrized_test_has_one_case_without_id() -> None:
    made = amplified()
    tree = ast.parse(made.source)
    shown = [node for node in tree.body if getattr(node, "name", "").startswith("test_shown")]
    assert shown
    for node in shown:
        assert isinstance(node, ast.FunctionDef)
        (decorator,) = node.decorator_list
        assert isinstance(decorator, ast.Call)
        assert isinstance(decorator.args[1], ast.List)
        assert len(decorator.args[1].elts) == 1
        assert decorator.keywords == []


def test_assertions_and_expected_errors_are_only_observed() -> None:
    made = amplified()
    assert "assert " not in made.source
    assert "pytest.raises" not in made.source
    assert "__agentbench__.raises(" in made.source
    assert "cart.total()" in made.places


def test_steps_are_omitted_and_repeated() -> None:
    afters = {edit.after for one in amplified(most=200).variants.values() for edit in one.edits}
    assert "nothing" in afters
    assert "cart.add('tea', 2) twice" in afters


def test_seed_decides_the_made_file() -> None:
    assert amplified() == amplified()
    assert amplified(seed=1).source != amplified().source


def test_files_and_tests_without_changes_are_left_out() -> None:
    assert amplify("x = 1\n", seed=0, most=lambda _name: 5) is None
    assert amplify("def test_x():\n    assert f()\n", seed=0, most=lambda _name: 5) is None


def test_private_attributes_are_not_observed() -> None:
    made = amplified(
        "def test_x():\n    c = C(1)\n    assert c._items == [1]\n    assert c.n == 1\n"
    )
    assert "_items" not in made.source
    assert set(made.places) == {"c.n"}


def test_assertions_of_unittest_are_observed_too() -> None:
    made = amplified(
        "import unittest\nclass TestX(unittest.TestCase):\n    def test_x(self):\n"
        "        self.assertEqual(f(1), 2)\n        self.assertIn(3, f(4))\n"
        "        with self.assertRaises(ValueError):\n            f(5)\n"
    )
    assert "self.assertEqual" not in made.source
    assert "lambda: self.assertIn(" in made.source
    assert "assertRaises" not in made.source


def test_node_id_finds_the_changed_test() -> None:
    assert changed_name("tests/test_x.py::TestA::test_b__as_3[one-1]") == "test_b__as_3"


def test_called_method_is_exchanged_for_another_called_one() -> None:
    source = "def test_x():\n    assert I.open(1, 2).size() == I.closed(3, 4).size()\n"
    afters = {edit.after for one in amplified(source, 100).variants.values() for edit in one.edits}
    assert {"I.closed(1, 2)", "I.open(3, 4)"} <= afters


def test_every_sign_is_inserted() -> None:
    text, others = "10 * rate|half", ["-delta|abs"]
    drawn = [other_texts(text, others, Random(seed)) for seed in range(20)]
    found = {one for made in drawn for one in made}
    assert {"10 * -rate|half", "10 -* rate|half", "10 | rate|half"} <= found
    assert text not in found
    assert all(len(made) <= 41 for made in drawn)


def test_short_name_is_exchanged_as_a_whole() -> None:
    assert set(other_texts("a", ["b", "long one"], Random(0))) <= {"b", "long one"}


def test_computed_cases_are_unchanged() -> None:
    tree = ast.parse("@pytest.mark.parametrize('x', CASES)\ndef test_x(x): pass\n")
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    with_one_case(function, Random(0))
    assert ast.unparse(function.decorator_list[0]) == "pytest.mark.parametrize('x', CASES)"


def test_each_of_several_changes_is_also_made_alone() -> None:
    made = amplified(most=200)
    name = next(name for name, one in made.variants.items() if len(one.changes) == 3)
    fewer = reduce(SOURCE, made, [name])
    assert fewer is not None
    whole = set(made.variants[name].changes)
    parts = [set(one.changes) for one in fewer.variants.values()]
    assert len(parts) == 6
    assert all(part < whole for part in parts)
    assert {one.test for one in fewer.variants.values()} == {made.variants[name].test}
    compile(fewer.source, "test_x.py", "exec")


def test_single_change_has_no_parts() -> None:
    made = amplified()
    single = [name for name, one in made.variants.items() if len(one.changes) == 1]
    assert reduce(SOURCE, made, single) is None


def test_same_test_name_in_two_classes_is_kept_apart() -> None:
    source = "class TestA:\n    def test_x(self):\n        assert f(1) == 2\n"
    made = amplified(source + source.replace("TestA", "TestB").replace("f(1)", "g(5)"))
    befores = {one.edits[0].before for one in made.variants.values() if one.edits}
    assert befores == {"f(1)", "g(5)"}
    assert made.source.count("def test_x__as_") == len(made.variants)
