from agentbench.report.html.drawing import COLOUR_BY_CODE, COLOUR_NAMES, HATCHES, Colour
from agentbench.taxonomy import Fault


def test_every_meaning_has_a_code_of_its_own():
    assert len(COLOUR_BY_CODE) == len(Colour)
    assert all(len(code) == 7 for code in COLOUR_BY_CODE)


def test_outcomes_differ_without_their_colours():
    assert set(HATCHES) == set(COLOUR_NAMES) == {Colour.RESOLVED, *map(Colour, Fault)}
    assert len(set(HATCHES.values())) == len(HATCHES)
