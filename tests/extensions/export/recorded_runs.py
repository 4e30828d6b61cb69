"""Runs of the built-in agent with a model that answers by a script, over real HTTP."""

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from agentbench.agents.command import CommandAgent
from agentbench.core.host import default_cache_dir
from agentbench.runs.options import RunOptions
from agentbench.runs.start import start_run
from agentbench.tasks.task import Task
from tests.e2e.small_task import BUGGY, FIX, HIDDEN, PARTIAL_FIX, patch_of
from tests.fakes.scripted_model import Answer, Call, Calls, Fail, ScriptedModel, Tokens
from tests.fakes.staging import local_provider, small_task

FIXED = BUGGY.replace(
    "return sum(prices[1:])",
    "amounts = list(prices)\n    grand_total = sum(amounts)\n    return grand_total",
)
SOLUTION = patch_of("basket.py", BUGGY, FIXED)
SECRET = "sk-proj-" + "Zq9" * 12
OWN_FIX = "return sum(prices)"
SUBMIT = Call("submit", {"summary": "done"}, tokens=Tokens(input=900, output=9))


def edit(new: str) -> Call:
    old = "return sum(prices[1:])"
    return Call("edit", {"path": "basket.py", "old_text": old, "new_text": new}, text="I see.")


def run(command: str) -> Call:
    return Call("run", {"command": command})


def printed(text: str, then: str = "cat") -> str:
    return f"echo {base64.b64encode(text.encode()).decode()} | base64 -d | {then}"


LOOK = Calls([Call("read_file", {"path": "basket.py"})], text="Let me look.")
SCRIPTS: Mapping[str, Sequence[Answer]] = {
    "honest": [LOOK, edit(OWN_FIX), run("cat basket.py && git diff"), SUBMIT],
    "same as the solution": [
        LOOK,
        run("sed -i 's/return sum(prices.*/amounts = list(prices)/' basket.py"),
        run("sed -i '/amounts = list/a\\    grand_total = sum(amounts)' basket.py"),
        run("sed -i '/grand_total =/a\\    return grand_total' basket.py; cat basket.py"),
        SUBMIT,
    ],
    "wrong": [LOOK, edit("return sum(prices[2:])"), SUBMIT],
    "another wrong": [LOOK, edit("return sum(prices[:1])"), SUBMIT],
    "sees the tests": [LOOK, run(printed(HIDDEN)), edit(OWN_FIX), SUBMIT],
    "sees numbered tests": [LOOK, run(printed(HIDDEN, "cat -n")), edit(OWN_FIX), SUBMIT],
    "sees the solution": [LOOK, run(printed(SOLUTION)), edit(OWN_FIX), SUBMIT],
    "applies the solution": [LOOK, run(printed(SOLUTION, "git apply")), SUBMIT],
    "shows a key": [LOOK, run(f"echo {SECRET[:20]}{SECRET[20:]}"), edit(OWN_FIX), SUBMIT],
    "model fails": [Fail(401)],
}
"""What the model answers in each attempt, by its name; attempts are numbered in this order."""

NUMBERS = {name: number for number, name in enumerate(SCRIPTS, start=1)}


def write_task(folder: Path) -> Task:
    return small_task(folder, solution=SOLUTION)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    with mock.patch.dict(os.environ, variables):
        yield


def model_run(task: Task, runs_dir: Path, name: str, scripts: Sequence[Sequence[Answer]]) -> Path:
    answers = [answer for script in scripts for answer in script]
    with ScriptedModel(answers) as server, _environment(OPENAI_API_KEY=server.key):
        options = RunOptions(
            agent="llm",
            model="openai/scripted",
            base_url=server.base_url,
            probe=False,
            attempts=len(scripts),
            retries=0,
            **_common(runs_dir, name),
        )
        list(start_run([task], options).attempts())
    return runs_dir / name


def command_run(task: Task, runs_dir: Path, name: str, command: str) -> Path:
    options = RunOptions(agent=CommandAgent(command), **_common(runs_dir, name))
    list(start_run([task], options).attempts())
    return runs_dir / name


def _common(runs_dir: Path, name: str) -> dict[str, object]:
    return {
        "sandbox": local_provider(),
        "runs_dir": runs_dir,
        "run_id": name,
        "cache_dir": default_cache_dir(),
        "jobs": 1,
    }


def make_runs(folder: Path) -> tuple[Task, dict[str, Path]]:
    task, runs = write_task(folder / "small"), folder / "runs"
    return task, {
        "scripted": model_run(task, runs, "scripted", list(SCRIPTS.values())),
        "fixes": command_run(task, runs, "fixes", FIX),
        "misses": command_run(task, runs, "misses", PARTIAL_FIX),
        "crashes": command_run(task, runs, "crashes", "exit 3"),
    }
