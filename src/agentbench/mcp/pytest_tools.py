"""The three tools for tests: their arguments, their work, and their answers."""

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from agentbench.core.schema import JsonObject
from agentbench.errors import SandboxError
from agentbench.report.taxonomy_page import explain_exit_code, explain_reason
from agentbench.taxonomy import FailureReason, StageName
from agentbench.test_tools import arguments, envelope
from agentbench.test_tools.answers import answer_to_error, as_text, no_pytest
from agentbench.test_tools.project import CallControl, PytestProject, call_tests

if TYPE_CHECKING:
    from mcp.types import CallToolResult


class ExplainArguments(arguments.ToolArguments):
    """The arguments of `explain_failure`."""

    exit_code: int | None = Field(
        default=None,
        ge=-255,
        le=255,
        description="An exit code of a stage's command. This or reason.",
        examples=[137],
    )
    reason: Literal[tuple(FailureReason.__members__)] | None = Field(  # type: ignore[valid-type]  # the names of an enum, which strict mode would not take as text
        default=None,
        description="A reason of the failure taxonomy. This or exit_code.",
        examples=["TESTS_FAILED"],
    )
    stage: Literal[tuple(stage.value for stage in StageName)] | None = Field(  # type: ignore[valid-type]  # as above
        default=None,
        description="The stage that ended with the exit code. Default: each stage in turn.",
        examples=["setup"],
    )

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        if (self.exit_code is None) == (self.reason is None):
            raise ValueError("give exit_code or reason, and not both")
        if self.stage is not None and self.exit_code is None:
            raise ValueError("stage goes with exit_code")
        return self


def internal_error(incident: str) -> JsonObject:
    """The answer for a bug; its traceback is on stderr under the incident's name."""
    return answer_to_error("internal_error", "Internal server error", incident=incident)


def explanation_answer(text: str) -> JsonObject:
    """The answer of `explain_failure`."""
    return envelope.PytestAnswer(
        status="success", outcome="explained", message=text.partition("\n")[0], explanation=text
    ).model_dump(mode="json")


def call_result(answer: JsonObject) -> "CallToolResult":
    """An answer in the protocol's form."""
    from mcp.types import CallToolResult, TextContent

    text = TextContent(type="text", text=as_text(answer))
    return CallToolResult(content=[text], structured_content=answer, is_error=is_error(answer))


def is_error(answer: JsonObject) -> bool:
    """Whether an answer is an error by ADR-009."""
    return answer["status"] in ("error", "timeout")


class PytestTool(arguments.NamedTool):
    """The server's tools for tests."""

    EXECUTE = (
        "execute_tests",
        arguments.ExecuteArguments,
        envelope.PytestAnswer,
        "Run the project's tests: all, or those that paths or node_ids, keyword and markers "
        "select. last_failed repeats failures, max_failures and timeout_s end a run early, detail "
        "lifts the limit on size. Returns every test's outcome, with message and traceback of "
        "those that failed.",
    )
    DISCOVER = (
        "discover_tests",
        arguments.DiscoverArguments,
        envelope.PytestAnswer,
        "Collect the project's tests without running them, all or those that paths, keyword "
        "and markers select. Returns their ids, and the error of every file that cannot be "
        "collected.",
    )
    EXPLAIN = (
        "explain_failure",
        ExplainArguments,
        envelope.PytestAnswer,
        "Explain why a benchmark attempt failed, from a reason of the failure taxonomy, or from "
        "the exit_code that a stage ended with. Returns a text of a few lines.",
    )


def call_pytest_tool(
    project: PytestProject, tool_arguments: arguments.ToolArguments, watch: CallControl
) -> JsonObject:
    """Run a tool, and return its answer. It runs pytest, so it must not block an event loop.

    Raises:
        RunCancelled: it was cancelled; all its processes have ended.
    """
    match tool_arguments:
        case arguments.ExecuteArguments() | arguments.DiscoverArguments():
            try:
                return call_tests(project, tool_arguments, watch)
            except SandboxError as error:
                return no_pytest(str(error), project.mask)
        case ExplainArguments(reason=str() as reason):
            return explanation_answer(explain_reason(FailureReason(reason)))
        case ExplainArguments(exit_code=int() as code):
            return explanation_answer(explain_exit_code(code, tool_arguments.stage))
        case _:
            raise TypeError(f"unknown arguments: {type(tool_arguments).__name__}")
