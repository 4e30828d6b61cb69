"""The shipped tasks: the reference solution resolves each, doing nothing resolves none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench import RunOptions, run_tasks
from agentbench.sandbox.interface import SandboxProvider
from agentbench.sandbox.registry import select_back_end
from agentbench.taxonomy import FailureReason
from tests.e2e.conftest import discard_snapshots


@pytest.fixture(scope="module")
def strongest(cache_dir: Path) -> Iterator[SandboxProvider]:
    """What `--sandbox auto` takes."""
    provider = select_back_end("auto", cache_dir=cache_dir).provider
    yield provider
    discard_snapshots(provider, cache_dir)


@pytest.mark.soak  # test_installation.py has two of them
def test_the_oracle_resolves_all_and_noop_none(
    strongest: SandboxProvider, catalogue: Path, cache_dir: Path, tmp_path: Path
) -> None:
    options = RunOptions(runs_dir=tmp_path, cache_dir=cache_dir)
    shipped = sorted(path.parent for path in catalogue.glob("*/task.toml"))
    assert len(shipped) >= 12

    oracle = list(run_tasks(shipped, "oracle", sandbox=strongest, options=options))
    noop = list(run_tasks(shipped, "noop", sandbox=strongest, options=options))

    assert {r.task_id: r.detail for r in oracle if not r.resolved} == {}
    assert {r.failure_reason for r in noop} == {FailureReason.TESTS_FAILED}
    assert [r.warnings for r in (*oracle, *noop) if r.warnings] == []
    assert len({r.task_id for r in oracle}) == len(noop) == len(shipped)
