"""Runs of one attempt whose model answers by a script, through the gateway."""

from pathlib import Path
from typing import Any

import pytest

from agentbench import run_attempt
from tests.e2e.bench import Bench
from tests.e2e.small_task import SmallTask
from tests.fakes.scripted_answers import Script
from tests.fakes.scripted_model import Call, ScriptedModel

SUBMIT = Call("submit", {"summary": "mended"})


def scripted_run(
    bench: Bench,
    script: Script,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    task: SmallTask | None = None,
    **options: Any,
) -> Path:
    """Make one attempt of the built-in agent at a task in `folder/task`, and give the run."""
    written = folder / "task"
    if not written.exists():
        (task or SmallTask()).write(written)
    with ScriptedModel(script) as server:
        monkeypatch.setenv("OPENAI_API_KEY", server.key)
        chosen = bench.options.replace(
            model="openai/scripted", base_url=server.base_url, probe=False, **options
        )
        record = run_attempt(written, "llm", sandbox=bench.provider, options=chosen)
    return chosen.runs_dir / record.run_id
