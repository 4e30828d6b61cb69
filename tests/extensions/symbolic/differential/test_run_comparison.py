import shutil
import subprocess
import sys

import pytest

from agentbench.core.extras import install_command
from tests.audit.conftest import make_run
from tests.e2e.small_task import BUGGY
from tests.extensions.symbolic.differential.test_differential_audit import (
    LISTED,
    ONE_PRICE,
    PARTIAL,
)

WEAK = {"hidden": {"tests/test_hidden.py": ONE_PRICE}, "listed": LISTED}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("wrong"), files={"basket.py": PARTIAL}, **WEAK)


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("failed"), files={"basket.py": BUGGY + "\n"}, **WEAK)


def test_wrong_fix_is_a_warning(cli, wrong):
    result = cli("audit", wrong, "--wrong-fixes", "--seconds", 60, "--fail-on", "warning")
    assert result.code == 1
    assert "attempt small 1: resolved\n" in result.stdout
    assert "basket.py::total: differs from the reference on total([" in result.stdout
    assert "one: comparing 1 resolved attempt in " in result.stderr
    assert cli("audit", wrong, "--fail-on", "warning").stdout.count("differs-from") == 0


def test_run_without_resolved_attempts_compares_nothing(cli, failed):
    result = cli("audit", failed, "--wrong-fixes")
    assert result.code == 0
    assert "one: no attempt was resolved, so there is nothing to compare\n" in result.stderr


def test_attempts_outside_the_glob_are_not_compared(cli, wrong):
    result = cli("audit", wrong, "--wrong-fixes", "--filter", "other*")
    assert "there is nothing to compare" in result.stderr


def test_task_folder_has_no_attempts_to_compare(cli, wrong):
    result = cli("audit", wrong.parent.parent / "small", "--wrong-fixes")
    assert result.code == 2
    assert result.stderr.endswith("expected a run, found none\n")


def test_missing_sandbox_is_one_line(program, wrong):
    result = program("audit", wrong, "--wrong-fixes", "--sandbox", "docker")
    assert result.code == 69
    assert len(result.stderr.splitlines()) == 1


def test_attempt_of_a_changed_task_is_not_compared(cli, wrong, tmp_path):
    shutil.copytree(wrong.parent.parent, tmp_path / "copy")
    run = tmp_path / "copy" / "runs" / "one"
    instruction = wrong.parent.parent / "small" / "instruction.md"
    before = instruction.read_text()
    instruction.write_text(before + "More.\n")
    try:
        result = cli("audit", run, "--wrong-fixes")
    finally:
        instruction.write_text(before)
    assert "the task has changed since; its fix may be different" in result.stdout


def test_missing_extra_names_what_to_install(wrong):
    hidden = "import sys; sys.modules['crosshair'] = None"
    result = subprocess.run(
        [sys.executable, "-c", f"{hidden}; from agentbench.__main__ import program; program()",
         "audit", wrong, "--wrong-fixes"],
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "agentbench: audit --wrong-fixes needs crosshair, found none: "
        + install_command("symbolic")
    ]
