"""What is left out of fixes to see what their tests need."""

from pathlib import PurePosixPath

from agentbench.extensions.test_quality.fix_parts import partial_variants, words_of
from agentbench.extensions.test_quality.fix_variants import apply_variants
from agentbench.extensions.test_quality.mutants import FixedFile

PATH = PurePosixPath("shop.py")
HEAD = "def price(text):\n"
BEFORE = f"{HEAD}    return int(text)\n"


def file_of(after, before=BEFORE):
    return FixedFile(path=PATH, before=before.encode(), after=after.encode())


def test_each_part_of_a_fix_is_left_out_but_no_comment():
    before = (
        "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n"
    )
    after = before.replace("return 1", "return 10").replace("return 2", "return 20")
    after = after.replace("def three", "# new\ndef three")
    parts = list(partial_variants([file_of(after, before=before)]))
    assert [one.change.removed for one in parts] == ["return 10", "return 20"]
    assert [one.change.added for one in parts] == ["return 1", "return 2"]


def test_functions_and_branches_that_a_fix_adds_are_parts():
    halved = "\n\ndef halved(text):\n    return price(text) / 2\n"
    after = BEFORE + halved + "\n\ndef checked(text):\n    if text:\n        return 1\n"
    whats = [one.change.what for one in partial_variants([file_of(after)])]
    assert whats == [
        "a part of the fix undone",
        "halved left out",
        "checked left out",
        "branch left out",
    ]


def test_calls_and_single_lines_are_details():
    before = "def one(a):\n    b = a\n    c = b\n    return c\n"
    after = "def one(a):\n    b = a.strip().lower()\n    c = b[:2]\n    return c\n"
    found = [one for one in partial_variants([file_of(after, before=before)]) if one.is_detail]
    assert {one.change.added for one in found} == {
        "b = a.strip()",
        "b = a.lower()",
        "b = a",
        "c = b",
    }


def test_the_words_of_a_part_are_those_that_no_other_part_has():
    before = "def is_upper():\n    return 1\n\n\ndef is_upper_hessenberg():\n    return 2\n"
    after = before.replace("1", "10").replace("2", "20")
    first, second = partial_variants([file_of(after, before=before)])
    assert first.subject == frozenset()
    assert second.subject == {"hessenberg"}


def test_a_branch_of_the_same_place_takes_no_word_from_it():
    before = "def one():\n    return 1\n\n\ndef others(a):\n    return 2\n"
    after = before.replace("    return 2", "    if a:\n        return 3\n    return 4")
    after = after.replace("return 1", "return 10")
    subjects = [part.subject for part in partial_variants([file_of(after, before=before)])]
    assert subjects == [frozenset(), {"other"}, {"other"}]


def test_words_are_parts_of_names_without_a_plural():
    assert words_of("HTTPResponses", "is_in_class", "test_with_keys") == {
        "http",
        "response",
        "class",
        "key",
    }


def test_a_fix_of_one_part_has_no_partial_variant():
    assert list(partial_variants([file_of(f"{HEAD}    return float(text)\n")])) == []


def test_the_same_change_at_several_places_is_one_part():
    before = "def one(a):\n    drop(a)\n\n\ndef other(a):\n    drop(a)\n    pass\n    return 1\n"
    after = before.replace("drop(a)", "forget(a)").replace("return 1", "return 2")
    file = file_of(after, before=before)
    both, last = partial_variants([file])
    assert both.change.what == "a part of the fix undone, in 2 places"
    assert apply_variants([file], [both])[PATH].decode() == before.replace("return 1", "return 2")
    assert last.change.removed == "return 2"


def test_a_fix_that_is_the_same_everywhere_has_no_partial_variant():
    before = "def one(a):\n    drop(a)\n\n\ndef other(a):\n    drop(a)\n"
    assert list(partial_variants([file_of(before.replace("drop", "lose"), before=before)])) == []
