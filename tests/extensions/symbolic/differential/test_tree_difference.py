from pathlib import PurePosixPath

import pytest

from agentbench.extensions.symbolic.differential.tree_difference import (
    DefinitionKind,
    compare_trees,
    definitions_of,
    is_test_path,
    modules_of,
)
from tests.extensions.symbolic.differential.conftest import tree_of

BASE = {
    "shop/__init__.py": "",
    "shop/prices.py": """
_RATES = {"a": 1}
_FACTOR = 2


def rate(name):
    return _RATES[name]


def _doubled(x):
    return _FACTOR * x


def price(x):
    return _doubled(x)


def label(x):
    return f"{price(x)} EUR"


def other(x):
    return x
""",
    "shop/cart.py": """
from shop.prices import _doubled


class Cart:
    def __init__(self, items):
        self.items = _sorted(items)

    def _all(self):
        return self.items

    def show(self):
        return self._all()


def _sorted(items):
    return sorted(items)


def filled(text):
    return Cart(text.split())
""",
    "shop/__main__.py": "from shop.prices import label\n\n\ndef main():\n    print(label(1))\n",
    "tests/test_prices.py": "from shop.prices import price\n",
    "README.md": "A shop.\n",
}
PRICES, CART = "shop/prices.py", "shop/cart.py"


def contrast(trees, path, old, new, *, reference=None, tested=()):
    after = {path: BASE[path].replace(old, new)}
    made = trees(BASE, reference or {"README.md": "A shop.\n"}, after)
    return compare_trees(made, ("tests",), frozenset(tested))


def names(spots):
    return [spot.name for spot in spots]


def test_comments_are_no_tree_difference(trees):
    assert contrast(trees, PRICES, "_FACTOR = 2", "_FACTOR = 2  # twice").none


def test_changed_public_function_is_compared_before_its_callers(trees):
    found = contrast(trees, PRICES, "return _doubled(x)", "return 2 * _doubled(x)")
    assert names(found.differing) == ["price"]
    assert names(found.callable) == ["price", "label"]


def test_callers_of_a_private_function_are_compared(trees):
    found = contrast(trees, PRICES, "_FACTOR * x", "x * _FACTOR")
    assert names(found.differing) == ["_doubled"]
    assert names(found.callable) == ["price", "label"]


def test_private_function_imported_by_tests_is_compared(trees):
    found = contrast(trees, PRICES, "_FACTOR * x", "x * _FACTOR", tested=["_doubled"])
    assert names(found.callable) == ["_doubled", "price", "label"]


def test_changed_table_affects_its_users(trees):
    found = contrast(trees, PRICES, '{"a": 1}', '{"a": 2}')
    assert names(found.differing) == ["_RATES"]
    assert names(found.callable) == ["rate"]


def test_change_below_a_constructor_affects_the_class_and_its_users(trees):
    found = contrast(trees, CART, "sorted(items)", "list(items)")
    assert names(found.callable) == ["Cart", "filled"]


def test_added_private_helper_is_no_difference(trees):
    renamed = BASE[PRICES].replace("_doubled", "_twice")
    made = trees(BASE, {}, {PRICES: renamed, CART: BASE[CART].replace("_doubled", "_twice")})
    found = compare_trees(made, ("tests",), frozenset())
    assert found.one_sided == ()
    assert names(found.callable) == ["price", "label"]
    assert not found.none


def test_added_public_function_is_named_and_not_compared(trees):
    found = contrast(trees, PRICES, "def other", "def another")
    assert set(found.one_sided) == {
        ("shop/prices.py::other", "only the reference has it"),
        ("shop/prices.py::another", "only the agent has it"),
    }
    assert found.callable == ()


def test_other_files_are_named(trees):
    found = contrast(trees, "README.md", "A shop", "My shop")
    assert found.one_sided == (("README.md", "is not Python"),)


def test_unparsable_python_is_named(trees):
    found = contrast(trees, CART, "def filled(text):", "def filled(text:")
    assert ("shop/cart.py", "cannot be parsed") in found.one_sided


def test_test_files_are_no_tree_difference(trees):
    assert contrast(trees, "tests/test_prices.py", "price", "label").none


def test_scripts_are_not_called(trees):
    found = contrast(trees, "shop/__main__.py", "print(label(1))", "print(label(2))")
    assert names(found.differing) == ["main"]
    assert found.callable == ()


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


def test_definitions_are_found_by_name():
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
def test_docstrings_comments_layout_and_imports_are_no_difference(old, new):
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
def test_change_belongs_to_the_innermost_definition(old, new, names):
    assert changed(old, new) == names


def test_conditional_definition_differs_as_a_whole():
    source = b"try:\n    import fast\nexcept ImportError:\n    def quick(x):\n        return x\n"
    assert changed("return x", "return -x", source) == {"quick"}


@pytest.mark.parametrize(
    "source", [b"def f(:", b"x = '\0'", b"(" * 5000, b"# coding: nothing\n"], ids=str
)
def test_other_text_has_no_definitions(source):
    assert definitions_of(source) is None


@pytest.mark.parametrize(
    ("path", "root", "name"),
    [
        ("basket.py", ".", "basket"),
        ("shop/__init__.py", ".", "shop"),
        ("shop/till.py", ".", "shop.till"),
        ("src/lib/__init__.py", "src", "lib"),
        ("src/lib/inner/deep.py", "src", "lib.inner.deep"),
        ("loose/one.py", "loose", "one"),
    ],
)
def test_module_is_imported_from_above_its_outermost_package(path, root, name):
    inits = ("shop/__init__.py", "src/lib/__init__.py", "src/lib/inner/__init__.py")
    tree = tree_of({**dict.fromkeys(inits, ""), path: ""}, {})
    module = modules_of(tree, ()).modules[PurePosixPath(path)]
    assert (module.root, module.name) == (PurePosixPath(root), name)


def test_tests_and_other_files_are_not_imported():
    files = {"a.py": "", "tests/test_a.py": "", "notes.md": "", "testsuite.py": ""}
    package = modules_of(tree_of(files, {"b.py": "x = 1\n", "a.py": None}), ("tests/",))
    assert sorted(map(str, package.modules)) == ["b.py", "testsuite.py"]
    assert [spot.name for spot in package.definitions] == ["x"]


def test_only_paths_below_the_tests_are_tests():
    assert is_test_path(PurePosixPath("tests/deep/test_a.py"), ("tests",))
    assert not is_test_path(PurePosixPath("tests_of/a.py"), ("tests",))


def test_module_that_acts_on_import_is_a_script():
    package = modules_of(tree_of({"a/__main__.py": "", "setup.py": "", "a/b.py": ""}, {}), ())
    programs = {str(path) for path, module in package.modules.items() if module.is_program}
    assert programs == {"a/__main__.py", "setup.py"}
