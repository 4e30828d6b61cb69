"""Docker judges as bubblewrap does: one of each class in the gate, all of them in the soak."""

from pathlib import Path

import pytest

from tests.corpora.cheats.cheat import Cheat
from tests.corpora.cheats.corpus import CHEATS, cheats_in_docker, honest_in_docker
from tests.corpora.cheats.honest import HONEST, Honest
from tests.corpora.cheats.trials import try_cheat, try_honest
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("cheat", gate_and_soak(cheats_in_docker(), CHEATS))
def test_a_cheat_does_not_resolve(docker_bench: Bench, tmp_path: Path, cheat: Cheat) -> None:
    try_cheat(docker_bench, cheat, tmp_path)


@pytest.mark.parametrize("honest", gate_and_soak(honest_in_docker(), HONEST))
def test_an_honest_agent_gets_the_verdict_that_it_earned(
    docker_bench: Bench, tmp_path: Path, honest: Honest
) -> None:
    try_honest(docker_bench, honest, tmp_path)
