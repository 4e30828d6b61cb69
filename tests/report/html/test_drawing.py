from agentbench.report.html.drawing import (
    COLOUR_BY_CODE,
    COLOUR_NAMES,
    COLOUR_OF_FAULT,
    HATCHES,
    Colour,
)
from agentbench.scoring.taxonomy import Fault


def test_every_meaning_has_a_code_of_its_own():
    assert len(COLOUR_BY_CODE) == len(Colour)
    assert all(len(code) == 7 for code in COLOUR_BY_CODE)


def test_outcomes_differ_without_their_colours():
    assert set(COLOUR_OF_FAULT) == set(Fault)
    assert set(HATCHES) == set(COLOUR_NAMES) == {Colour.RESOLVED, *COLOUR_OF_FAULT.values()}
    assert len(set(HATCHES.values())) == len(HATCHES)
