"""The pictures of docs/tutorial.md: what a terminal shows after each of its commands.

python -m tests.docs.tutorial_pictures plays the page in a temporary folder, in bubblewrap,
and writes docs/pictures/tutorial_*.svg.
"""

import os
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from tests.docs.pages import ROOT, walkthrough

PICTURES = ROOT / "docs" / "pictures"
SHOWN = {
    "agentbench validate": "validate",
    "agentbench run mine/ --run-id hasty": "run",
    "agentbench show": "show",
    "agentbench compare": "compare",
}
"""The commands that have a picture, by how they begin, and its name."""
_COLUMNS = 100
_LINES = 20  # of an output
# rich's own pages load a font from another host; this one takes the reader's.
_SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="6" fill="#0c0c0c"/>
<g transform="translate({terminal_x}, {terminal_y})">{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


def picture_of(command: str, output: str) -> str:
    """A terminal with a command and its output, as SVG."""
    console = Console(
        file=StringIO(), record=True, width=_COLUMNS, force_terminal=True, legacy_windows=False
    )
    lines = output.rstrip().splitlines()
    shown = "\n".join([*lines[:_LINES], *(["…"] if len(lines) > _LINES else [])])
    console.print(Text.from_ansi(f"\x1b[1m$ {command}\x1b[0m\n{shown}"))
    return console.export_svg(title="", theme=MONOKAI, code_format=_SVG, unique_id="terminal")


def main() -> None:
    """Play the page and write its pictures."""
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": str(_COLUMNS),
        "FORCE_COLOR": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "agentbench.toml").write_text('sandbox = "bubblewrap"\n', "utf-8")
        for block in walkthrough("docs/tutorial.md"):
            commands = block.splitlines() if block.startswith("agentbench ") else [block]
            for command in commands:
                done = subprocess.run(
                    ["sh", "-e", "-c", command], cwd=folder, env=environ, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                )  # fmt: skip
                if done.returncode != 0:
                    sys.exit(done.stdout)
                for beginning, name in SHOWN.items():
                    if command.startswith(beginning):
                        svg = picture_of(command, done.stdout)
                        (PICTURES / f"tutorial_{name}.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
