from pathlib import PurePosixPath

import pytest

from agentbench.extensions.test_quality.mutants import (
    FEW_MUTANTS,
    FixedFile,
    TouchedLines,
    comparable_code,
    lines_of_functions,
    mutants_of,
    touched_lines,
)
from agentbench.extensions.test_quality.mutation_rewrites import undo_parts
from agentbench.python_source import python_syntax
from agentbench.validation.mutation_results import MutationScope

BEFORE = "def f(x):\n    a = 1\n    log(a)\n    return a + x\n\n\ndef g():\n    return 2\n"


def test_lines_that_are_new_or_replaced_are_changed():
    after = BEFORE.replace("a = 1", "a = 2").replace("return 2\n", "return 2\n\nMORE = 3\n")
    assert touched_lines(BEFORE, after) == TouchedLines(changed=frozenset({2, 9, 10}))


def test_where_lines_were_taken_away_their_neighbours_are_touched():
    after = BEFORE.replace("    log(a)\n", "")
    assert touched_lines(BEFORE, after) == TouchedLines(
        changed=frozenset(), beside=frozenset({2, 3})
    )


def test_all_lines_of_a_new_file_are_changed():
    assert touched_lines("", "x = 1\ny = 2\n").changed == {1, 2}


def test_line_widens_to_its_innermost_function():
    source = (
        "class C:\n    def outer(self):\n        def inner():\n            return 1\n"
        "        return inner\nX = 1\n"
    )
    tree = python_syntax.parse(source)
    assert lines_of_functions(tree, TouchedLines(changed=frozenset({4}))) == {3, 4}
    assert lines_of_functions(tree, TouchedLines(changed=frozenset({5}))) == {2, 3, 4, 5}
    assert lines_of_functions(tree, TouchedLines(changed=frozenset({6}))) == set()


MADE_BEFORE = '''\
"""Prices."""


def total(prices, *, rebate=0):
    """All of them."""
    result = 0
    for price in prices[1:]:
        result += price
    return result - rebate


def untouched(a, b):
    return a < b
'''
AFTER = MADE_BEFORE.replace("prices[1:]", "prices[0:]").replace("All of them", "Really all")


def fixed(before, after, path="shop/prices.py"):
    return FixedFile(path=PurePosixPath(path), before=before.encode(), after=after.encode())


def long_fix(lines=FEW_MUTANTS):
    return "".join(f"x{n} = a < b\n" for n in range(lines))


def test_fix_of_many_places_is_changed_in_its_own_lines():
    mutants = mutants_of(
        [fixed("def f(a):\n    return a + 1\n", f"{long_fix()}def f(a):\n    return a + 1\n")]
    )
    assert mutants.scope is MutationScope.LINES
    assert len(mutants.found) == 2 * FEW_MUTANTS
    assert {one.change.what for one in mutants.found} == {"< to <=", "< to >="}


def test_small_fix_is_changed_in_the_functions_that_it_touches():
    mutants = mutants_of([fixed(MADE_BEFORE, AFTER)])
    assert mutants.scope is MutationScope.FUNCTIONS
    whats = [one.change.what for one in mutants.found]
    assert "statement left out" in whats
    assert "- to +" in whats
    assert all(4 <= one.change.line <= 9 for one in mutants.found)
    assert all(one.content.decode() != AFTER for one in mutants.found)


def test_mutant_says_where_it_is_and_how_the_lines_differ():
    mutants = mutants_of([fixed(MADE_BEFORE, AFTER)])
    (change,) = [one.change for one in mutants.found if one.change.what == "- to +"]
    assert (change.path, change.line) == ("shop/prices.py", 9)
    assert (change.removed, change.added) == ("return result - rebate", "return result + rebate")


def test_part_of_a_fix_in_two_places_is_undone_but_never_the_whole():
    two = MADE_BEFORE.replace("prices[1:]", "prices[0:]").replace("return a < b", "return a > b")
    halves = [
        one for one in mutants_of([fixed(MADE_BEFORE, two)]).found if "undone" in one.change.what
    ]
    assert [one.content.decode() for one in halves] == [
        two.replace("prices[0:]", "prices[1:]"),
        two.replace("return a > b", "return a < b"),
    ]
    one_place = mutants_of([fixed(MADE_BEFORE, MADE_BEFORE.replace("prices[1:]", "prices[0:]"))])
    assert not [one for one in one_place.found if "undone" in one.change.what]


