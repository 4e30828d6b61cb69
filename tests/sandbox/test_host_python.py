import subprocess
from pathlib import Path

import pytest

from agentbench.sandbox.host_environment import host_python, install_pytest


def test_the_interpreter_is_outside_any_environment() -> None:
    python = host_python()
    ask = "import sys; print(sys.prefix == sys.base_prefix, sys.version.split()[0])"
    argv = (str(python.executable), "-I", "-c", ask)
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert said == f"True {python.full_version}\n"
    assert python.image_name == f"agentbench/python:{python.version}"


def test_pytest_and_a_missing_pip_are_installed_without_a_network(tmp_path: Path) -> None:
    python = host_python()
    make = (str(python.executable), "-I", "-m", "venv", "--without-pip", str(tmp_path))
    subprocess.run(make, check=True)
    made = install_pytest(tmp_path, sandbox_path=tmp_path)
    argv = (str(tmp_path / "bin" / "pytest"), "--version")
    said = subprocess.run(argv, capture_output=True, text=True, check=True, env={})
    assert said.stdout == f"pytest {pytest.__version__}\n"
    argv = (str(tmp_path / "bin" / "pip"), "--version")
    assert subprocess.run(argv, capture_output=True, check=True, env={}).stdout.startswith(b"pip ")
    installed = [path for path in tmp_path.rglob("*") if "_pytest" in path.parts]
    assert {path for path in installed if path.suffix == ".py"} <= set(made)
