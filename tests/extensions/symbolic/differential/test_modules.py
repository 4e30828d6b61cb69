import pytest

from agentbench.extensions.symbolic.differential.tree_difference import (
    DefinitionKind,
    definitions_of,
)

SOURCE = b'''
"""A module."""
import re

LIMIT = 5
LIMITS: dict[str, int] = {"a": 1}


def outer(x):
    """Says what."""
    def inner():
        return LIMIT
    return inner() + x


class Box:
    """A box."""

    size = 3

    def __init__(self, wide):
        self.wide = wide

    class Lid:
        def close(self):
            return helper(self)
'''


def changed(old: str, new: str, source: bytes = SOURCE) -> set[str]:
    before, after = (
        definitions_of(source),
        definitions_of(source.replace(old.encode(), new.encode())),
    )
    assert before is not None
    assert after is not None
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def test_functions_classes_methods_and_values_are_found_by_their_names():
    found = definitions_of(SOURCE)
    assert found is not None
    assert {name: one.kind for name, one in found.items()} == {
        "LIMIT": DefinitionKind.VALUE,
        "LIMITS": DefinitionKind.VALUE,
        "outer": DefinitionKind.FUNCTION,
        "Box": DefinitionKind.CLASS,
        "Box.__init__": DefinitionKind.FUNCTION,
        "Box.Lid": DefinitionKind.CLASS,
        "Box.Lid.close": DefinitionKind.FUNCTION,
    }
    assert found["outer"].uses == {"LIMIT", "inner", "x"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Says what."""', '"""Says more."""'),
        ('"""Says what."""\n', "# nothing\n"),
        ("inner() + x", "(inner()\n        + x)"),
        ('"""A box."""', '"""Another."""'),
        ("import re\n", "import re\nimport os\n"),
    ],
    ids=["docstring", "no-docstring", "layout", "class-docstring", "import"],
)
def test_docstrings_comments_layout_and_imports_do_not_count(old, new):
    assert changed(old, new) == set()


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("return LIMIT", "return 5", {"outer"}),
        ("LIMIT = 5", "LIMIT = 6", {"LIMIT"}),
        ('{"a": 1}', '{"a": 2}', {"LIMITS"}),
        ("size = 3", "size = 4", {"Box"}),
        ("class Box:", "class Box(list):", {"Box"}),
        ("helper(self)", "self", {"Box.Lid.close"}),
        ("def close", "def shut", {"Box.Lid.close", "Box.Lid.shut"}),
        ("LIMIT = 5", "LIMIT = 5\nLIMITS.update(b=2)", {"LIMITS"}),
    ],
)
def test_a_change_belongs_to_the_smallest_thing_around_it(old, new, names):
    assert changed(old, new) == names


def test_what_is_defined_under_a_condition_differs_as_a_whole():
    source = b"try:\n    import fast\nexcept ImportError:\n    def quick(x):\n        return x\n"
    assert changed("return x", "return -x", source) == {"quick"}


@pytest.mark.parametrize(
    "source", [b"def f(:", b"x = '\0'", b"(" * 5000, b"# coding: nothing\n"], ids=str
)
def test_what_is_no_python_has_no_definitions(source):
    assert definitions_of(source) is None