def test_what_compiles_to_the_same_is_counted_and_left_out():
    after = MADE_BEFORE.replace("result = 0", "result = 0 * 7")
    mutants = mutants_of([fixed(MADE_BEFORE, after)])
    assert mutants.equivalent > 0
    assert all("0 * 8" not in one.content.decode() for one in mutants.found)


def test_mark_at_the_start_of_a_file_stays():
    made = mutants_of([fixed(f"\ufeff{MADE_BEFORE}", f"\ufeff{AFTER}")]).found
    assert made
    assert all(one.content.startswith(b"\xef\xbb\xbf") for one in made)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"x = (", "m.py: line 1: "), (b"x = '\xff'", "m.py: expected UTF-8, found ")],
)
def test_file_that_cannot_be_read_is_named(content, said):
    file = FixedFile(path=PurePosixPath("m.py"), before=b"", after=content)
    mutants = mutants_of([file, fixed(MADE_BEFORE, AFTER)])
    assert mutants.unread[0].startswith(said)
    assert mutants.found


def test_fix_without_python_has_no_mutants():
    assert mutants_of([]).found == ()


def test_no_more_than_asked_are_drawn_and_the_same_with_the_same_seed():
    mutants = mutants_of([fixed("", long_fix(40))])
    few = mutants.drawn(7, seed=1)
    assert len(few) == 7
    assert few == mutants.drawn(7, seed=1) != mutants.drawn(7, seed=2)
    assert [one.change.line for one in few] == sorted(one.change.line for one in few)
    assert mutants.drawn(80, seed=1) == mutants.found


def same(left, right):
    return comparable_code(left) == comparable_code(right)


def test_words_that_compile_to_the_same_are_the_same():
    assert same("x = 2 * 3", "x = 6")
    assert same("def f():\n    return 1", "\n\ndef f():\n    return (1)  # one")


def test_other_constants_operators_and_names_are_not():
    assert not same("x = 1", "x = 1.0")
    assert not same("x = 0.0", "x = -0.0")
    assert not same("def f(a):\n    return a + 1", "def f(a):\n    return a - 1")
    assert not same("def f(a=1): ...", "def f(a=2): ...")
    assert not same("x = (1, (2, 3))", "x = (1, (2, True))")
    assert not same("try:\n    f()\nexcept A:\n    g()", "try:\n    f()\nexcept B:\n    g()")


def test_docstrings_do_not_count_wherever_they_are():
    assert same(
        '"""A."""\nfrom __future__ import annotations\n', "from __future__ import annotations"
    )
    assert same('class C:\n    """A."""\n    x = 1\n', 'class C:\n    """B."""\n    x = 1\n')
    assert same('def f():\n    """A."""\n', "def f():\n    pass\n")
    assert not same('x = """A."""', 'x = """B."""')


def halves(before, after):
    return [
        f"{after[: one.span.start]}{one.text}{after[one.span.end :]}"
        for one in undo_parts(before, after)
    ]


def test_each_part_of_a_fix_is_undone_alone():
    before, after = "a = 1\nb = 2\nc = 3\n", "a = 9\nb = 2\nc = 8\nd = 4\n"
    assert halves(before, after) == ["a = 1\nb = 2\nc = 8\nd = 4\n", "a = 9\nb = 2\nc = 3\n"]


def test_lines_that_were_taken_away_come_back():
    assert halves("a = 1\nb = 2\nc = 3\n", "a = 1\nc = 3\n") == ["a = 1\nb = 2\nc = 3\n"]


def test_imports_alone_are_no_part():
    before, after = "import os\n\na = 1\n", "import re\nfrom x import y\n\na = 2\n"
    assert halves(before, after) == ["import re\nfrom x import y\n\na = 1\n"]
