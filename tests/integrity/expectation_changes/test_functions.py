import ast

import pytest

from agentbench.integrity.expectation_changes.functions import functions_of, split_id

TEXT = """
def test_a(): ...
class TestB(Base):
    def test_c(self): ...
    class TestD:
        async def test_e(self): ...
class Base(Unknown):
    def test_f(self): ...
try: import x
except ImportError:
    def test_g(): ...
class Loop(Loop): ...
"""


def test_functions_go_by_their_node_ids():
    names = set(functions_of(ast.parse(TEXT)).functions)
    assert names == {"test_a", "TestB::test_c", "TestB::TestD::test_e", "Base::test_f", "test_g"}


def test_a_function_of_a_base_class_is_found():
    functions = functions_of(ast.parse(TEXT))
    found = functions.find("TestB::test_f")
    assert found is not None
    assert found.name == "Base::test_f"
    assert functions.find("TestB::test_z") is None
    assert functions.find("Loop::test_z") is None


@pytest.mark.parametrize(
    ("test", "parts"),
    [
        ("tests/t.py::test_a", ("test_a", None)),
        ("t.py::TestB::test_c[x::y[0]]", ("TestB::test_c", "x::y[0]")),
        ("a[1]/t.py::test_a[]", ("test_a", "")),
    ],
)
def test_a_node_id_is_split(test: str, parts: tuple[str, str | None]):
    assert split_id(test) == parts


def test_selected_tests_are_grouped_by_the_function_that_decides_them():
    tests = ["t.py::TestB::test_f", "t.py::Base::test_f", "t.py::test_a[2]", "t.py::test_a[1]"]
    selected = functions_of(ast.parse(TEXT)).select([*tests, "t.py::gone"])
    assert selected["Base::test_f"].tests == (tests[1], tests[0])
    assert selected["test_a"].cases == ("1", "2")
    assert selected["gone"].function is None
