import pytest

from agentbench.extensions.symbolic.differential.search import read_task_tests

VISIBLE = """\
from shop import Cart, price as cost
import basket


def test_calls():
    assert basket.total([5]) == 5
    assert price(1, tax=0.5) == 2
    assert show("a.1f -7") == "b"
    assert price(x) == price([1, {"a": None}])
"""


@pytest.fixture
def seen(facts_of):
    return read_task_tests(
        facts_of(base={"tests/test_more.py": VISIBLE, "tests/broken.py": "def ("})
    )


def test_imported_names_are_collected(seen):
    assert {"Cart", "price"} <= seen.imported


def test_calls_with_literal_arguments_are_collected(seen):
    assert seen.calls_of("price") == ("price(1, tax=0.5)", "price([1, {'a': None}])")


def test_mentioned_names_are_collected_from_hidden_tests_too(seen):
    assert seen.mentions("total")
    assert seen.mentions("Cart.price")
    assert not seen.mentions("nothing")


def test_literals_and_pieces_of_texts_are_collected(seen):
    assert {"0.5", "5", "'a.1f -7'", "'1f'", "'-7'", "None"} & set(seen.literals()) == {
        "0.5",
        "5",
        "'a.1f -7'",
        "'1f'",
        "'-7'",
    }
