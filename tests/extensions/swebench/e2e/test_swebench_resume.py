"""An import of many instances is interrupted, killed and run again; in Docker."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentbench.extensions.swebench.import_state import open_states
from tests.cli.conftest import call
from tests.extensions.swebench.instances import RECIPES, Project, write_lines

pytestmark = pytest.mark.docker

COUNT = 9  # one more than fit into a batch
FIRST_BATCH = 8
WAIT_SECONDS = 300


class Import:
    """The same command, again and again."""

    def __init__(self, folder: Path) -> None:
        project = Project(folder / "repos")
        entries = [project.instance(instance_id=f"Acme__counting-{n}") for n in range(COUNT)]
        useless = project.patch.replace("+    return items[-1]", "+    return items[-3]")
        entries[1]["patch"] = useless
        entries[2]["base_commit"] = "main"
        entries[3]["FAIL_TO_PASS"] = '["test_gone"]'
        (folder / "recipes.toml").write_text(RECIPES)
        self.folder, self.out, self.report = folder, folder / "tasks", folder / "fidelity.md"
        self.arguments = [
            *("tasks", "import", "swebench", write_lines(folder / "in.jsonl", *entries)),
            *("--out", self.out, "--repos", folder / "repos", "--sandbox", "docker"),
            *("--recipes", folder / "recipes.toml", "--repeat", "1", "--jobs", "2"),
            *("--runs-dir", folder / "runs", "--report", self.report),
        ]

    def interrupt(self, number: signal.Signals, after: str) -> tuple[int, str]:
        """Send a signal once a line has appeared; returns the exit code and what was printed."""
        program = [sys.executable, "-m", "agentbench", *map(str, self.arguments)]
        text = ""
        with subprocess.Popen(
            program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=os.environ
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                text += line
                if re.search(after, text):
                    process.send_signal(number)
                    break
            text += process.stderr.read()
            return process.wait(WAIT_SECONDS), text

    def proofs(self) -> dict[str, bytes]:
        return {each.parent.name: each.read_bytes() for each in self.out.glob("*/proof.json")}

    def validated(self) -> set[str]:
        """The runs that have validated tasks so far."""
        return {each.name for each in (self.folder / "runs" / "validation").iterdir()}


def test_an_interrupted_import_goes_on_where_it_was(tmp_path):
    command = Import(tmp_path)
    code, text = command.interrupt(signal.SIGINT, r"(?m)^1/\d+ acme__counting-")
    assert code == 130, text
    assert f"stopped: 0 of {COUNT} done; run the same command again to continue" in text
    assert f"{COUNT} not reached: the import was interrupted" in command.report.read_text()

    code, text = command.interrupt(
        signal.SIGKILL, rf"(?m)^{FIRST_BATCH} of {COUNT} instances: (?s:.*)^1/1 acme__counting-8"
    )
    assert code == -signal.SIGKILL, text
    assert re.search(
        rf"(?m)^{FIRST_BATCH} of {COUNT} instances: 5 valid, 1 invalid, 2 refused; "
        r"about \d+ min left; images and snapshots take \d+\.\d GB$",
        text,
    ), text
    proofs, runs = command.proofs(), command.validated()
    assert len(proofs) == FIRST_BATCH - 2

    said = call(*command.arguments)
    assert said.code == 65
    assert f"resuming: {FIRST_BATCH - 1} of {COUNT} done" in said.stderr
    assert said.stderr.endswith("7 tasks written, 6 of 7 valid, 2 refused\n")
    assert {name: command.proofs()[name] for name in proofs} == proofs
    again = command.validated() - runs
    assert {path.name for run in again for path in runs_of(command, run)} == {"acme__counting-8"}
    assert list(command.out.glob(".new-*")) == []
    check_report(command.report.read_text())


def runs_of(command: Import, run: str) -> list[Path]:
    folder = command.folder / "runs" / "validation" / run / "attempts"
    return [path for path in folder.iterdir() if path.is_dir()]


def check_report(text: str) -> None:
    assert f"{COUNT} instances: 6 valid, 2 refused, 1 invalid." in text
    tables = re.findall(r"(?m)(?:^\|.*\|\n)+", text)
    assert len(tables) == 2
    for table in tables:
        lines = table.splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
        assert set(lines[1]) <= set("| -")
    rows = {line.split("|")[1].strip(): line for line in tables[-1].splitlines()[2:]}
    assert len(rows) == COUNT
    assert " valid | Python 3.11, by a recipe |" in rows["`Acme__counting-0`"]
    assert " invalid |" in rows["`Acme__counting-1`"]
    assert "is not a full hash" in rows["`Acme__counting-2`"]
    assert "fixes no test named 'test" in rows["`Acme__counting-3`"]


def test_a_second_import_into_the_folder_is_refused(tmp_path):
    command = Import(tmp_path)
    with open_states(command.out, replace=False):
        said = call(*command.arguments)
    assert said.code == 2
    assert f"{command.out}: another import writes into this folder" in said.stderr
