import pytest

from agentbench.audit.task_facts import functions_in
from tests.e2e.small_task import HIDDEN, LISTED, VISIBLE


def test_hidden_and_listed_files_are_taken_apart(facts_of):
    visible = "tests/test_basket.py::test_the_cheapest_is_found"
    facts = facts_of(listed=[*LISTED, visible])
    hidden, other = facts.deciding_files
    assert (hidden.path, hidden.hidden, len(hidden.functions)) == ("tests/test_hidden.py", True, 2)
    assert (other.path, other.hidden, other.listed) == ("tests/test_basket.py", False, (visible,))
    assert [name for name, _ in other.deciding] == ["test_the_cheapest_is_found"]
    assert other.is_visible("test_the_cheapest_is_found")
    assert not hidden.is_visible("test_every_price_counts")


def test_ids_with_parameters_belong_to_one_function(facts_of):
    ids = ["tests/test_hidden.py::test_every_price_counts[a]",
           "tests/test_hidden.py::test_every_price_counts[b::c]"]  # fmt: skip
    (file,) = facts_of(listed=ids).deciding_files
    assert file.listed_functions == ["test_every_price_counts"]


def test_without_listed_ids_the_new_tests_decide(facts_of):
    path = "tests/test_basket.py"
    facts = facts_of(hidden={path: VISIBLE + "\n\n" + HIDDEN}, listed=[])
    (file,) = facts.deciding_files
    assert [name for name, _ in file.deciding] == [
        "test_every_price_counts",
        "test_one_price_is_the_total",
    ]


@pytest.mark.parametrize("content", [b"\0", b"\xff", b"def (", b"(" * 9999, b"# coding: x\n"])
def test_what_is_no_python_has_no_functions(content):
    assert functions_in(content) == {}


def test_data_among_the_hidden_files_decides_nothing(facts_of):
    facts = facts_of(hidden={"tests/test_hidden.py": HIDDEN, "tests/data.json": "{}\n"})
    assert [file.path for file in facts.deciding_files] == ["tests/test_hidden.py"]
