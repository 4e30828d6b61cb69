import ast

import pytest

from agentbench.integrity.expectation_changes.functions import definition_index, functions_of


def found(text: str, name: str) -> str | None:
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
    assert found(text, name) == definer


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
def test_none_is_found_where_another_may_be_meant(text: str, name: str):
    indented = text.replace("\n def test_a(self): ...\n", "\n  def test_a(self): ...\n")
    assert found(indented, name) is None
