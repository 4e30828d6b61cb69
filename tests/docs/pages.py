"""The documents of the project, and the commands in them."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTENSIONS = ROOT / "src" / "agentbench" / "extensions"
PAGES = (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?P<kind>sh|console)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT = re.compile(r"(?:^|\s+)#\s.*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellBlock:
    """A block of shell commands in a page."""

    page: str
    number: int
    mark: str
    """What a comment before the block says of its test; empty without such a comment."""
    kind: str
    """`sh`: commands alone; `console`: commands after `$ `, and what they printed."""
    text: str

    @property
    def commands(self) -> tuple[str, ...]:
        """The command lines, without comments."""
        lines = self.text.splitlines()
        if self.kind == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return tuple(line for line in (_COMMENT.sub("", each) for each in lines) if line)


def shell_blocks(page: Path) -> list[ShellBlock]:
    """All blocks of shell commands of a page."""
    return [
        ShellBlock(
            page=str(page.relative_to(ROOT)),
            number=number,
            mark=found["mark"] or "",
            kind=found["kind"],
            text=found["text"],
        )
        for number, found in enumerate(_BLOCK.finditer(page.read_text("utf-8")), 1)
    ]


def walkthrough(page: str) -> list[str]:
    """The blocks of a page that `test_walkthrough.py` plays, as they stand.

    Raises:
        AssertionError: there is none.
    """
    mark = "tested by tests/docs/test_walkthrough.py"
    found = [block.text for block in shell_blocks(ROOT / page) if block.mark == mark]
    assert found, f"{page}: no block with the mark {mark!r}"
    return found


@cache
def deleted_commands() -> tuple[list[str], ...]:
    """The commands of extensions that are not there, by the table in docs/architecture.md."""
    table = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("\n## Extensions")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    assert rows
    missing = [adds for name, adds in rows if not (EXTENSIONS / name).is_dir()]
    found = (re.findall(r"`(agentbench [^.`]*)`", adds) for adds in missing)
    return tuple(command.split() for commands in found for command in commands)


def is_deleted(line: str) -> bool:
    """Whether a command line is one of an extension that is not there."""
    words = line.split()
    return any(
        words[:2] == command[:2] and set(command) <= set(words) for command in deleted_commands()
    )
