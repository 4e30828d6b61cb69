import pytest

from spans.agenda import Agenda


def test_free_time_lies_around_the_bookings():
    room = Agenda(8, 18)
    room.book_all([(9, 10), (13, 15)])
    assert room.free() == [(8, 9), (10, 13), (15, 18)]


def test_short_breaks_can_be_left_out():
    room = Agenda(8, 18)
    room.book_all([(9, 12), (12.5, 18)])
    assert room.free(at_least=1) == [(8, 9)]


def test_a_taken_slot_is_refused():
    room = Agenda(8, 18)
    room.book(9, 11)
    with pytest.raises(ValueError, match=r"already taken during \[10, 11\)"):
        room.book(10, 12)


def test_closing_time_is_respected():
    with pytest.raises(ValueError, match=r"only open during \[8, 18\)"):
        Agenda(8, 18).book(17, 19)


def test_the_longest_busy_time_of_separate_bookings():
    room = Agenda(8, 18)
    room.book_all([(9, 10), (13, 15)])
    assert room.longest_busy() == 2
