"""The launcher is run as a sandbox runs it: a process of its own, in a project's folder."""

import json
import shutil
import venv
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.execution import execute_tests
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_runs.runner import RunRequest
from agentbench.test_runs.runners import runner_of
from tests.fakes.local_sandbox import LocalSandbox
from tests.test_runs.interpreters import NEWEST, interpreter, requirements

TELLS = """
import json, os, sys
def test_tells():
    names = ("PYTHONPATH", "PYTHONHASHSEED", "PYTHONWARNINGS", "AGENTBENCH_WITHHELD_ENV")
    told = {
        "path": sys.path, "argv": sys.argv, "isolated": sys.flags.isolated,
        "hash": hash("agentbench"), "warnings": sys.warnoptions,
        "env": {name: os.environ.get(name) for name in names},
        "bytecode": sys.dont_write_bytecode,
    }
    with open("told.json", "w") as file:
        json.dump(told, file)
"""


@pytest.fixture
def run_in(open_sandbox):
    def run_in_(files, *, as_module=True, env=None, options=()):
        sandbox = open_sandbox(files, *requirements(NEWEST))
        options = ("-p", "no:cacheprovider", *options)
        command = TestCommand(as_module=as_module, options=options)
        request = RunRequest(
            runner=runner_of(command), timeout=timedelta(minutes=10), env=env or {}
        )
        return sandbox, execute_tests(sandbox, request).result

    return run_in_


def told_by(sandbox):
    return json.loads(Path(sandbox.workspace / "told.json").read_text())


def test_a_module_run_has_the_working_folder_first_on_its_path(run_in):
    sandbox, result = run_in({"test_m.py": TELLS})
    assert result.outcome == "passed"
    described = told_by(sandbox)
    assert str(sandbox.workspace) in described["path"]
    assert described["argv"][0].endswith("/pytest/__main__.py")
    assert described["bytecode"] is True


def test_a_plain_run_has_the_folder_of_scripts_in_its_place(run_in):
    sandbox, result = run_in({"tests/test_m.py": TELLS}, as_module=False)
    assert result.outcome == "passed"
    described = told_by(sandbox)
    assert described["argv"][0].endswith("/bin/pytest")
    assert any(entry.endswith("/bin") for entry in described["path"])
    assert str(sandbox.workspace) not in described["path"]


def test_environment_of_a_plain_run_is_restored(run_in):
    env = {"PYTHONPATH": "lib", "PYTHONHASHSEED": "7", "PYTHONWARNINGS": "ignore::ImportWarning"}
    hashes = set()
    for _ in range(2):
        sandbox, result = run_in({"test_m.py": TELLS, "lib/x.py": ""}, env=env)
        assert result.outcome == "passed"
        described = told_by(sandbox)
        hashes.add(described["hash"])
    assert len(hashes) == 1
    assert f"{sandbox.workspace}/lib" in described["path"]
    assert described["env"] == env | {"AGENTBENCH_WITHHELD_ENV": None}
    assert "ignore::ImportWarning" in described["warnings"]


@pytest.mark.parametrize("env", [{}, {"PYTHONHASHSEED": "1"}, {"PYTHONPATH": "."}])
def test_project_cannot_replace_pytest_or_the_reporters(run_in, env):
    files = {
        "test_m.py": "def test_a(): assert 0",
        **dict.fromkeys(
            [
                "pytest.py",
                "_pytest/__init__.py",
                "pluggy.py",
                "pytest_jsonreport/__init__.py",
                "agentbench_reporter.py",
                "json.py",
                "pathlib.py",
                "sitecustomize.py",
                "usercustomize.py",
            ],
            "import os; os._exit(0)",
        ),
    }
    _, result = run_in(files, env=env)
    assert result.outcome == "failed", result.text_output
    assert result.json_report["tests"][0]["outcome"] == "failed"


def test_project_pytest_runs_its_own_copy(tmp_path):
    venv.create(tmp_path / "venv", symlinks=True)
    sandbox = LocalSandbox(tmp_path, tmp_path / "venv/bin/python", reporter_mounts())
    (packages,) = interpreter(*requirements("7.4.4")).parent.parent.glob("lib/*/site-packages")
    shutil.copytree(packages, sandbox.workspace / "src")
    Path(sandbox.workspace / "test_m.py").write_text("def test_a(): pass")
    (site,) = (tmp_path / "venv").glob("lib/*/site-packages")
    (site / "editable.pth").write_text(str(sandbox.workspace / "src"))

    command = TestCommand(as_module=True, options=("-p", "no:cacheprovider"))
    request = RunRequest(
        runner=runner_of(command), timeout=timedelta(minutes=10), targets=("test_m.py",)
    )
    result = execute_tests(sandbox, request).result
    assert result.outcome == "passed", result.text_output
    assert result.versions.in_project


def test_closed_descriptors_and_forks_leave_the_stream_whole(run_in):
    closing = """
import os
def test_closes_everything():
    os.closerange(3, 256)
    for _ in range(20):
        os.open("/dev/null", os.O_RDONLY)
def test_forks():
    child = os.fork()
    if child == 0:
        return
    os.waitpid(child, 0)
"""
    _, result = run_in({"test_m.py": closing}, options=("-s",))
    assert [case.outcome for case in result.tests] == ["passed", "passed"]
    assert result.source == "stream"
    assert result.partial_facts.internals_changed == ()


@pytest.mark.parametrize("version", ["7.4.4", NEWEST])
def test_a_project_with_the_report_plugin_and_warnings_as_errors_runs(open_sandbox, version):
    files = {
        "test_m.py": "def test_a():\n    assert True\n",
        "pytest.ini": "[pytest]\nfilterwarnings = error\n",
    }
    sandbox = open_sandbox(files, f"pytest=={version}", "pytest-json-report==1.5.0")
    command = TestCommand(as_module=True, options=("-p", "no:cacheprovider"))
    request = RunRequest(runner=runner_of(command), timeout=timedelta(minutes=10), env={})
    result = execute_tests(sandbox, request).result
    assert result.outcome == "passed", result
