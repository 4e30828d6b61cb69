"""What `explain_failure` takes, beside the tools on tests."""

from typing import Literal, Self

from pydantic import Field, model_validator

from agentbench.pytest_results.tool_calls.arguments import Arguments
from agentbench.scoring.stage_name import StageName
from agentbench.scoring.taxonomy import FailureReason


class ExplainArguments(Arguments):
    """What `explain_failure` takes."""

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
