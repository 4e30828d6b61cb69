from spans import Interval, IntervalSet, parse, parse_set


def test_overlapping_intervals_become_one():
    assert str(IntervalSet([parse("[4, 6)"), parse("[1, 5)")])) == "[1, 6)"


def test_an_interval_inside_another_disappears():
    assert str(IntervalSet([parse("[1, 9]"), parse("(2, 3)")])) == "[1, 9]"


def test_closed_intervals_that_share_an_end_become_one():
    assert str(IntervalSet([parse("[1, 2]"), parse("[2, 3]")])) == "[1, 3]"


def test_separate_intervals_are_sorted():
    assert str(IntervalSet([parse("[5, 6]"), parse("[1, 2]")])) == "[1, 2] u [5, 6]"


def test_sets_do_not_depend_on_the_order_of_building():
    parts = [parse("[1, 4)"), parse("[3, 6)"), parse("[8, 9)")]
    assert IntervalSet(parts) == IntervalSet(reversed(parts))


def test_intersection():
    left = parse_set("[1, 5) u [7, 9]")
    right = parse_set("[2, 3] u (4, 8]")
    assert str(left & right) == "[2, 3] u (4, 5) u [7, 8]"


def test_complement_flips_the_brackets():
    assert str(parse_set("[1, 2) u {5}").complement()) == "(-inf, 1) u [2, 5) u (5, inf)"


def test_complement_of_nothing_is_everything():
    assert str(IntervalSet().complement()) == "(-inf, inf)"


def test_difference():
    assert str(parse_set("[0, 10]") - parse_set("[3, 4) u (8, 20)")) == "[0, 3) u [4, 8]"


def test_gaps_lie_between_the_parts():
    assert str(parse_set("[1, 2) u [4, 5) u [9, 10)").gaps()) == "[2, 4) u [5, 9)"


def test_measure_adds_up():
    assert parse_set("[1, 2) u [4, 7) u {9}").measure() == 4


def test_hull():
    assert parse_set("[1, 2) u (4, 7)").hull() == parse("[1, 7)")
    assert IntervalSet().hull() is None


def test_equal_sets_hash_alike():
    assert len({parse_set("[1, 3]"), IntervalSet([Interval.closed(1, 3)])}) == 1
