"""Two shipped tasks in each sandbox of this machine: it works, from the clone to the verdict."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench import RunOptions, run_tasks
from agentbench.errors import SandboxError, UnavailableError
from agentbench.sandbox.docker.engine import Engine
from agentbench.sandbox.docker.images import build_base_image
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.taxonomy import FailureReason
from tests.e2e.conftest import discard_snapshots
from tests.needed import DOCKER

TWO = ("interval-merge-touching", "csv-dialect-sniffer")


@pytest.fixture(
    scope="module",
    params=["bubblewrap", "process", pytest.param("docker", marks=pytest.mark.docker)],
)
def installed(request: pytest.FixtureRequest, cache_dir: Path) -> Iterator[SandboxProvider]:
    """Each sandbox in turn, or a skip that says why it does not work here."""
    try:
        if request.param == "docker":
            build_base_image(Engine.connect())
        provider = select_back_end(request.param, cache_dir=cache_dir).provider
    except (UnavailableError, SandboxError) as fault:
        if request.param == "docker":
            DOCKER.refuse(str(fault))
        pytest.skip(f"{request.param} does not work on this machine: {fault}")
    yield provider
    if request.param == "docker":
        discard_snapshots(provider, cache_dir)


def test_the_oracle_resolves_two_tasks_and_noop_none(
    installed: SandboxProvider, catalogue: Path, cache_dir: Path, tmp_path: Path
) -> None:
    folders = [catalogue / name for name in TWO]
    options = RunOptions(runs_dir=tmp_path, cache_dir=cache_dir, allow_unsandboxed=True)

    oracle = list(run_tasks(folders, "oracle", sandbox=installed, options=options))
    noop = list(run_tasks(folders, "noop", sandbox=installed, options=options))

    assert {record.task_id: record.detail for record in oracle if not record.resolved} == {}
    assert {record.failure_reason for record in noop} == {FailureReason.TESTS_FAILED}
    assert [record.warnings for record in (*oracle, *noop) if record.warnings] == []
    assert {record.task_id for record in oracle} == set(TWO)
    assert len(noop) == len(TWO)
