"""Without an extension's folder, everything outside it works."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTENSIONS = sorted(
    path.parent.name for path in (ROOT / "src/agentbench/extensions").glob("*/__init__.py")
)
OWNERS = (
    "agents/test_registry.py", "cli/e2e/test_lazy_commands.py", "cli/tasks/test_commands.py",
    "cli/test_agents.py", "cli/test_report.py", "core/test_extensions.py", "docs/test_pages.py",
    "mcp/e2e/test_catalogue.py", "python_source/test_python_syntax.py",
    "runs/executors/test_local.py", "test_init.py", "test_planted_faults.py", "test_tiers.py",
)  # fmt: skip
"""Tests of the tables that extensions add rows to, and of what lists all files."""


def run_without(names: list[str], folder: Path, *tests: str) -> None:
    """Run tests, in a copy of the tree without some extensions; they must pass."""
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    gone = tuple(
        f"{top}/extensions/{name}/" for name in names for top in ("src/agentbench", "tests")
    )
    for file in files.splitlines():
        if not file.startswith(gone) and (ROOT / file).is_file():
            target = folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, target)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    env = {**os.environ, "PYTHONPATH": f"{folder}/src:{folder}"}
    argv = [sys.executable, "-m", "tests.run", "quick", *(f"tests/{name}" for name in tests)]
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_without_all_of_them_the_owners_of_their_tables_work(tmp_path: Path) -> None:
    run_without(EXTENSIONS, tmp_path, *OWNERS)


@pytest.mark.soak
@pytest.mark.parametrize("name", EXTENSIONS)
def test_without_one_of_them_all_quick_tests_pass(tmp_path: Path, name: str) -> None:
    run_without([name], tmp_path)
