from pathlib import PurePosixPath

import pytest

from agentbench.extensions.mutation.mutants import FEW_MUTANTS, FixedFile, mutants_of
from agentbench.validation.mutation_results import MutationScope

BEFORE = '''\
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
AFTER = BEFORE.replace("prices[1:]", "prices[0:]").replace("All of them", "Really all")


def fixed(before, after, path="shop/prices.py"):
    return FixedFile(path=PurePosixPath(path), before=before.encode(), after=after.encode())


def long_fix(lines=FEW_MUTANTS):
    return "".join(f"x{n} = a < b\n" for n in range(lines))


def test_a_fix_of_many_places_is_changed_in_its_own_lines():
    mutants = mutants_of(
        [fixed("def f(a):\n    return a + 1\n", f"{long_fix()}def f(a):\n    return a + 1\n")]
    )
    assert mutants.scope is MutationScope.LINES
    assert len(mutants.found) == 2 * FEW_MUTANTS
    assert {one.change.what for one in mutants.found} == {"< to <=", "< to >="}


def test_a_small_fix_is_changed_in_the_functions_that_it_touches():
    mutants = mutants_of([fixed(BEFORE, AFTER)])
    assert mutants.scope is MutationScope.FUNCTIONS
    whats = [one.change.what for one in mutants.found]
    assert "statement left out" in whats
    assert "- to +" in whats
    assert all(4 <= one.change.line <= 9 for one in mutants.found)
    assert all(one.content.decode() != AFTER for one in mutants.found)


def test_a_mutant_says_where_it_is_and_how_the_lines_differ():
    mutants = mutants_of([fixed(BEFORE, AFTER)])
    (change,) = [one.change for one in mutants.found if one.change.what == "- to +"]
    assert (change.path, change.line) == ("shop/prices.py", 9)
    assert (change.removed, change.added) == ("return result - rebate", "return result + rebate")


def test_a_part_of_a_fix_in_two_places_is_undone_but_never_the_whole():
    two = BEFORE.replace("prices[1:]", "prices[0:]").replace("return a < b", "return a > b")
    halves = [one for one in mutants_of([fixed(BEFORE, two)]).found if "undone" in one.change.what]
    assert [one.content.decode() for one in halves] == [
        two.replace("prices[0:]", "prices[1:]"),
        two.replace("return a > b", "return a < b"),
    ]
    one_place = mutants_of([fixed(BEFORE, BEFORE.replace("prices[1:]", "prices[0:]"))])
    assert not [one for one in one_place.found if "undone" in one.change.what]


def test_what_compiles_to_the_same_is_counted_and_left_out():
    after = BEFORE.replace("result = 0", "result = 0 * 7")
    mutants = mutants_of([fixed(BEFORE, after)])
    assert mutants.equivalent > 0
    assert all("0 * 8" not in one.content.decode() for one in mutants.found)


def test_the_mark_at_the_start_of_a_file_stays():
    made = mutants_of([fixed(f"\ufeff{BEFORE}", f"\ufeff{AFTER}")]).found
    assert made
    assert all(one.content.startswith(b"\xef\xbb\xbf") for one in made)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"x = (", "m.py: line 1: "), (b"x = '\xff'", "m.py: expected UTF-8, found ")],
)
def test_a_file_that_cannot_be_read_is_named(content, said):
    file = FixedFile(path=PurePosixPath("m.py"), before=b"", after=content)
    mutants = mutants_of([file, fixed(BEFORE, AFTER)])
    assert mutants.unread[0].startswith(said)
    assert mutants.found


def test_a_fix_without_python_has_no_mutants():
    assert mutants_of([]).found == ()


def test_no_more_than_asked_are_drawn_and_the_same_with_the_same_seed():
    mutants = mutants_of([fixed("", long_fix(40))])
    few = mutants.drawn(7, seed=1)
    assert len(few) == 7
    assert few == mutants.drawn(7, seed=1) != mutants.drawn(7, seed=2)
    assert [one.change.line for one in few] == sorted(one.change.line for one in few)
    assert mutants.drawn(80, seed=1) == mutants.found
