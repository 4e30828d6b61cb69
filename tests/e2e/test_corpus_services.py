"""Harbor's tasks with services have Harbor's own rewards here."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentbench.runs.store.reading import read_run
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.scoring.taxonomy import Fault
from tests.e2e.program import run_program
from tests.needed import DOCKER
from tests.sandbox.compose_services import compose
from tests.sandbox.docker_fixtures import engine

__all__ = ["compose", "engine"]

CORPUS = Path(__file__).parents[1] / "importers" / "harbor_corpus"
EXPECTED = json.loads((CORPUS / "expected.json").read_text())["tasks"]
TASKS = (
    "10-web-database", "20-queue-worker", "21-killed-service", "27-database-collect",
    "28-unhealthy", "33-compose-main", "34-verifier-compose", "24-no-network", "25-allowlist",
    "26-network-phases", "36-network-shared",
)  # fmt: skip
IMAGES = ("agentbench-tests/postgres:15", "agentbench-tests/redis:7", "agentbench-tests/store:1")


@pytest.mark.docker
@pytest.mark.usefixtures("compose")
def test_a_task_with_services_has_harbors_rewards(
    tmp_path: Path, environ: Mapping[str, str], docker: DockerProvider
) -> None:
    if missing := [name for name in IMAGES if not docker.has_image(name)]:
        DOCKER.refuse(f"{', '.join(missing)}: see tests/importers/harbor_corpus/build_images.sh")
    for name in TASKS:
        shutil.copytree(CORPUS / name, tmp_path / "theirs" / name)
        wrong = shutil.copytree(CORPUS / name, tmp_path / "theirs" / f"{name}-wrong")
        shutil.copytree(wrong / "wrong", wrong / "solution", dirs_exist_ok=True)

    def run(*words: str | Path) -> None:
        """Call the program, which must not fail."""
        done = run_program(*words, env=environ, cwd=tmp_path)
        assert done.returncode == 0, done.stderr

    run("tasks", "import", "harbor", "theirs", "--out", "tasks", "--no-prove")
    for agent, of in (("oracle", ""), ("noop", "nop")):
        run("run", "tasks", "--agent", agent, "--run-id", agent, "--sandbox", "docker", "-j", "2")
        for record in read_run(tmp_path / "runs" / agent, whole=True).records():
            base = record.task_id.removesuffix("-wrong")
            kind = of or ("oracle" if base == record.task_id else "wrong")
            expected = EXPECTED[base][kind]["rewards"]
            assert (record.rewards or {}) == (expected or {}), (record.task_id, record.detail)
            if base == "28-unhealthy":
                assert record.fault is Fault.TASK
                assert "[environment.healthcheck]" in record.detail
