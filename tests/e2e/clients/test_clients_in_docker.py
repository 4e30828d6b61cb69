"""Real clients in containers without a network: they solve a shipped task, and fail in known ways.

Each client is tried on a rate limit and a cut stream that pass. The gate tries a failure with one
client, the soak with all of them. What our side makes of errors that last, and of a client that
hangs, the gate tries with a small client (tests/e2e/models/test_models.py); real ones wait for
minutes before they give up.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from pathlib import Path

import docker
import pytest

from agentbench.agents.client_bundles import TOOLS_MOUNT
from agentbench.agents.preset import PresetAgent, find_preset
from agentbench.sandbox.interface import Command, Limits
from agentbench.taxonomy import FailureReason, Fault
from tests.corpora.cheats.test_secrets import seen_in
from tests.e2e.bench import Bench
from tests.e2e.clients.clients import (
    CLIENTS,
    LIMITED,
    SEEN,
    SHIPPED,
    Client,
    Edit,
    after_stumbles,
    shipped_edit,
)
from tests.e2e.small_task import BUGGY, SmallTask
from tests.fakes.scripted_model import Cut, Fail, by_turn, for_ever
from tests.patience import HANG_SECONDS, with_growing_limit

_OVERLAP = 1 << 12  # what is looked for is shorter, in any dress
_PIECE = 1 << 22
_PROCESSES = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; true"


def all_in_container(mounted: Path) -> Iterator[bytes]:
    """Everything of the one container that has something of this folder mounted."""
    engine = docker.from_env()
    try:
        (container,) = [
            each
            for each in engine.containers.list()
            if any(mount["Source"].startswith(str(mounted)) for mount in each.attrs["Mounts"])
        ]
        image = engine.images.get(container.attrs["Image"])
        yield json.dumps([container.attrs, image.attrs, image.history()]).encode()
        status, processes = container.exec_run(["sh", "-c", _PROCESSES], user="0")
        assert status == 0
        assert b"OPENAI_API_KEY=" in processes  # so that it is known to show what is there
        yield processes
        yield from overlapping(container.export(_PIECE))
        yield from overlapping(image.save(_PIECE))
    finally:
        engine.close()


def all_in_files(folder: Path) -> Iterator[bytes]:
    """Every file under a folder."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                yield from overlapping(iter(lambda: file.read(_PIECE), b""))


