import ast

import pytest

from agentbench.python_source.functions import (
    definition_index,
    functions_of,
    readers_of_own_ids,
    split_id,
)

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


def definer_of(text: str, name: str) -> str | None:
    tree = ast.parse(text)
    return definition_index(tree, functions_of(tree)).find(name)


BASE = "class Base:\n def test_a(self): ...\n"


@pytest.mark.parametrize(
    ("text", "name", "definer"),
    [
        ("def test_a(): ...", "test_a", "test_a"),
        (f"{BASE}class TestB(Base): ...", "TestB::test_a", "Base::test_a"),
        (f"{BASE}class C(Base): ...\nclass D(C): ...", "D::test_a", "Base::test_a"),
        (f"{BASE}class B(Base):\n async def test_a(self): ...", "B::test_a", "B::test_a"),
        (f"{BASE}class A:\n class B(Base): ...", "A::B::test_a", "Base::test_a"),
        ("if x:\n def test_a(): ...", "test_a", "test_a"),
    ],
)
def test_the_function_that_decides_is_found(text: str, name: str, definer: str):
    assert definer_of(text, name) == definer


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def test_b(): ...", "test_a"),
        ("def test_a(): ...\ndef test_a(): ...", "test_a"),
        ("def test_a(): ...\nwhile x:\n def test_a(): ...", "test_a"),
        ("def test_a(): ...\ndef f():\n def test_a(): ...", "test_a"),
        ("def test_a(): ...\ntest_a = x(test_a)", "test_a"),
        ("def test_a(): ...\ntest_b = test_a", "test_a"),
        ("def test_a(): ...\ntest_a.x = y", "test_a"),
        ("def test_a(): ...\nfrom x import test_a", "test_a"),
        ("def test_a(): ...\ndef f():\n global test_a", "test_a"),
        (f"{BASE}Base.test_a.x = y", "Base::test_a"),
        (f"{BASE}class B(Base): test_a = x", "B::test_a"),
        (f"{BASE}class B(Base, Other): ...", "B::test_a"),
        (f"{BASE}class B(Unknown): ...", "B::test_a"),
        (f"{BASE}class B(module.Base): ...", "B::test_a"),
        (f"{BASE}Base = x(Base)\nclass B(Base): ...", "B::test_a"),
        (f"{BASE}class A:\n class Base: ...\n class B(Base): ...", "A::B::test_a"),
        (f"class B:\n def test_a(self): ...\nif x:\n {BASE.replace('Base', 'B')}", "B::test_a"),
        ("class A(B): ...\nclass B(A): ...", "A::test_a"),
    ],
)
def test_ambiguous_name_finds_no_function(text: str, name: str):
    indented = text.replace("\n def test_a(self): ...\n", "\n  def test_a(self): ...\n")
    assert definer_of(indented, name) is None


TESTS = "def test_a(request): ...\ndef test_b(tree):\n    assert tree.node.name\n"


def readers(text: str) -> set[str]:
    tree = ast.parse(text)
    return readers_of_own_ids(tree, functions_of(tree).functions.values())


def test_other_tests_look_at_no_id():
    assert readers(TESTS) == set()


@pytest.mark.parametrize(
    "body",
    [
        "request.node.name",
        "self._request.node",
        "x.callspec",
        "x.nodeid",
        "['PYTEST_CURRENT_TEST']",
    ],
)
def test_a_test_that_looks_at_its_id_is_known(body: str):
    assert readers(f"{TESTS}def test_c(): {body}\n") == {"test_c"}


@pytest.mark.parametrize("body", ["request.node.name", "os.getenv('PYTEST_CURRENT_TEST')"])
def test_a_fixture_may_look_for_every_test(body: str):
    assert readers(f"{TESTS}def fixture(request): return {body}\n") == {"test_a", "test_b"}


@pytest.mark.parametrize("name", ["snapshot", "json_snapshot", "data_regression"])
def test_results_are_kept_under_an_id(name: str):
    assert readers(f"{TESTS}def test_c({name}): ...\n") == {"test_c"}
