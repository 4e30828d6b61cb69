"""What tests of the audit share: real task folders, written, loaded and read."""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentbench.agents.interface import AgentOutcome
from agentbench.audit.rule import RuleHit
from agentbench.audit.run_facts import AttemptFacts, open_run, read_attempt
from agentbench.audit.task_facts import TaskFacts, read_task_facts
from agentbench.core.host import default_cache_dir
from agentbench.runs.options import RunOptions
from agentbench.runs.start import start_run
from agentbench.sandbox.interface import Command
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.e2e.small_task import BUGGY, FIXED, HIDDEN, LISTED, VISIBLE, patch_of
from tests.fakes.scripted_agent import Given, ScriptedAgent
from tests.fakes.staging import local_provider

BASE = {"basket.py": BUGGY, "tests/test_basket.py": VISIBLE}
INSTRUCTION = "`total` leaves the first price out.\n"


def write_task(
    folder: Path,
    *,
    base: Mapping[str, str | bytes] = {},
    fix: Mapping[str, str] = {"basket.py": FIXED},
    hidden: Mapping[str, str] = {"tests/test_hidden.py": HIDDEN},
    listed: Iterable[str] = LISTED,
    instruction: str = INSTRUCTION,
    tables: str = "",
    pass_to_pass: str = '"baseline"',
) -> Path:
    """Write a task; `base` adds to its files, the other mappings say what files become."""
    files = {name: _bytes(text) for name, text in {**BASE, **base}.items()}
    for name, content in files.items():
        path = folder / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for patch, changes in (("solution.patch", fix), ("tests.patch", hidden)):
        if changes:
            parts = (
                patch_of(name, files.get(name, b"").decode(), text)
                for name, text in changes.items()
            )
            (folder / patch).write_text("".join(parts), "utf-8")
    (folder / "instruction.md").write_text(instruction, "utf-8")
    (folder / "task.toml").write_text(
        f'schema_version = 1\ntitle = "The first price"\n[repo]\npath = "repo"\n{tables}\n'
        f'[tests]\npaths = ["tests"]\nfail_to_pass = {list(listed)}\n'
        f"pass_to_pass = {pass_to_pass}\n",
        "utf-8",
    )
    return folder


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@pytest.fixture
def facts_of(tmp_path: Path) -> Callable[..., TaskFacts]:
    """Writes a task with `write_task` and reads it as the audit does."""

    def created(**more: object) -> TaskFacts:
        mirrors = Mirrors(tmp_path / "mirrors")
        folder = write_task(tmp_path / "small", **more)
        return read_task_facts(load_task(folder, mirrors=mirrors), mirrors)

    return created


def make_run(
    folder: Path,
    *,
    files: Mapping[str, str] = {},
    says: str = "",
    name: str = "patient",
    controls: ControlLevel | None = None,
    **more,
) -> Path:
    """Run an agent that prints a text and leaves files at a small task; gives the run's folder."""

    def work(given: Given) -> AgentOutcome:
        leave = (
            "import json, pathlib, sys\n"
            "files, says = json.loads(sys.argv[1])\n"
            "print(says)\n"
            "for name, text in files.items():\n"
            "    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)\n"
            "    pathlib.Path(name).write_text(text)\n"
        )
        argv = ("python", "-c", leave, json.dumps([dict(files), says]))
        done = given.sandbox.run(Command(argv=argv, timeout=given.budget.remaining()))
        assert done.ok, done.stderr
        return AgentOutcome(ending=AgentEnding.SUBMITTED)

    mirrors = Mirrors(folder / "mirrors")
    task = load_task(write_task(folder / "small", **more), mirrors=mirrors)
    options = RunOptions(
        agent=ScriptedAgent(work, name),
        sandbox=local_provider(),
        runs_dir=folder / "runs",
        run_id="one",
        cache_dir=default_cache_dir(),
        jobs=1,
        integrity_controls=controls,
    )
    (record,) = start_run([task], options).attempts()
    assert record.patch is not None, record.detail
    return folder / "runs" / "one"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of an honest agent that resolved a task, and with that task."""
    folder = tmp_path_factory.mktemp("finished")
    make_run(folder, files={"basket.py": FIXED})
    return folder


@pytest.fixture
def run_folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of that run, to be spoiled; its task is still where it was."""
    return shutil.copytree(finished / "runs" / "one", tmp_path / "one")


def attempt_of(folder: Path) -> AttemptFacts:
    """The one attempt of a run as the audit reads it, with its task."""
    run = open_run(folder)
    mirrors = Mirrors(folder.parent / "audit-mirrors")
    (record,) = run.latest
    (entry,) = run.configuration.tasks
    task = read_task_facts(load_task(Path(entry.folder), mirrors=mirrors), mirrors)
    return read_attempt(run, record, task)


def edit_record(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the one record of a run, in both places where it is kept."""
    record = json.loads((folder / "attempts.jsonl").read_text())
    del record["digest"]  # whoever edits a record leaves no digest that tells
    change(record)
    (folder / "attempts.jsonl").write_text(json.dumps(record) + "\n")
    (folder / "attempts" / "small" / "1" / "record.json").write_text(json.dumps(record))


def lines_of(found: Iterable[RuleHit]) -> list[str]:
    """What a rule saw, one line each."""
    return [f"{one.severity.value} {one.where}: {one.what}" for one in found]
