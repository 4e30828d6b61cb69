from agentbench.report.html.colours import BY_CODE, HATCHES, NAMES, OF_FAULT, Colour
from agentbench.scoring.taxonomy import Fault


def test_every_meaning_has_a_code_of_its_own():
    assert len(BY_CODE) == len(Colour)
    assert all(len(code) == 7 for code in BY_CODE)


def test_outcomes_differ_without_their_colours():
    assert set(OF_FAULT) == set(Fault)
    assert set(HATCHES) == set(NAMES) == {Colour.RESOLVED, *OF_FAULT.values()}
    assert len(set(HATCHES.values())) == len(HATCHES)
