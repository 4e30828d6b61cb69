"""Real calls and answers for docs/mcp.md: python -m tests.mcp.transcripts writes them there."""

import json
import sys
import tempfile
from pathlib import Path

from tests.mcp.connection import command_for, misfit_command, over_stdio
from tests.mcp.rows import ROWS, lay_out
from tests.test_runs.interpreters import NEWEST, interpreter

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"
BEGIN, END = "<!-- transcripts: begin -->", "<!-- transcripts: end -->"
SHOWN = ("failed", "timeout", "invalid_arguments")
_CUT = 160  # characters shown of a long text


def main():
    """Call what every row of the outcome table calls, and write the page anew."""
    with tempfile.TemporaryDirectory() as scratch:
        root = lay_out(Path(scratch) / "project")
        fit = command_for(root, "--python", str(interpreter(f"pytest=={NEWEST}")))
        misfit = misfit_command(root, interpreter(), "structured", "stdio")
        with over_stdio(fit) as fit, over_stdio(misfit) as misfit:
            shown = [transcript(row, misfit if row.misfit else fit) for row in shown_rows()]
    text = PAGE.read_text()
    head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n\n{''.join(shown)}{END}{tail}")
    sys.stdout.write(f"{len(shown)} transcripts in {PAGE.name}\n")


def shown_rows():
    """The first row of each outcome on the page: one that agents act on, and two errors."""
    return [next(row for row in ROWS if row.outcome == outcome) for outcome in SHOWN]


def transcript(row, session):
    """One call and its answer, without what is empty, long texts cut."""
    answer = session.call(row.tool, row.call)
    told = short(answer.structured_content)
    call = {"name": row.tool, "arguments": row.call}
    return (
        f"#### {row.outcome}\n\n```json\n{json.dumps(call)}\n```\n"
        f"```json\n{json.dumps(told, indent=1, ensure_ascii=False)}\n```\n\n"
    )


def told_of(value):
    """Whether a field says anything here."""
    empty = isinstance(value, dict) and not any(value.values())
    return value not in (None, [], {}, "") and value is not False and not empty


def short(value, key=""):
    """A value as it is, but for what would fill pages."""
    if key == "json_report":
        return {"…": f"{len(json.dumps(value))} characters of pytest-json-report's own"}
    if isinstance(value, str):
        return value if len(value) <= _CUT else f"{value[:_CUT]}… ({len(value)} characters)"
    if isinstance(value, list):
        return [short(item) for item in value]
    if isinstance(value, dict):
        return {key: short(item, key) for key, item in value.items() if told_of(item)}
    return value


if __name__ == "__main__":
    main()
