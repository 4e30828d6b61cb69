import sys
from pathlib import Path

from agentbench.tasks.test_command import TestCommand
from agentbench.test_runs.python_runners import reporter_mounts
from agentbench.test_tools.project import sandbox_project
from tests.fakes.local_sandbox import LocalSandbox


def test_a_sandbox_that_is_open_stays_open_from_call_to_call(tmp_path):
    sandbox = LocalSandbox(tmp_path / "sandbox", Path(sys.executable), reporter_mounts())
    project = sandbox_project(sandbox, TestCommand(as_module=True), env={"A": "b"}, isolated=True)
    for _ in range(2):
        with project.open() as opened:
            assert opened is sandbox
    assert (project.root, project.env, project.runs_at_once) == (sandbox.workspace, {"A": "b"}, 1)
    assert project.mask.text(f"{sandbox.workspace}/a.py {sandbox.results}/x") == "a.py <host>"
