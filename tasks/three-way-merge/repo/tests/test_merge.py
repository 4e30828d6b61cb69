from trimerge import Conflict, merge3

BASE = "one\ntwo\nthree\nfour\nfive\n"


def test_changes_in_different_places_are_both_taken():
    merge = merge3(BASE, BASE.replace("one", "ONE"), BASE.replace("five", "FIVE"))
    assert merge.clean
    assert merge.text() == "ONE\ntwo\nthree\nfour\nFIVE\n"


def test_the_same_change_is_taken_once():
    changed = BASE.replace("two\n", "two\nand a half\n")
    assert merge3(BASE, changed, changed).text() == changed


def test_a_deletion_meets_an_addition_elsewhere():
    merge = merge3(BASE, "two\nthree\nfour\nfive\n", BASE + "six\n")
    assert merge.text() == "two\nthree\nfour\nfive\nsix\n"


def test_different_changes_of_a_line_conflict():
    merge = merge3(BASE, BASE.replace("three", "3"), BASE.replace("three", "III"))
    assert merge.conflicts == (Conflict(("three\n",), ("3\n",), ("III\n",)),)
    assert merge.text("main", "topic") == (
        "one\ntwo\n<<<<<<< main\n3\n=======\nIII\n>>>>>>> topic\nfour\nfive\n"
    )


def test_changes_next_to_each_other_conflict():
    merge = merge3(BASE, BASE.replace("two", "2"), BASE.replace("three", "3"))
    assert merge.conflicts == (
        Conflict(("two\n", "three\n"), ("2\n", "three\n"), ("two\n", "3\n")),
    )


def test_a_deletion_and_a_change_of_the_same_line_conflict():
    merge = merge3(BASE, BASE.replace("four\n", ""), BASE.replace("four", "4"))
    assert merge.conflicts == (Conflict(("four\n",), (), ("4\n",)),)


def test_a_missing_last_line_end_does_not_swallow_a_marker():
    merge = merge3("a", "b", "c")
    assert merge.text() == "<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"


def test_an_empty_base():
    assert merge3("", "a\n", "").text() == "a\n"
    assert merge3("", "a\n", "b\n").clean is False
