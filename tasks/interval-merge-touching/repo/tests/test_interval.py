import pytest

from spans import Interval


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        (Interval.closed(1, 2), [1, 1.5, 2], [0.9, 2.1]),
        (Interval.open(1, 2), [1.1, 1.9], [1, 2]),
        (Interval.half_open(1, 2), [1, 1.9], [2, 0]),
        (Interval.point(4), [4], [3.9, 4.1]),
    ],
)
def test_members(interval, inside, outside):
    assert [value for value in inside if value not in interval] == []
    assert [value for value in outside if value in interval] == []


def test_text_is_never_a_member():
    assert "1" not in Interval.closed(0, 2)


def test_an_empty_interval_is_refused():
    with pytest.raises(ValueError, match="nothing lies between"):
        Interval.half_open(2, 2)


def test_overlap_needs_a_shared_number():
    assert Interval.closed(1, 2).overlaps(Interval.closed(2, 3))
    assert not Interval.open(1, 2).overlaps(Interval.open(2, 3))


def test_intersection_keeps_the_tighter_ends():
    assert Interval.closed(1, 5).intersection(Interval.open(2, 9)) == Interval.between(
        Interval.open(2, 9).start, Interval.closed(1, 5).end
    )


def test_length_ignores_brackets():
    assert Interval.open(2, 5).length == Interval.closed(2, 5).length == 3
