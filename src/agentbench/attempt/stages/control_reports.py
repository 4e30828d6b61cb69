"""The reports of control runs, as files of the attempt."""

from agentbench.attempt.context import PreparedContext
from agentbench.pytest_results.execution import PytestRun

_OUTPUT_CHARACTERS = 4_096  # of a control run, which prints nearly the same as the final test


def save_control_report(context: PreparedContext, name: str, run: PytestRun) -> None:
    """Store the report of a control run, without parts that the final test's report has, too."""
    output = run.result.text_output[-_OUTPUT_CHARACTERS:]
    report = run.result.model_copy(update={"text_output": output, "json_report": {}})
    context.save(name, report.model_dump_json(indent=1).encode())
