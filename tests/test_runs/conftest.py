import pytest

from agentbench.test_runs.python_runners import reporter_mounts
from tests.fakes.local_sandbox import LocalSandbox
from tests.test_runs.interpreters import interpreter


@pytest.fixture
def open_sandbox(tmp_path):
    """Makes a sandbox that holds files and runs an interpreter with the named packages."""
    created = []

    def open_(files, *requirements, python="3.11"):
        root = tmp_path / f"sandbox-{len(created)}"
        sandbox = LocalSandbox(root, interpreter(*requirements, python=python), reporter_mounts())
        created.append(sandbox)
        for name, content in files.items():
            path = root / "workspace" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return sandbox

    return open_
