"""One agent's work at a task: its sandbox, the tools for its model, and the verdict."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import Field

from agentbench.core.schema import JsonObject
from agentbench.core.untrusted_json import cut_middle
from agentbench.errors import OutageError, SandboxError, StorageError
from agentbench.judge.judge import Judge
from agentbench.judge.judge_session import AsyncSession
from agentbench.judge.judge_verdict import JudgeVerdict
from agentbench.scoring.evidence import Ending
from agentbench.tasks.problem import TaskId
from agentbench.tasks.task import Task
from agentbench.test_tools.agent_texts import (
    MAX_OUTPUT_LENGTH,
    RUN_DESCRIPTION,
    RUN_TESTS_DESCRIPTION,
    RunArguments,
    ToolText,
    escape_control,
    terminal_text,
)
from agentbench.test_tools.answers import as_text
from agentbench.test_tools.arguments import (
    ExecuteArguments,
    InvalidArgumentsError,
    ToolArguments,
    escaped_name,
    input_schema,
    read_arguments,
)

_MAX_FILE_LENGTH: Final = 100_000  # characters of a file that a model reads
_PROMPT: Final = """\
{instruction}

The repository is in {workspace}, where your tools work. Its tests run with `{test_command}`. Change
the code so that hidden tests of the behaviour pass. Changes of the tests do not count.
"""


class ReadArguments(ToolArguments):
    """The arguments of `read_file`."""

    path: ToolText = Field(min_length=1, description="A file, relative to the workspace.")


class WriteArguments(ToolArguments):
    """The arguments of `write_file`."""

    path: ToolText = Field(min_length=1, description="A file, relative to the workspace.")
    content: ToolText = Field(description="The whole new content of the file.")


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeTool:
    """A tool for the model of an agent."""

    name: str
    description: str
    arguments: type[ToolArguments]

    @property
    def schema(self) -> JsonObject:
        """The JSON schema of its arguments."""
        return input_schema(self.arguments)


EPISODE_TOOLS: Final = (
    EpisodeTool(name="run", description=RUN_DESCRIPTION, arguments=RunArguments),
    EpisodeTool(
        name="read_file", description="Read a text file of the workspace.", arguments=ReadArguments
    ),
    EpisodeTool(
        name="write_file",
        description="Write a file of the workspace; its folders are created.",
        arguments=WriteArguments,
    ),
    EpisodeTool(
        name="execute_tests", description=RUN_TESTS_DESCRIPTION, arguments=ExecuteArguments
    ),
)
"""The tools of an episode."""


class Episode:
    """One agent's work at a task. `open` it, `call` its tools, `score` it, and `close` it.

    A sandbox that is lost meanwhile raises nothing: the tools say so, and the verdict has no
    reward.
    """

    def __init__(self, judge: Judge, task: Task | Path | str) -> None:
        """An episode that is not open yet.

        Args:
            judge: An open judge.
            task: A loaded task with one step, or the path of its folder.
        """
        self._judge = judge
        self._task = task
        self._opened = AsyncExitStack()
        self._session: AsyncSession | None = None
        self._failure = ""
        self._verdict: JudgeVerdict | None = None

    @property
    def prompt(self) -> str:
        """The task for a model: the instruction, the workspace and the test command."""
        if self._session is None or not self._session.is_ready:
            return "The task has no sandbox. Stop here."
        problem = self._session.problem
        return _PROMPT.format(
            instruction=problem.instruction.rstrip(),
            workspace=self._session.workspace,
            test_command=problem.test_command,
        )

    async def open(self) -> None:
        """Prepare the task, and open its sandbox.

        Raises:
            InputError: the task is wrong.
            UsageError: the judge is closed, or the task has several steps.
        """
        try:
            self._session = await self._opened.enter_async_context(self._judge.session(self._task))
        # A lost engine says nothing about the model: the verdict has no reward, and nothing is
        # raised.
        except (OutageError, StorageError, SandboxError) as error:
            self._failure = str(error)

    async def call(self, name: str, arguments: Mapping[str, object] | str) -> str:
        """Call a tool; a wrong call gets an answer that says what is wrong.

        Args:
            name: The name of one of EPISODE_TOOLS.
            arguments: Its arguments, also as the text of a JSON object.
        """
        tool = next((each for each in EPISODE_TOOLS if each.name == name), None)
        if tool is None:
            known = ", ".join(each.name for each in EPISODE_TOOLS)
            return f"error: there is no tool {escaped_name(name)}; known: {known}"
        try:
            given = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
            if not isinstance(given, Mapping):
                return "error: arguments: expected a JSON object"
            checked = read_arguments(tool.arguments, given)
            return await self._answer(checked, given)
        except InvalidArgumentsError as error:
            return escape_control(f"error: invalid arguments: {'; '.join(error.faults)}")
        except (ValueError, RecursionError) as error:
            return escape_control(f"error: arguments: expected a JSON object: {error}")
        except SandboxError as error:
            return escape_control(f"error: {error}")

    async def score(self) -> JudgeVerdict:
        """End the agent's work, and judge what is left; a second call gives the same verdict.

        Raises:
            StorageError: the record cannot be written.
        """
        if self._verdict is None:
            if self._session is None:
                task = self._task
                self._verdict = JudgeVerdict.without_result(
                    task_id=task.id if isinstance(task, Task) else TaskId(Path(task).name),
                    task_digest="",
                    change_digest="",
                    detail=self._failure or "the episode was not opened",
                )
            else:
                self._verdict = await self._session.score()
        return self._verdict

    async def close(self) -> None:
        """Remove the sandbox; work that was not scored is recorded as interrupted."""
        await self._opened.aclose()

    async def _answer(self, checked: ToolArguments, given: Mapping[str, object]) -> str:
        session = self._session
        if session is None:
            raise SandboxError(self._failure or "the episode was not opened")
        match checked:
            case RunArguments():
                result = await session.run(checked.command, timeout=checked.timeout_s)
                is_exit = result.ending is Ending.EXITED
                ending = f"exit code {result.exit_code}" if is_exit else result.ending.value
                output = terminal_text(result.stdout + result.stderr).rstrip("\n")
                return f"[{ending}]\n{cut_middle(output, MAX_OUTPUT_LENGTH)}"
            case ReadArguments():
                text = (await session.read(checked.path)).decode("utf-8", "replace")
                return cut_middle(escape_control(text), _MAX_FILE_LENGTH)
            case WriteArguments():
                await session.write(checked.path, checked.content)
                return "written"
            case _:
                return as_text(await session.execute_tests(**given))


def verdict_line(verdict: JudgeVerdict) -> str:
    """The verdict in one line: `RESOLVED`, or the reason and its detail."""
    if verdict.reason is None:
        return "RESOLVED"
    return f"{verdict.reason}: {verdict.detail}" if verdict.detail else str(verdict.reason)
