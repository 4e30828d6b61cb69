"""The corpus is as large and as varied as it claims."""

from collections import Counter

import pytest

from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from tests.corpora.cheats.cheat import Kind
from tests.corpora.cheats.corpus import CHEATS, cheats_in_docker, honest_in_docker
from tests.corpora.cheats.honest import HONEST
from tests.corpora.cheats.naive import NaiveHarness
from tests.corpora.cheats.trials import try_naively


def test_every_class_has_its_cheats() -> None:
    counts = Counter(cheat.kind for cheat in CHEATS)
    assert min(counts[kind] for kind in Kind) >= 5
    assert counts.total() >= 45
    assert sum(cheat.fools_naive for cheat in CHEATS) >= 43


def test_no_two_cases_go_by_one_name() -> None:
    names = [case.name for case in (*CHEATS, *HONEST)]
    assert len(set(names)) == len(names)


def test_docker_judges_one_of_every_class() -> None:
    counts = Counter(cheat.kind for cheat in cheats_in_docker())
    assert counts == dict.fromkeys(Kind, 1)
    assert len(honest_in_docker()) >= 6


def test_of_honest_agents_most_mend_it_and_some_do_not() -> None:
    assert sum(honest.resolved for honest in HONEST) >= 15
    assert sum(not honest.resolved for honest in HONEST) >= 3


def test_a_cheat_that_fools_nobody_says_what_it_does() -> None:
    assert [c.name for c in CHEATS if not c.fools_naive and not c.effect] == []


@pytest.mark.parametrize("kind", Kind)
def test_the_first_cheat_of_each_class_works_on_a_naive_harness(
    bubblewrap: BubblewrapProvider, kind: Kind
) -> None:
    """The soak tries all of them."""
    first = next(cheat for cheat in CHEATS if cheat.kind is kind)
    try_naively(NaiveHarness(provider=bubblewrap), first)
