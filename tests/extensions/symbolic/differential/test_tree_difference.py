from agentbench.extensions.symbolic.differential.tree_difference import compare_trees

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


def test_trees_that_differ_in_comments_alone_are_the_same(trees):
    assert contrast(trees, PRICES, "_FACTOR = 2", "_FACTOR = 2  # twice").none


def test_a_public_function_that_differs_is_compared_before_its_callers(trees):
    found = contrast(trees, PRICES, "return _doubled(x)", "return 2 * _doubled(x)")
    assert names(found.differing) == ["price"]
    assert names(found.callable) == ["price", "label"]


def test_for_a_private_function_those_are_compared_that_reach_it(trees):
    found = contrast(trees, PRICES, "_FACTOR * x", "x * _FACTOR")
    assert names(found.differing) == ["_doubled"]
    assert names(found.callable) == ["price", "label"]


def test_a_private_function_that_tests_import_is_compared_itself(trees):
    found = contrast(trees, PRICES, "_FACTOR * x", "x * _FACTOR", tested=["_doubled"])
    assert names(found.callable) == ["_doubled", "price", "label"]


def test_a_table_that_differs_concerns_the_functions_that_use_it(trees):
    found = contrast(trees, PRICES, '{"a": 1}', '{"a": 2}')
    assert names(found.differing) == ["_RATES"]
    assert names(found.callable) == ["rate"]


def test_what_a_constructor_uses_concerns_the_class_and_its_users(trees):
    found = contrast(trees, CART, "sorted(items)", "list(items)")
    assert names(found.callable) == ["Cart", "filled"]


def test_a_private_helper_that_only_one_has_is_no_difference_of_its_own(trees):
    renamed = BASE[PRICES].replace("_doubled", "_twice")
    made = trees(BASE, {}, {PRICES: renamed, CART: BASE[CART].replace("_doubled", "_twice")})
    found = compare_trees(made, ("tests",), frozenset())
    assert found.one_sided == ()
    assert names(found.callable) == ["price", "label"]
    assert not found.none


def test_a_public_function_that_only_one_has_is_named_and_not_compared(trees):
    found = contrast(trees, PRICES, "def other", "def another")
    assert set(found.one_sided) == {
        ("shop/prices.py::other", "only the reference has it"),
        ("shop/prices.py::another", "only the agent has it"),
    }
    assert found.callable == ()


def test_files_that_are_no_python_are_named(trees):
    found = contrast(trees, "README.md", "A shop", "My shop")
    assert found.one_sided == (("README.md", "is not Python"),)


def test_python_that_cannot_be_parsed_is_named(trees):
    found = contrast(trees, CART, "def filled(text):", "def filled(text:")
    assert ("shop/cart.py", "cannot be parsed") in found.one_sided


def test_tests_do_not_count(trees):
    assert contrast(trees, "tests/test_prices.py", "price", "label").none


def test_a_program_is_not_called(trees):
    found = contrast(trees, "shop/__main__.py", "print(label(1))", "print(label(2))")
    assert names(found.differing) == ["main"]
    assert found.callable == ()
