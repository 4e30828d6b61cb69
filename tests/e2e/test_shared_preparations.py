"""Machines that have preparations of each other; a cache of its own stands for a machine."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest

from agentbench.attempt.base_tree import load_base_tree
from agentbench.attempt.preparation_cache import preparation_key
from agentbench.attempt.record import AttemptRecord
from agentbench.errors import UsageError
from agentbench.runs.options import RunOptions
from agentbench.runs.start import start_run
from agentbench.sandbox.bubblewrap.provider import BubblewrapProvider
from agentbench.sandbox.docker.provider import DockerProvider
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.task import Task
from tests.e2e.conftest import discard_snapshots
from tests.e2e.small_task import SmallTask
from tests.fakes.staging import small_task
from tests.sandbox.image_registry import Registry, running_registry

pytestmark = [pytest.mark.first, pytest.mark.docker]

# Random, so that two machines which both set the task up are told apart.
_FILES = dict(SmallTask().files)
SETUP = "commands = [\"python -c 'import uuid; print(uuid.uuid4())' > made-once.txt\"]"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def prepared_task(tmp_path: Path, request: pytest.FixtureRequest) -> Task:
    """Another one for each test, so that none finds what another has shared."""
    marked = {"README": request.node.name}
    return small_task(tmp_path / "task", setup=SETUP, files=_FILES | marked)


@contextmanager
def machine(docker: DockerProvider, folder: Path, place: str | None) -> Iterator[RunOptions]:
    options = RunOptions(
        agent="oracle", sandbox=docker, runs_dir=folder / "runs", cache_dir=folder / "cache",
        jobs=1, registry=place, integrity_controls=ControlLevel.OFF,
    )  # fmt: skip
    try:
        yield options
    finally:
        discard_snapshots(docker, folder / "cache")


def made(task: Task, options: RunOptions) -> AttemptRecord:
    (record,) = start_run([task], options).attempts()
    return record


def cached(record: AttemptRecord) -> list[bool]:
    return [stage.cached for stage in record.stages]


def made_once(options: RunOptions) -> bytes:
    """What set-up made up, of the one preparation of a machine."""
    (manifest,) = (options.cache_dir / "prepared").glob("docker/*/base.json")
    content = load_base_tree(manifest.parent).content(PurePosixPath("made-once.txt"))
    assert content is not None
    return content


def tag_of(task: Task, docker: DockerProvider) -> str:
    return preparation_key(task, docker.resolve_image(None), docker)


def test_what_one_machine_prepared_another_one_has(
    docker: DockerProvider, registry: Registry, prepared_task: Task, tmp_path: Path
) -> None:
    with machine(docker, tmp_path / "first", registry.place) as first:
        record = made(prepared_task, first)
        assert record.resolved
        assert cached(record) == [False] * 6
    assert tag_of(prepared_task, docker) in registry.tags("team/snapshot")
    with machine(docker, tmp_path / "second", registry.place) as second:
        record = made(prepared_task, second)
        assert record.resolved
        assert cached(record) == [True] * 3 + [False] * 3, "its baseline is each machine's own"
        assert made_once(second) == made_once(first), "it starts from the very same"
        again = made(prepared_task, second)
        assert again.resolved
        assert cached(again) == [True] * 4 + [False] * 2


def test_without_a_cache_nothing_leaves_the_machine(
    docker: DockerProvider, registry: Registry, prepared_task: Task, tmp_path: Path
) -> None:
    with machine(docker, tmp_path, registry.place) as only:
        assert made(prepared_task, only.replace(use_cache=False)).resolved
    assert tag_of(prepared_task, docker) not in registry.tags("team/snapshot")


def test_a_registry_that_is_away_is_said_once_and_costs_no_verdict(
    docker: DockerProvider, prepared_task: Task, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        machine(docker, tmp_path, "127.0.0.1:1/team") as options,
        caplog.at_level(logging.WARNING, "agentbench.cache"),
    ):
        records = list(start_run([prepared_task], options.replace(attempts=2)).attempts())
    assert [record.resolved for record in records] == [True, True]
    said = [line for line in caplog.messages if "127.0.0.1:1" in line]
    assert len(said) == 1
    assert said[0].startswith("no longer sharing preparations: cannot pull")


def test_a_preparation_under_another_ones_name_is_not_used(
    docker: DockerProvider,
    registry: Registry,
    prepared_task: Task,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = small_task(tmp_path / "other", files=_FILES | {"README": "another repository"})
    with machine(docker, tmp_path / "forger", registry.place) as forger:
        assert made(other, forger).resolved
    _rename(docker, registry, tag_of(other, docker), tag_of(prepared_task, docker))
    with machine(docker, tmp_path / "victim", registry.place) as victim:
        record = made(prepared_task, victim)
    assert record.resolved
    assert cached(record) == [False] * 6
    assert "is not a preparation with that name; creating it here" in caplog.text


def test_what_cannot_be_shared_is_refused_before_anything_is_made(
    bubblewrap: BubblewrapProvider, prepared_task: Task, tmp_path: Path
) -> None:
    options = RunOptions(
        agent="oracle", sandbox=bubblewrap, runs_dir=tmp_path / "runs",
        registry="localhost:5000", jobs=1,
    )  # fmt: skip
    with pytest.raises(UsageError, match="of the bubblewrap sandbox cannot be shared; use"):
        start_run([prepared_task], options)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "place",
    ["", "team", "http://r:5000", "registry:5000/", "Registry:5000", "a b:5000", "r:5000/a:b"],
)
def test_no_place_in_a_registry_is_refused(prepared_task: Task, tmp_path: Path, place: str) -> None:
    options = RunOptions(runs_dir=tmp_path / "runs", registry=place)
    with pytest.raises(UsageError, match=r"--registry: expected HOST\[:PORT\]\[/PATH\]"):
        start_run([prepared_task], options)


def _rename(docker: DockerProvider, registry: Registry, old: str, new: str) -> None:
    repository = f"{registry.place}/snapshot"
    with docker.engine.api("put an image under another name", moves_files=True) as api:
        api.pull(f"{repository}:{old}")
        api.tag(f"{repository}:{old}", repository, new)
        said = list(api.push(repository, new, stream=True, decode=True))
        for tag in (old, new):
            api.remove_image(f"{repository}:{tag}")
    assert not [line for line in said if "error" in line]
