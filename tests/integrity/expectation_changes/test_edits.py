from agentbench.integrity.expectation_changes.source_text import (
    SourceEdit,
    SourceSpan,
    apply_edits,
    edit_keeping_lines,
    parse_source,
)


def edit(start: int, end: int, text: str, rank: int = 0) -> SourceEdit:
    return SourceEdit(span=SourceSpan(start, end), text=text, rank=rank)


def test_edits_are_made_in_the_order_of_the_text():
    assert apply_edits("abcdef", [edit(4, 5, "Y"), edit(1, 2, "X")]) == "aXcdYf"


def test_an_outer_edit_takes_the_place_of_those_within():
    assert apply_edits("abcdef", [edit(2, 3, "X"), edit(1, 5, "-")]) == "a-f"


def test_of_two_edits_of_one_piece_the_higher_rank_counts():
    for order in (1, -1):
        edits = [edit(1, 2, "low"), edit(1, 2, "high", rank=2)][::order]
        assert apply_edits("abc", edits) == "ahighc"


def test_an_insertion_stands_before_what_is_replaced_there():
    assert apply_edits("abc", [edit(1, 2, "X"), edit(1, 1, "+")]) == "a+Xc"


def test_a_replacement_keeps_the_number_of_lines():
    source = parse_source("x = ('a'\n 'b')\n", "t.py")
    done = edit_keeping_lines(source, SourceSpan(5, 13), "('ab')")
    assert apply_edits(source.text, [done]) == "x = (('ab'\n))\n"
