"""Prints the map of the code, docs/code_map.md: each folder's docstring, each module's first line.

python -m tests.docs.code_map > docs/code_map.md   # make docs
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "agentbench"

_HEAD = """\
# Map of the code

`make docs` writes this page from the docstrings. The layers and the way of an attempt are in
[architecture.md](architecture.md).
"""


def code_map(source: Path = SOURCE) -> str:
    """The page in Markdown: a section for each folder, a line for each module with a docstring."""
    return "\n".join([_HEAD, *_sections(source, source)])


def _sections(folder: Path, source: Path) -> Iterator[str]:
    title = f"{folder.relative_to(source.parent).as_posix()}/"
    modules = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    if modules:
        yield f"## {title}\n"
        if (folder / "__init__.py").exists():
            yield f"{_docstring(folder / '__init__.py')}\n"
        for path in modules:
            link = f"../src/{path.relative_to(source.parent).as_posix()}"
            yield f"- [{path.name}]({link}): {_docstring(path).partition(chr(10))[0]}"
        yield ""
    for below in sorted(path for path in folder.iterdir() if path.is_dir()):
        if below.name != "__pycache__":
            yield from _sections(below, source)


def _docstring(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert text, f"{path}: expected a docstring, which the map of the code is made of"
    return text


if __name__ == "__main__":
    sys.stdout.write(code_map())
