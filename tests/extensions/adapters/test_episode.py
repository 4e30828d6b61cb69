"""Episodes: tools, wrong calls, and sandboxes that are lost or never there."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentbench import Judge, RunOptions
from agentbench.errors import OutageError
from agentbench.extensions.adapters.episode import EPISODE_TOOLS, Episode, verdict_line
from agentbench.sandbox.interface import SandboxProvider
from agentbench.tasks.task import Task
from agentbench.taxonomy import Fault
from tests.e2e.small_task import FIXED
from tests.fakes.staging import local_provider, own_task
from tests.fakes.unreliable_provider import UnreliableProvider

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def provider() -> SandboxProvider:
    return local_provider()


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return own_task(tmp_path_factory.mktemp("task") / "small")


@pytest.fixture
def judge(provider: SandboxProvider, tmp_path: Path) -> Iterator[Judge]:
    options = RunOptions(runs_dir=tmp_path / "runs", retries=0)
    with Judge(sandbox=provider, jobs=1, options=options) as judge:
        yield judge


def test_model_s_tools_work_and_the_verdict_is_the_reward(judge: Judge, task: Task) -> None:
    async def work() -> None:
        episode = Episode(judge, task.folder)
        await episode.open()
        assert task.problem.instruction.strip() in episode.prompt
        assert "python -m pytest" in episode.prompt
        assert "prices[1:]" in await episode.call("read_file", {"path": "basket.py"})
        written = {"path": "basket.py", "content": FIXED}
        assert await episode.call("write_file", json.dumps(written)) == "written"
        assert (await episode.call("run", {"command": "ls; exit 3"})).startswith("[exit code 3]\n")
        answer = json.loads(await episode.call("execute_tests", {"paths": ["tests"]}))
        assert (answer["outcome"], answer["summary"]["passed"]) == ("passed", 2)
        verdict = await episode.score()
        assert (verdict.reward, verdict_line(verdict)) == (1.0, "RESOLVED")
        assert await episode.score() is verdict
        assert await episode.call("run", {"command": "ls"}) == (
            "error: the session has no sandbox: it has ended, or its task failed"
        )
        await episode.close()

    asyncio.run(work())


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("shell", {}, "error: there is no tool 'shell'; known: run, read_file, write_file, exec"),
        ("run", {}, "error: invalid arguments: command"),
        ("run", "[1]", "error: arguments: expected a JSON object"),
        ("run", "{", "error: arguments: expected a JSON object: "),
        ("run", {"command": "a\0b"}, "error: invalid arguments: command"),
        ("read_file", {"path": "missing"}, "error: missing: cannot be read"),
        ("execute_tests", {"paths": 7}, "error: invalid arguments: paths"),
    ],
)
def test_wrong_call_gets_an_answer(
    judge: Judge, task: Task, tool: str, arguments: dict[str, object] | str, expected: str
) -> None:
    async def work() -> str:
        episode = Episode(judge, task)
        await episode.open()
        try:
            return await episode.call(tool, arguments)
        finally:
            await episode.close()

    assert asyncio.run(work()).startswith(expected)


def test_without_a_sandbox_tools_say_so_and_there_is_no_reward(
    task: Task, provider: SandboxProvider, tmp_path: Path
) -> None:
    away = UnreliableProvider(provider, refusals=100)
    options = RunOptions(runs_dir=tmp_path / "runs", retries=0)

    async def work() -> None:
        async with Judge(sandbox=away, jobs=1, options=options) as judge:
            episode = Episode(judge, task)
            await episode.open()
            assert episode.prompt == "The task has no sandbox. Stop here."
            assert (await episode.call("run", {"command": "ls"})).startswith("error: ")
            verdict = await episode.score()
            assert (verdict.reward, verdict.fault) == (None, Fault.INFRASTRUCTURE)
            assert verdict_line(verdict).startswith("SANDBOX_ERROR: ")
            await episode.close()

    asyncio.run(work())


class AwayJudge:
    """A judge whose engine was away for longer than sessions wait for it."""

    @asynccontextmanager
    async def session(self, task: object) -> AsyncIterator[None]:
        del task
        raise OutageError("the engine does not answer")
        yield


def test_after_a_long_outage_tools_say_so_and_there_is_no_reward(task: Task) -> None:
    async def work() -> None:
        episode = Episode(AwayJudge(), task.folder)
        await episode.open()
        assert await episode.call("run", {"command": "ls"}) == "error: the engine does not answer"
        verdict = await episode.score()
        assert (verdict.reward, verdict.fault) == (None, Fault.INFRASTRUCTURE)
        assert verdict_line(verdict) == "INTERRUPTED: the engine does not answer"
        assert verdict.task_id == task.id
        await episode.close()

    asyncio.run(work())


def test_episode_that_was_never_open_has_no_reward(judge: Judge, task: Task) -> None:
    async def work() -> None:
        episode = Episode(judge, task)
        assert await episode.call("run", {"command": "ls"}) == "error: the episode was not opened"
        verdict = await episode.score()
        assert (verdict.reward, verdict.task_id) == (None, task.id)
        await episode.close()

    asyncio.run(work())


def test_each_tool_has_a_schema_for_a_model() -> None:
    schemas = {tool.name: tool.schema for tool in EPISODE_TOOLS}
    assert list(schemas) == ["run", "read_file", "write_file", "execute_tests"]
    assert all(schema["type"] == "object" for schema in schemas.values())
    assert schemas["write_file"]["required"] == ["path", "content"]
