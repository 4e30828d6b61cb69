"""The documents say what is true: links lead somewhere, samples parse, commands exist."""

import ast
import re
import shlex
import tomllib
from pathlib import Path
from random import Random

import pytest
from typer.main import get_command

from agentbench.cli.app import app
from agentbench.integrity.sealing.seal import seal_file
from agentbench.tasks.task_file import parse_task_file
from tests.docs.pages import is_deleted

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "tasks" / "README.md"],
)
BLOCK = re.compile(r"^```(\w+)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
INLINE = re.compile(r"`(agentbench [a-z][^`]*)`")
TYPED = re.compile(r"^(?:\$ )?(agentbench [a-z][^#\n>]*)", re.MULTILINE)


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (f"{page.relative_to(ROOT)}-{number}", text)
        for page in PAGES
        for number, (kind, text) in enumerate(BLOCK.findall(page.read_text("utf-8")))
        if kind == language
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    missing = [
        to for to in LINK.findall(page.read_text("utf-8")) if not (page.parent / to).exists()
    ]
    assert not missing


@pytest.mark.parametrize(("name", "text"), blocks("python"))
def test_every_python_sample_parses(name: str, text: str) -> None:
    code = re.sub(r"^(>>>|\.\.\.) ?", "", text, flags=re.MULTILINE) if ">>>" in text else text
    assert name
    ast.parse(code if ">>>" not in text else "\n".join(_prompted(text)))


def _prompted(text: str) -> list[str]:
    return [line[4:] for line in text.splitlines() if line.startswith((">>> ", "... "))]


@pytest.mark.parametrize(("name", "text"), blocks("toml"))
def test_every_toml_sample_parses(name: str, text: str) -> None:
    assert name
    tomllib.loads(text)


def test_the_task_file_of_the_page_is_one() -> None:
    samples = [text for name, text in blocks("toml") if name.startswith("docs/task-format.md")]
    task_files = [text for text in samples if "schema_version" in text]
    assert task_files
    for text in task_files:
        assert parse_task_file(text, name="task.toml").title


def test_the_sealed_test_of_the_page_is_as_it_is_written() -> None:
    (before,) = [text for name, text in blocks("python") if "integrity.md" in name]
    (after,) = [text for name, text in blocks("text") if "integrity.md" in name]
    path = "tests/test_amounts.py"
    names = re.findall(r"^def (\w+)", before, re.MULTILINE)
    rows = [f"{path}::{names[0]}[{row}]" for row in ("1.5;2-expected0", "4;1.25-expected1")]
    sealed = seal_file(before, path, [*rows, f"{path}::{names[1]}"], Random(1))
    assert [function.unsealed for function in sealed.functions.values()] == [None, None]
    assert after.strip() == sealed.source.strip()


def commands() -> list[tuple[str, str]]:
    inline = [
        (str(page.relative_to(ROOT)), " ".join(found.split()))
        for page in PAGES
        if page.name != "CHANGELOG.md"
        for found in INLINE.findall(page.read_text("utf-8"))
    ]
    shells = [*blocks("sh"), *blocks("console")]
    return inline + [(name, found) for name, text in shells for found in TYPED.findall(text)]


@pytest.mark.parametrize(("page", "line"), commands())
def test_every_command_of_a_page_exists(page: str, line: str) -> None:
    words = _words(line.partition(" && ")[0].replace("…", "").rstrip("."))[1:]
    command = get_command(app)
    if is_deleted(line):
        return
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    assert not hasattr(command, "commands") or not words, f"{page}: {line}: no such command"
    known = {option for parameter in command.params for option in parameter.opts}
    used = {word.partition("=")[0] for word in words if re.match(r"^-{1,2}[a-z]", word)}
    assert used - {"--yes"} <= known | {"--help", "-h"}, f"{page}: {line}"


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quotation that goes on in the next line
        return shlex.split(line.replace("'", "").replace('"', ""))
