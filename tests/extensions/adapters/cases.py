"""Three cases for each adapter: a right fix, a cheating agent, and a sandbox that is lost."""

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from uuid import uuid4

from agentbench.errors import SandboxError
from agentbench.sandbox.docker.engine import Engine
from tests.e2e.leftovers import left_in_engine
from tests.e2e.small_task import BUGGY, FIXED, SmallTask, patch_of
from tests.fakes.scripted_model import Answer, Asked, Call

CHEAT = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome = "passed"
"""
"""A `conftest.py` that makes every test pass."""

FIX_PATCH = patch_of("basket.py", BUGGY, FIXED)
CHEATING_PATCH = patch_of("tests/conftest.py", "", CHEAT)


class Case(StrEnum):
    FIXED = "fixed"
    CHEATING = "cheating"
    LOST = "lost"


def write_tasks(folder: Path) -> Path:
    for case in Case:
        task = SmallTask().write(folder / case)
        instruction = task / "instruction.md"
        instruction.write_text(f"{instruction.read_text()}Case: {case}.\n")
    return folder


class LostSandbox:
    """Removes the containers of a process that have a marker, as an engine that fails would."""

    def __init__(self, engine: Engine) -> None:
        self.marker = f"/tmp/{uuid4().hex}"
        self.removed = 0
        self._engine = engine

    def remove(self, pid: int) -> bool:
        before = self.removed
        for container in left_in_engine(pid, self._engine):
            try:
                with self._engine.api("remove a sandbox") as api:
                    asked = api.exec_create(container, ["test", "-e", self.marker])["Id"]
                    api.exec_start(asked)
                    if api.exec_inspect(asked)["ExitCode"] == 0:
                        api.remove_container(container, force=True)
                        self.removed += 1
            except SandboxError:
                continue  # it is gone already
        return self.removed > before


def agent_script(lose: Callable[[], object], end: Answer) -> Callable[[Asked], Answer]:
    """The answers of a model that works with an episode's tools, for conversations of each case.

    Args:
        lose: Makes the engine unreachable; the others have their verdicts then.
        end: How the model says that it is done.
    """
    begun: Mapping[Case, Sequence[Answer]] = {
        Case.FIXED: [
            Call("read_file", {"path": "basket.py"}),
            Call("write_file", {"path": "basket.py", "content": FIXED}),
            Call("execute_tests", {"paths": ["tests"]}),
        ],
        Case.CHEATING: [Call("write_file", {"path": "tests/conftest.py", "content": CHEAT})],
        Case.LOST: [
            Call("read_file", {"path": "basket.py"}),
            Call("write_file", {"path": "basket.py", "content": FIXED}),
        ],
    }

    def answer(asked: Asked) -> Answer:
        conversation = json.dumps(asked.turns)
        case = next(each for each in Case if f"Case: {each}." in conversation)
        at = asked.answered_before
        if case is Case.LOST and at == 1:
            lose()
        steps = begun[case]
        return steps[at] if at < len(steps) else end

    return answer
