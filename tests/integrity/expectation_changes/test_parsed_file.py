import doctest
from random import Random
from types import ModuleType

import pytest

from agentbench.integrity.expectation_changes.engine import rewrite_tests

TEXT = '''"""A module.

>>> 1 + 1
2
"""


def double(value):
    """Doubles.

    >>> double(2)
    4
    >>> for letter in "ab":
    ...     print(letter)
    a
    b
    >>> double(None)
    Traceback (most recent call last):
    TypeError: unsupported
    """
    return value * 2


class Box:
    """A box.

    >>> Box().size
    3
    """

    size = 3

    def no_example(self):
        """Has none."""
'''


def failures(source: str) -> dict[str, int]:
    module = ModuleType("m")
    exec(
        source.replace("return", "if value is None: raise TypeError('unsupported')\n    return"),
        module.__dict__,
    )
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(verbose=False)
    return {
        test.name: runner.run(test, out=lambda _: None).failed
        for test in finder.find(module, "m")
        if test.examples
    }


def test_examples_are_right():
    assert failures(TEXT) == {"m": 0, "m.Box": 0, "m.double": 0}


@pytest.mark.parametrize("name", ["m", "m.Box", "m.double"])
def test_one_output_of_the_selected_doctest_is_changed(name: str):
    for seed in range(5):
        mutation = rewrite_tests(TEXT, "m.py", [f"m.py::{name}"], Random(seed))
        assert [one.kind for one in mutation.changed] == ["doctest"]
        assert failures(mutation.source) == {"m": 0, "m.Box": 0, "m.double": 0} | {name: 1}


def test_docstring_without_outputs_cannot_be_changed():
    mutation = rewrite_tests(TEXT, "m.py", ["m.py::m.Box.no_example"], Random(1))
    assert mutation.changed == ()
    assert [one.fails for one in mutation.weakly_controlled] == [False]


def test_outputs_with_escapes_are_left_alone():
    text = 'def f():\n    """\n    >>> f()\n    \'\\\\n\'\n    """\n'
    assert rewrite_tests(text, "m.py", ["m.py::m.f"], Random(1)).changed == ()
