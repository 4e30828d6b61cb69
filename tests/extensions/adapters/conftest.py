"""Programs of the packages that have adapters, run in processes of their own."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.engine import Engine
from tests.e2e import conftest as shared
from tests.e2e.leftovers import left_in_engine
from tests.extensions.adapters.cases import Case, write_tasks
from tests.extensions.adapters.engine_relay import EngineRelay, relayed_engine
from tests.extensions.adapters.environments import EXAMPLES, ROOT
from tests.fakes.scripted_model import ScriptedModel
from tests.patience import wait_until

cache_dir = shared.cache_dir
docker = shared.docker
_LONGEST = 600  # seconds; many times what a program takes


class Programs(NamedTuple):
    folder: Path
    environ: Mapping[str, str]
    relay: EngineRelay

    def lose_engine(self) -> None:
        others = [case for case in Case if case is not Case.LOST]
        wait_until(lambda: all(any(self._records(case)) for case in others))
        self.relay.cut()

    def _records(self, case: Case) -> Iterator[Path]:
        return self.folder.glob(f"runs/*/attempts/{case}/1/record.json")

    def run(self, *argv: str | Path, model: ScriptedModel) -> str:
        with self.started(*argv, env=model_variables(model)) as program:
            printed, errors = program.communicate(timeout=_LONGEST)
        assert program.returncode == 0, printed + errors
        return printed + errors

    @contextmanager
    def started(
        self, *argv: str | Path, env: Mapping[str, str]
    ) -> Iterator["subprocess.Popen[str]"]:
        program = subprocess.Popen(
            argv, cwd=self.folder, env={**self.environ, **env}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        with program:
            try:
                yield program
            finally:
                program.kill()
                program.wait()
                _remove_containers(program.pid)


def _remove_containers(pid: int) -> None:
    """Remove what a process could not remove from an engine that it did not reach."""
    engine = Engine.connect()
    for container in left_in_engine(pid, engine):
        with suppress(SandboxError), engine.api("remove a sandbox") as api:
            api.remove_container(container, force=True, v=True)


def model_variables(model: ScriptedModel) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{model.base_url}/v1", "OPENAI_API_KEY": model.key}


@pytest.fixture
def programs(tmp_path: Path, docker: object, cache_dir: Path) -> Iterator[Programs]:
    del docker  # builds the base image
    write_tasks(tmp_path / "tasks")
    (tmp_path / "examples").symlink_to(EXAMPLES)
    with tempfile.TemporaryDirectory() as home, relayed_engine(Path(home)) as relay:
        environ = {
            **os.environ,
            "AGENTBENCH_CACHE": str(cache_dir),
            "DOCKER_HOST": relay.base_url,
            "HOME": home,
            "PYTHONPATH": f"{ROOT / 'src'}:{EXAMPLES}",
            "PYTHONUNBUFFERED": "1",
        }
        yield Programs(folder=tmp_path, environ=environ, relay=relay)
