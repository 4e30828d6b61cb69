"""What tests of real clients share: each is installed once, from its registry."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench import AttemptRecord, run_attempt
from agentbench.agents.preset import PresetAgent, find_preset
from agentbench.runs.store.store import RunStore
from agentbench.taxonomy import FailureReason, Fault
from tests.corpora.cheats.test_secrets import seen_in
from tests.e2e.bench import Bench
from tests.e2e.clients.clients import Client
from tests.fakes.scripted_answers import Script
from tests.fakes.scripted_model import ScriptedModel

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")


@pytest.fixture(scope="session")
def toolboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the clients' programs are: one folder for all workers, gigabytes that do not stay."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # tests/run.py removes what the workers share
        folder = base.parent / "toolboxes"
        folder.mkdir(exist_ok=True)
        yield folder
        return
    folder = base / "toolboxes"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


class Trial:
    """One attempt of one client, and what was seen on both sides of the gateway."""

    def __init__(self, record: AttemptRecord, server: ScriptedModel, folder: Path) -> None:
        self.record = record
        self.server = server
        self.folder = folder

    @property
    def errors(self) -> dict[str, int]:
        """What went wrong at the model, as it was counted."""
        assert self.record.usage is not None
        return dict(self.record.usage.llm_errors)

    @property
    def blamed(self) -> tuple[FailureReason | None, Fault | None]:
        """Why it was not solved, and whose fault that is."""
        return self.record.failure_reason, self.record.fault

    def check(self) -> None:
        """Every token was counted, and the key was seen nowhere."""
        usage, told = self.record.usage, self.server.told
        assert usage is not None
        assert (usage.input_tokens, usage.output_tokens) == (told.input, told.output)
        assert {asked.headers.get("host") for asked in self.server.requests} != set()
        run = self.folder.parents[1]
        texts = (path.read_bytes() for path in run.rglob("*") if path.is_file())
        assert seen_in(texts, self.server.key) == set()


@pytest.fixture
def trial(toolboxes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes an attempt of a client at a task, with a model that answers by a script."""

    def make(
        bench: Bench, client: Client, task: Path, script: Script, *, price: float = 0
    ) -> Trial:
        with ScriptedModel(script) as server:
            for name in KEYS:
                monkeypatch.setenv(name, server.key)
            options = bench.options.replace(
                model=client.model,
                base_url=server.base_url,
                probe=False,
                prices=write_prices(tmp_path, price) if price else None,
            )
            agent = _agent(client, toolboxes)
            record = run_attempt(task, agent, sandbox=bench.provider, options=options)
        folder = RunStore.open(options.runs_dir / record.run_id).folder_of(record)
        done = Trial(record, server, folder)
        done.check()
        return done

    return make


def _agent(client: Client, toolboxes: Path) -> PresetAgent:
    preset = find_preset(client.name)
    assert preset is not None
    hasty = preset.replace(env={**preset.env, **client.impatient})
    return PresetAgent(hasty, toolboxes=toolboxes)


def write_prices(folder: Path, price: float) -> Path:
    """Price the scripted model, in dollars for a million tokens."""
    path = folder / "prices.json"
    models = {"scripted": {"input": price, "output": price}}
    prices = {"date": "2026-11-22", "source": "a test", "models": models}
    path.write_text(json.dumps({"lists": [prices]}))
    return path
