from pathlib import PurePosixPath

import pytest

from agentbench.extensions.symbolic.differential.tree_difference import is_test_path, modules_of
from tests.extensions.symbolic.differential.conftest import tree_of


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
def test_a_module_is_imported_from_above_its_outermost_package(path, root, name):
    inits = ("shop/__init__.py", "src/lib/__init__.py", "src/lib/inner/__init__.py")
    tree = tree_of({**dict.fromkeys(inits, ""), path: ""}, {})
    module = modules_of(tree, ()).modules[PurePosixPath(path)]
    assert (module.root, module.name) == (PurePosixPath(root), name)


def test_tests_and_what_is_no_python_are_no_modules():
    files = {"a.py": "", "tests/test_a.py": "", "notes.md": "", "testsuite.py": ""}
    package = modules_of(tree_of(files, {"b.py": "x = 1\n", "a.py": None}), ("tests/",))
    assert sorted(map(str, package.modules)) == ["b.py", "testsuite.py"]
    assert [spot.name for spot in package.definitions] == ["x"]


def test_a_path_is_a_test_below_the_tests_alone():
    assert is_test_path(PurePosixPath("tests/deep/test_a.py"), ("tests",))
    assert not is_test_path(PurePosixPath("tests_of/a.py"), ("tests",))


def test_what_would_start_something_is_a_program():
    package = modules_of(tree_of({"a/__main__.py": "", "setup.py": "", "a/b.py": ""}, {}), ())
    programs = {str(path) for path, module in package.modules.items() if module.is_program}
    assert programs == {"a/__main__.py", "setup.py"}
