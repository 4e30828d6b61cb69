"""The documents of the project, and the commands in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shell_blocks(page: str, heading: str) -> list[str]:
    """The blocks of shell commands below a heading of a page, up to the next such heading.

    Raises:
        AssertionError: there is no such heading, or no block below it.
    """
    text = (ROOT / page).read_text("utf-8")
    _, found, rest = text.partition(f"\n## {heading}\n")
    blocks = _BLOCK.findall(rest.partition("\n## ")[0])
    assert found, f"{page}: no heading {heading!r}"
    assert blocks, f"{page}: no commands below {heading!r}"
    return blocks
