"""Every command line of README and docs is run by a test, or says what it needs.

A comment before its block says which. "played": this file runs the lines one by one, in a folder
with the tasks and runs that they name. "tested by FILE": that test runs these commands on tasks and
data of its own. "needs …": nothing here can run them.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentbench.core.file_locks import FileLock
from agentbench.core.host import default_cache_dir
from tests.docs.pages import PAGES, ROOT, ShellBlock, is_deleted, shell_blocks
from tests.e2e.small_task import SmallTask
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.full

BLOCKS = [block for page in PAGES for block in shell_blocks(page)]
PLAYED = [
    block
    for block in BLOCKS
    if block.mark.startswith("played") and not any(map(is_deleted, block.commands))
]
LONG = ("README.md-3", "docs/audit.md-2", "docs/audit.md-5")
"""Blocks for the soak: the gate runs the shipped tasks and finds wrong fixes in other tests."""
_NEEDS = re.compile(r"needs (a key|another program)")
_TESTED = re.compile(r"tested by (tests/[\w/]+\.py)(?:, (tests/[\w/]+\.py))*")
_PLAYED = re.compile(r"played(?:, exits with (?P<code>\d+))?")
_SERVERS = ("agentbench view", "agentbench mcp", "agentbench serve")
_SCRIPTS = ("fix.sh", "agent.sh", "agent/run.sh")
"""Agents that a reader has."""


def _name(block: ShellBlock) -> str:
    return f"{block.page}-{block.number}"


@pytest.mark.parametrize("block", BLOCKS, ids=_name)
def test_each_block_says_how_it_is_tested(block):
    form = _NEEDS.fullmatch(block.mark) or _PLAYED.fullmatch(block.mark)
    tested = _TESTED.fullmatch(block.mark)
    assert form or tested, f"{_name(block)}: {block.mark!r}"
    for file in re.findall(r"tests/[\w/]+\.py", block.mark):
        folder = re.match(r"tests/extensions/\w+", file)
        is_deleted_test = folder is not None and not (ROOT / folder[0]).exists()
        assert (ROOT / file).is_file() or is_deleted_test, file


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_stand_only_in_blocks_that_say_so(page):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    others = [text for kind, text in blocks if kind not in {"sh", "console", "yaml"}]
    found = re.findall(r"^(?:\$ )?(?:agentbench|pip|make|ray) .*", "\n".join(others), re.MULTILINE)
    assert found == []


def test_only_models_need_a_key():
    lines = [line for block in BLOCKS if block.mark == "needs a key" for line in block.commands]
    assert lines
    asking = ("--model ", "--replay ", "pip install ", "export ")
    assert [line for line in lines if not any(each in line for each in asking)] == []


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tasks and the runs that the pages name, a copy for each worker."""
    own = tmp_path_factory.mktemp("desk")
    base = tmp_path_factory.getbasetemp()
    template = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "desk-template"
    with FileLock(template.with_suffix(".lock")):
        if not template.exists():
            _prepare_desk(own)
            shutil.copytree(own, template, symlinks=True)
            return own
    shutil.copytree(template, own, symlinks=True, dirs_exist_ok=True)
    return own


def _prepare_desk(folder: Path) -> None:
    for name in _SCRIPTS:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text('#!/bin/sh\necho "$@" > notes.txt\n')
        (folder / name).chmod(0o755)
    (folder / "tasks").mkdir()
    shutil.copytree(ROOT / "tasks" / "lru-expiry", folder / "tasks" / "lru-expiry")
    (folder / "small").mkdir()
    shutil.move(SmallTask().write(folder / "small"), folder / "tasks" / "my-bug")
    for agent, run, *copies in (
        ("oracle", "main", "aider", "20260102T120000-k3x9"),
        ("noop", "claude", "codex"),
    ):
        _shell(f"agentbench run tasks/my-bug --agent {agent} --run-id {run} --quiet", folder)
        for copy in copies:
            shutil.copytree(folder / "runs" / run, folder / "runs" / copy, symlinks=True)
    shutil.copytree(folder / "runs", folder / "results")


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=_name(block), marks=pytest.mark.soak if _name(block) in LONG else ())
        for block in PLAYED
    ],
)
def test_the_commands_of_a_block_work(desk, block):
    form = _PLAYED.fullmatch(block.mark)
    assert form is not None
    for line in block.commands:
        if line.startswith("pip install "):
            continue  # tests/e2e/test_installing.py runs these
        if line.startswith(_SERVERS):
            _serve(line, desk)
        else:
            _shell(line, desk, code=int(form["code"] or 0))