def overlapping(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, each with the end of the one before."""
    before = b""
    for piece in pieces:
        yield before + piece
        before = piece[-_OVERLAP:]


pytestmark = [pytest.mark.first, pytest.mark.docker]

# Codex works in bubblewrap (and below), and to install others takes minutes.
NAMES = ("claude-code",)
BY_MESSAGES = ("mini-swe-agent", "aider", "opencode")  # they can speak chat completions, too
KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
TOTAL = Edit(path="basket.py", content=BUGGY, old="prices[1:]", new="prices")


def tried(*some: str, with_shell: bool = False):
    """The clients to try: some in the gate, and in the soak all that can."""
    able = [client for client in CLIENTS.values() if client.shell or not with_shell]
    return of_each(some, able)


def of_each(some: Iterable[str], clients: Iterable[Client]):
    """Parametrize with the names of clients; those that are not in `some` wait for the soak."""
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(client.name, marks=() if client.name in some else pytest.mark.soak)
            for client in clients
        ],
    )


@pytest.fixture
def docker_bench(docker, cache_dir, tmp_path) -> Bench:
    from agentbench import RunOptions

    options = RunOptions(runs_dir=tmp_path / "runs", cache_dir=cache_dir, retries=0)
    return Bench(provider=docker, options=options)


@pytest.fixture
def small(tmp_path) -> Path:
    return SmallTask(agent="timeout_s = 120").write(tmp_path / "small")


@tried(*NAMES)
def test_it_solves_a_shipped_task_though_its_model_stumbles(name, docker_bench, trial, catalogue):
    client = CLIENTS[name]
    script = after_stumbles(client, shipped_edit(catalogue))
    done = trial(docker_bench, client, catalogue / SHIPPED, script)
    assert done.record.resolved, done.record.detail
    kinds = ("rate_limit", "cut_stream")[: len(client.stumbles)]
    assert done.errors == dict.fromkeys(kinds, 1)
    assert done.record.findings == ()
    assert client.shell is None or any(SEEN in asked.raw for asked in done.server.asked)


@tried("codex", with_shell=True)
def test_the_key_is_nowhere_in_its_container_while_it_works(
    name, docker_bench, trial, small, toolboxes
):
    client = CLIENTS[name]
    told = by_turn(client.working(TOTAL))
    keys, found = set(), set()

    def tell(asked):
        if asked.answered_before == 1 and not keys:  # it waits while we look
            sent = next(asked.headers[name] for name in KEY_HEADERS if name in asked.headers)
            keys.add(sent.removeprefix("Bearer "))
            texts = chain(all_in_container(toolboxes), all_in_files(toolboxes))
            found.update(seen_in(texts, *keys))
        return told(asked)

    done = trial(docker_bench, client, small, tell)
    assert done.record.resolved, done.record.detail
    assert keys == {done.server.key}
    assert found == set()


@of_each((), [CLIENTS[name] for name in BY_MESSAGES])
def test_it_speaks_messages_to_a_model_that_is_at_home_there(name, docker_bench, trial, catalogue):
    client = replace(CLIENTS[name], model="anthropic/scripted")
    answers = client.working(shipped_edit(catalogue))
    done = trial(docker_bench, client, catalogue / SHIPPED, by_turn(answers))
    assert done.record.resolved, done.record.detail
    assert {asked.path for asked in done.server.requests} == {"/v1/messages"}


@tried(*NAMES)
def test_it_is_the_version_that_the_preset_says(name, docker, toolboxes):
    preset = find_preset(name)
    image = docker.resolve_image(None)
    mounts = PresetAgent(preset, toolboxes=toolboxes).mounts(docker, image)
    with docker.open(image, limits=Limits(), network=False, mounts=mounts) as sandbox:
        line = preset.version_command.replace("{tools}", str(sandbox.mounted(TOOLS_MOUNT)))
        said = sandbox.run(
            Command(argv=("sh", "-c", line), timeout=timedelta(seconds=HANG_SECONDS))
        )
    assert said.ok, said.stderr
    assert preset.version in said.stdout


@tried("codex")
def test_a_refused_key_is_an_error_of_the_model_however_it_ends(name, docker_bench, trial, small):
    done = trial(docker_bench, CLIENTS[name], small, for_ever(Fail(401)))
    assert done.blamed == (FailureReason.LLM_ERROR, Fault.INFRASTRUCTURE), done.record.detail
    assert "auth, HTTP 401" in done.record.detail
    assert set(done.errors) == {"auth"}


@tried("claude-code")
def test_a_spent_budget_is_giving_up(name, docker_bench, trial, tmp_path):
    client = CLIENTS[name]
    # A token costs a cent, and an answer more than a dollar; what is asked after it is refused.
    answers = [client.shell("true")] if client.shell else client.edit(TOTAL)

    def trial_within(seconds):
        limits = f"timeout_s = {seconds}\nmax_cost_usd = 1"
        small = SmallTask(agent=limits).write(tmp_path / f"small-{seconds}")
        return trial(docker_bench, client, small, by_turn(answers), price=10_000)

    done = with_growing_limit(
        trial_within, lambda done: (done.record.usage.cost_usd or 0) > 1, limits=(60, 300)
    )
    assert done.blamed == (FailureReason.AGENT_GAVE_UP, Fault.AGENT), done.record.detail
    assert "the budget was spent" in done.record.detail
    told = done.server.told
    assert done.record.usage.cost_usd == pytest.approx((told.input + told.output) / 100)
    assert done.record.usage.cost_usd > 1


def failing_trial(trial, bench, client, answer, folder):
    """A trial with one answer for ever, and a limit within which the client gets it."""

    def trial_within(seconds):
        small = SmallTask(agent=f"timeout_s = {seconds}").write(folder / f"small-{seconds}")
        return trial(bench, client, small, for_ever(answer))

    return with_growing_limit(trial_within, lambda done: done.errors, limits=(45, 180))


@tried()
def test_a_rate_limit_for_ever_is_an_error_of_the_model(name, docker_bench, trial, tmp_path):
    done = failing_trial(trial, docker_bench, CLIENTS[name], LIMITED, tmp_path)
    assert done.blamed == (FailureReason.LLM_ERROR, Fault.INFRASTRUCTURE), done.record.detail
    assert "rate_limit, HTTP 429" in done.record.detail


@tried()
def test_streams_that_are_always_cut_are_an_error_of_the_model(name, docker_bench, trial, tmp_path):
    done = failing_trial(trial, docker_bench, CLIENTS[name], Cut(), tmp_path)
    assert done.blamed == (FailureReason.LLM_ERROR, Fault.INFRASTRUCTURE), done.record.detail
    assert set(done.errors) == {"cut_stream"}


@tried("codex", with_shell=True)
def test_a_client_that_crashes_is_itself_at_fault(name, docker_bench, trial, small):
    client = CLIENTS[name]
    done = trial(docker_bench, client, small, by_turn([client.shell("kill -SEGV $PPID")]))
    assert done.blamed == (FailureReason.TOOL_ERROR, Fault.AGENT), done.record.detail


@tried(with_shell=True)
def test_a_client_that_hangs_is_out_of_time(name, docker_bench, trial, tmp_path):
    client = CLIENTS[name]

    def trial_within(seconds):
        small = SmallTask(agent=f"timeout_s = {seconds}").write(tmp_path / f"small-{seconds}")
        return trial(docker_bench, client, small, by_turn([client.shell("tail -f /dev/null")]))

    done = with_growing_limit(trial_within, lambda done: done.server.asked, limits=(12, 60))
    assert done.blamed == (FailureReason.TIMEOUT, Fault.AGENT), done.record.detail
