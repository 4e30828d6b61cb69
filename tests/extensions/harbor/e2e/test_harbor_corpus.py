"""Harbor's tasks have Harbor's own rewards here."""

import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import pytest

from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.taxonomy import Fault
from tests.e2e.program import run_program
from tests.extensions.harbor.harbor_corpus.run_agentbench import UNSET, Ours, judge
from tests.extensions.harbor.harbor_corpus.run_harbor import AGENTS, EXPECTED
from tests.needed import DOCKER
from tests.sandbox.compose_services import compose
from tests.sandbox.docker_fixtures import engine

__all__ = ["compose", "engine"]

EXPECTED_REWARDS = {
    (task, agent): judged["rewards"] or {}
    for task, of in json.loads(EXPECTED.read_text())["tasks"].items()
    for agent, judged in of.items()
}
SERVICES = (
    "10-web-database", "20-queue-worker", "21-killed-service", "27-database-collect",
    "28-unhealthy", "33-compose-main", "34-verifier-compose", "24-no-network", "25-allowlist",
    "26-network-phases", "36-network-shared",
)  # fmt: skip
SINGLE = (
    "02-root-system", "03-users", "05-separate-image", "06-collect", "12-env-templates",
    "30-prebuilt-image",
)  # fmt: skip
OTHERS = (
    "01-reward-text", "04-separate-copy", "07-several-rewards", "08-healthcheck", "11-mcp-skills",
    "13-agent-timeout", "14-verifier-timeout", "15-verifier-crash", "16-buildkit",
    "17-workdir-resources", "18-python-verifier", "19-pytest-ctrf",
)  # fmt: skip
IMAGES = ("agentbench-tests/postgres:15", "agentbench-tests/redis:7", "agentbench-tests/store:1")

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("compose")]


def judged(
    names: Iterable[str], folder: Path, environ: Mapping[str, str], *options: str
) -> dict[tuple[str, str], Ours]:
    """What agentbench says of each task and agent."""
    program = partial(run_program, env=environ, cwd=folder)
    return {(one.task, one.agent): one for one in judge(names, folder, program, *options)}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(SERVICES, id="services"),
        pytest.param(SINGLE, id="single containers"),
        pytest.param(OTHERS, id="others", marks=pytest.mark.soak),
    ],
)
def test_tasks_have_harbors_rewards(
    tmp_path: Path, environ: Mapping[str, str], docker: DockerProvider, names: tuple[str, ...]
) -> None:
    if missing := [name for name in IMAGES if not docker.has_image(name)]:
        DOCKER.refuse(f"{', '.join(missing)}: see tests/e2e/service_images/build_images.sh")
    found = judged(names, tmp_path, environ, "-j", "2")
    assert found.keys() == {(name, agent) for name in names for agent in AGENTS}
    for of, one in found.items():
        assert one.rewards == EXPECTED_REWARDS[of], (of, one.detail)
        if of[0] == "28-unhealthy":
            assert one.fault is Fault.TASK
            assert "[environment.healthcheck]" in one.detail


@pytest.mark.soak
def test_a_variable_of_the_host_is_needed_and_must_be_allowed(
    tmp_path: Path, environ: Mapping[str, str]
) -> None:
    for option in ((), ("--allow-env", "CORPUS_UNSET_TOKEN")):
        refused = judged([UNSET], tmp_path / f"without{len(option)}", environ, *option)
        assert {one.reason for one in refused.values()} == {"refused"}
        assert all("CORPUS_UNSET_TOKEN" in one.detail for one in refused.values())
    given = {**environ, "CORPUS_UNSET_TOKEN": "token"}
    found = judged([UNSET], tmp_path / "with", given, "--allow-env", "CORPUS_UNSET_TOKEN")
    # The script ran; since it gives its reward without any work, the task is refused as wrong.
    assert {one.reason for one in found.values()} == {"BASELINE_NOT_FAILING"}
