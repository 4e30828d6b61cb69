"""Runs that earlier versions wrote are shown, reported, judged again and gone on with.

`tests/old_runs/` holds real runs, each as `NAME.tar.xz` with the folder `run` and `report.json`.
The latter is what `report --format json` printed then. They come from 0bc9da4, the last commit
before the source got its new layout. Those named `older-` come from 656fd19, before records named
image and Python. Their tasks are shipped ones.
"""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentbench.runs.start import resume_run
from agentbench.runs.store.configuration import RunConfiguration
from tests.fakes.scripted_agent import ScriptedAgent

ARCHIVES = sorted((Path(__file__).parents[2] / "old_runs").glob("*.tar.xz"))
TASKS = Path(__file__).parents[3] / "tasks"

pytestmark = [
    pytest.mark.full,
    pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name[:-7]),
]


@pytest.fixture
def old(archive: Path, tmp_path: Path) -> Path:
    """The folder with `run` and `report.json`."""
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / archive.name[:-7]


def records_of(old: Path) -> Iterator[dict]:
    for line in (old / "run" / "attempts.jsonl").read_text().splitlines():
        yield json.loads(line)


def lacks(now: object, then: object, where: str = "") -> list[str]:
    """What of a document is gone or has changed; what is new in it is welcome."""
    if isinstance(then, dict) and isinstance(now, dict):
        gone = [f"{where}.{key} is gone" for key in then if key not in now]
        kept = [(key, value) for key, value in then.items() if key in now]
        return gone + [
            output for key, value in kept for output in lacks(now[key], value, f"{where}.{key}")
        ]
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        pairs = enumerate(zip(now, then, strict=True))
        return [output for n, pair in pairs for output in lacks(*pair, f"{where}[{n}]")]
    return [] if now == then else [f"{where}: {then!r} is now {now!r}"]


def test_a_report_says_all_that_it_said(old, cli):
    now = json.loads(cli("report", str(old / "run"), "--format", "json").stdout)
    then = json.loads((old / "report.json").read_text())
    for result in (*now["results"], *then["results"]):
        del result["runs"]  # the folder
        if result["label"].startswith("command "):
            del result["label"]  # it names the run now, not its shell text
    assert lacks(now, then) == []


def test_each_attempt_is_shown_with_its_verdict(old, cli):
    for record in records_of(old):
        output = cli("show", str(old / "run"), record["task_id"], str(record["attempt"]))
        assert output.code == 0, output.stderr
        assert (record["failure_reason"] or "resolved") in output.stdout
        assert record["detail"][:60] in output.stdout


def test_each_verdict_still_holds(old, cli):
    output = json.loads(cli("rescore", str(old / "run"), "--json").stdout)
    assert (output["judged"], output["changed"]) == (len(list(records_of(old))), [])


def test_what_was_cut_off_is_made_again(old, tmp_path):
    path = old / "run" / "run.json"
    written = RunConfiguration.model_validate_json(path.read_bytes())
    # The tasks were elsewhere then.
    tasks = [task.replace(folder=str(TASKS / task.id)) for task in written.tasks]
    moved = written.replace(tasks=tuple(tasks))
    path.write_text(moved.json_with_checksum(indent=1))
    cut_off = {
        (record["task_id"], record["attempt"])
        for record in records_of(old)
        if record["failure_reason"] == "INTERRUPTED"
    }
    own = ScriptedAgent(lambda _given: None, name=written.agent) if ":" in written.agent else None

    resumed = resume_run(old / "run", agent=own, cache_dir=tmp_path / "cache")

    assert {(made.task.id, made.attempt) for made in resumed.planned} == cut_off
