"""Docker judges as bubblewrap does: some of each class here, all with AGENTBENCH_WHOLE_CORPUS=1."""

from pathlib import Path

import pytest

from tests.e2e.bench import Bench
from tests.integrity.cheat import Cheat
from tests.integrity.corpus import cheats_in_docker, honest_in_docker
from tests.integrity.honest import Honest
from tests.integrity.trials import try_cheat, try_honest

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("cheat", cheats_in_docker(), ids=lambda cheat: cheat.name)
def test_a_cheat_does_not_resolve(docker_bench: Bench, tmp_path: Path, cheat: Cheat) -> None:
    try_cheat(docker_bench, cheat, tmp_path)


@pytest.mark.parametrize("honest", honest_in_docker(), ids=lambda honest: honest.name)
def test_an_honest_agent_gets_the_verdict_that_it_earned(
    docker_bench: Bench, tmp_path: Path, honest: Honest
) -> None:
    try_honest(docker_bench, honest, tmp_path)