def _examples() -> list[str]:
    """The examples in the help of all commands."""
    source = ROOT / "src/agentbench"
    files = [*source.glob("cli/**/*.py"), *source.glob("extensions/*/command.py")]
    texts = [path.read_text("utf-8") for path in files]
    found = (re.findall(r"Example: (agentbench [^\n\"]+?)(?:\\n|\"|\n|$)", text) for text in texts)
    return sorted({line for lines in found for line in lines if not is_deleted(line)})


_OUTSIDE = (
    "tasks import", "tasks new", "tasks mine", "gateway", "agents test", "images build", "export",
)  # fmt: skip
"""Commands whose examples need a network, a key, a conversation or somebody else's files."""


@pytest.fixture(scope="module")
def example_desk(desk: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tasks and the runs that the examples name; its last run has all tasks."""
    folder = tmp_path_factory.mktemp("examples") / "desk"
    shutil.copytree(desk, folder, symlinks=True)
    with (folder / "tasks" / "my-bug" / "task.toml").open("r+") as file:
        text = file.read()
        file.seek(0)
        file.write(text.replace("title =", 'tags = ["easy"]\ntitle =', 1))
    for agent, run in (("noop", "other"), ("oracle", "mine")):
        _shell(f"agentbench run tasks/ --agent {agent} --run-id {run} --quiet", folder)
    return folder


def test_commands_have_examples():
    assert len(_examples()) > 20


@pytest.mark.parametrize("line", [each for each in _examples() if not any(
    f"agentbench {name}" in each for name in _OUTSIDE
)])  # fmt: skip
def test_the_example_in_a_commands_help_works(example_desk, tmp_path, line):
    folder = tmp_path / "desk"
    shutil.copytree(example_desk, folder, symlinks=True)
    if " init " in line:
        made = next(word for word in line.split() if word.startswith("tasks/"))
        shutil.rmtree(folder / made)
    if line.startswith(_SERVERS):
        _serve(line, folder)
    else:
        _shell(line, folder)


def _env(folder: Path) -> Mapping[str, str]:
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "BROWSER": "true",  # for --open
        "XDG_CONFIG_HOME": str(folder),
        "HOME": str(folder),  # for ~/ in an example; the cache stays
        "AGENTBENCH_CACHE": str(default_cache_dir()),
    }


def _shell(line: str, folder: Path, *, code: int = 0) -> None:
    ended = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=_env(folder), stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=10 * HANG_SECONDS, check=False,
    )  # fmt: skip
    assert ended.returncode == code, f"{line}\n{ended.stdout}"


def _serve(line: str, folder: Path) -> None:
    """Start a server, wait until it says where it is, and end it as a user does."""
    is_stdio = line.startswith("agentbench mcp") and "--transport http" not in line
    if is_stdio:
        _shell(line, folder)  # it ends with its input
        return
    if "--port" not in line:
        line = f"{line} --port 0"  # the usual one may be taken
    with subprocess.Popen(
        ["sh", "-c", f"exec {line}"], cwd=folder, env=_env(folder), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        try:
            said = _until(server, b"http://")
            assert b"http://" in said, said
            server.send_signal(signal.SIGINT)
            server.wait(HANG_SECONDS)
        finally:
            server.kill()
    assert server.returncode in {0, 130}, said


def _until(server: subprocess.Popen[bytes], wanted: bytes) -> bytes:
    """What a server says up to some text, or to its end."""
    assert server.stderr is not None
    said = b""
    deadline = time.monotonic() + 2 * HANG_SECONDS
    while wanted not in said and time.monotonic() < deadline:
        if select.select([server.stderr], [], [], 1)[0]:
            chunk = os.read(server.stderr.fileno(), 4096)
            if not chunk:
                break
            said += chunk
    return said
