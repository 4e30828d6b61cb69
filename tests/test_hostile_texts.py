from tests.hostile_texts import HOSTILE


def test_there_are_forty_and_each_is_another():
    assert len(set(HOSTILE)) == len(HOSTILE) == 40
