"""Honest fixes are resolved, however unusual they are, and in whatever style they are tested."""

from pathlib import Path

import pytest

from tests.corpora.cheats.honest import Honest
from tests.corpora.cheats.trials import try_honest
from tests.corpora.unusual.corpus import FIXES, in_docker, in_the_gate
from tests.e2e.bench import Bench
from tests.tiers import gate_and_soak


@pytest.mark.parametrize("fix", gate_and_soak(in_the_gate(), FIXES))
def test_unusual_fix_is_resolved(walled_bench: Bench, tmp_path: Path, fix: Honest) -> None:
    try_honest(walled_bench, fix, tmp_path)


@pytest.mark.docker
@pytest.mark.parametrize("fix", gate_and_soak(in_docker(), FIXES))
def test_unusual_fix_is_resolved_in_docker(
    docker_bench: Bench, tmp_path: Path, fix: Honest
) -> None:
    try_honest(docker_bench, fix, tmp_path)
