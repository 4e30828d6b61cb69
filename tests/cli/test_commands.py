import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest
import typer

import agentbench.cli
from agentbench.cli.commands import SHORT_HELP

_WIDTH = 80 - 2 - len("validate") - 2


@pytest.mark.parametrize("name", SHORT_HELP)
def test_every_command_that_is_named_is_there(name):
    assert callable(getattr(import_module(f"agentbench.cli.{name}"), name))


def test_every_command_that_is_there_is_named():
    for module in iter_modules(agentbench.cli.__path__):
        found = getattr(import_module(f"agentbench.cli.{module.name}"), module.name, None)
        shows_its_use = "Example: agentbench" in (getattr(found, "__doc__", "") or "")
        if module.name != "app" and (isinstance(found, typer.Typer) or shows_its_use):
            assert module.name in SHORT_HELP


@pytest.mark.parametrize("name", SHORT_HELP)
def test_a_line_of_help_fits_its_line(name, cli):
    line = SHORT_HELP[name]
    assert len(line) <= _WIDTH
    assert f"{name:<8}  {line}" in cli("--help").stdout


def test_help_imports_no_command():
    code = (
        "import sys; from agentbench.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*(m for m in sys.modules if m.startswith('agentbench.cli.')), file=sys.stderr)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert set(said.stderr.split()) == {"agentbench.cli.app", "agentbench.cli.commands"}


def test_a_command_that_is_misspelt_is_recognised(cli):
    assert "Did you mean 'validate'?" in cli("validat").stderr
