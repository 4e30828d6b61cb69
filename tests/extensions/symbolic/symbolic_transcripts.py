"""Real calls of the symbolic tools for docs/mcp.md.

Run: python -m tests.extensions.symbolic.symbolic_transcripts
"""

import json
import sys
import tempfile

from tests.extensions.symbolic.symbolic_rows import ROWS
from tests.mcp.connection import command_for, over_stdio
from tests.mcp.transcripts import PAGE

BEGIN, END = "<!-- symbolic transcripts: begin -->", "<!-- symbolic transcripts: end -->"


def main():
    """Call what every row that is shown calls, and write the page anew."""
    with tempfile.TemporaryDirectory() as root, over_stdio(command_for(root)) as session:
        shown = [transcript(row, session) for row in shown_rows()]
    text = PAGE.read_text()
    head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n\n{''.join(shown)}{END}{tail}")
    sys.stdout.write(f"{len(shown)} transcripts in {PAGE.name}\n")


def shown_rows():
    """A call of each tool that finds something."""
    names = ("counterexample", "found", "different", "complete", "healthy")
    return [next(row for row in ROWS if row.name == name) for name in names]


def transcript(row, session):
    """One call and its whole answer, with a line for each field."""
    answer = session.call(row.tool, row.call).structured_content
    call = {"name": row.tool, "arguments": row.call}
    fields = ",\n".join(f" {json.dumps(name)}: {_value(value)}" for name, value in answer.items())
    return (
        f"#### {row.tool}: {row.name}\n\n```json\n{json.dumps(call)}\n```\n"
        f"```json\n{{\n{fields}\n}}\n```\n\n"
    )


def _value(value):
    """One line, but for lists of objects: a line each."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        lines = ",\n".join(f"  {json.dumps(item, ensure_ascii=False)}" for item in value)
        return f"[\n{lines}\n ]"
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
