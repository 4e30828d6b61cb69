import os
import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest
import typer

import agentbench.cli
from agentbench.cli.app import SHORT_HELP, command_named
from tests.patience import HANG_SECONDS

_WIDTH = 80 - 2 - len("validate") - 2


@pytest.mark.parametrize("name", SHORT_HELP)
def test_every_command_that_is_named_is_there(name):
    assert callable(command_named(name))


def test_every_command_that_is_there_is_named():
    for module in iter_modules(agentbench.cli.__path__):
        found = getattr(import_module(f"agentbench.cli.{module.name}"), module.name, None)
        shows_its_use = "Example: agentbench" in (getattr(found, "__doc__", "") or "")
        if module.name != "app" and (isinstance(found, typer.Typer) or shows_its_use):
            assert module.name in SHORT_HELP or found in belongs_to_a_group()


def belongs_to_a_group():
    """The functions that are commands of `agentbench tasks`, or of a group in it."""
    from agentbench.cli.tasks.commands import exporting, importing, tasks

    return [
        each.callback
        for group in (tasks, importing, exporting)
        for each in group.registered_commands
    ]


@pytest.mark.parametrize("name", SHORT_HELP)
def test_a_line_of_help_fits_its_line(name, cli):
    line = SHORT_HELP[name]
    assert len(line) <= _WIDTH
    longest = max(map(len, SHORT_HELP))
    assert f"{name:<{longest}}  {line}" in cli("--help").stdout


def test_a_run_does_not_import_what_only_other_runs_use():
    code = "import sys, agentbench.runs.start; print(*sys.modules)"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    others = {
        "agentbench.agents.predictions", "agentbench.extensions.ray.remote_attempt",
        "agentbench.tasks.dataset_rows", "docker", "git", "packaging", "tomlkit",
    }  # fmt: skip
    assert not set(done.stdout.split()) & others


def test_a_command_that_is_misspelt_is_recognised(cli):
    assert "Did you mean 'validate'?" in cli("validat").stderr


HEAVY = {
    "asyncio", "anthropic", "docker", "git", "httpx", "httpx2", "huggingface_hub", "jinja2",
    "matplotlib", "mcp", "multiprocessing", "numpy", "openai", "pydantic", "ray", "rich", "scipy",
    "starlette", "statsmodels", "tomlkit", "uvicorn",
}  # fmt: skip


def imported(*arguments: str, **env: str) -> tuple[str, set[str]]:
    """What the program prints, and the modules that it has imported by its end."""
    program = (
        "import atexit, sys; sys.argv = ['agentbench', *sys.argv[1:]];"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
        "from agentbench.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.stdout, set(done.stderr.split())


def test_help_imports_nothing_that_is_heavy():
    result, modules = imported("--help")
    assert "rescore" in result
    assert "agentbench.cli.app" in modules
    assert not modules & HEAVY
    assert not {f"agentbench.cli.{name}" for name in SHORT_HELP} & modules


def test_completing_a_command_imports_no_command():
    result, modules = imported(
        _AGENTBENCH_COMPLETE="complete_bash", COMP_WORDS="agentbench re", COMP_CWORD="1"
    )
    assert result.split()[:3] == ["resume", "rescore", "report"]  # extensions add others
    assert not modules & (HEAVY - {"rich", "pydantic"})  # typer takes them
    assert not {f"agentbench.cli.{name}" for name in SHORT_HELP} & modules


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("agentbench run --agent cod", "codex"),
        ("agentbench explain SETUP_F", "SETUP_FAILED"),
        ("agentbench run --filter nothing-here", ""),
    ],
)
def test_completing_a_value_imports_nothing_that_only_the_work_needs(line, answer):
    word = str(len(line.split()) - 1)
    result, modules = imported(
        _AGENTBENCH_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=word
    )
    assert result.strip() == answer
    assert "agentbench.cli.completion" in modules
    assert not modules & (HEAVY - {"rich", "pydantic"})
    assert "agentbench.agents.registry" not in modules


@pytest.mark.parametrize("name", SHORT_HELP)
def test_help_of_a_command_imports_nothing_that_only_its_work_needs(name):
    result, modules = imported(name, "--help")
    assert f"agentbench {name}" in result
    assert not modules & (HEAVY - {"pydantic"})  # typer takes pydantic to make options


@pytest.mark.parametrize("name", ["agentbench.scoring", "agentbench"])
def test_an_import_of_the_library_is_light(name):
    program = f"import sys, {name}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert not set(done.stdout.split()) & HEAVY
