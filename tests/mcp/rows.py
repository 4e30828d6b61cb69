"""The outcome table of docs/mcp.md: a small suite for each row, and what it has to be told as."""

from dataclasses import dataclass, field

DYING = "import os, signal\ndef test_a(): pass\ndef test_b(): {}\ndef test_c(): pass\n"


@dataclass(frozen=True)
class Row:
    """One row: what is called, and what comes back."""

    name: str
    outcome: str
    arguments: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)  # in a folder of the row's name
    error_type: str | None = None
    code: int | None = None
    message: str = ""  # a part of it
    tests: dict = field(default_factory=dict)  # name -> outcome, of every test that began
    limits: tuple = ()  # of time to give it, until its tests have come as far as they are to
    tool: str = "execute_tests"
    misfit: bool = False  # served by the server that lacks pytest and has a bug

    @property
    def call(self):
        """Its arguments; by default its folder."""
        return self.arguments or {"paths": [self.name]}

    @property
    def messages(self):
        """What the answer may say: one of these for each limit that it may have been given."""
        return [self.message.replace("{seconds}", str(limit)) for limit in self.limits or (0,)]


ROWS = [
    Row(
        name="timeout",
        outcome="timeout",
        arguments={"paths": ["timeout"], "timeout_s": 8},
        limits=(8, 60),
        files={"test_timeout.py": DYING.format("import time; time.sleep(600)")},
        error_type="TimeoutError",
        code=-32000,
        message="pytest execution exceeded timeout of {seconds} seconds",
        tests={"test_a": "passed", "test_b": "unfinished"},
    ),
    Row(
        name="passed",
        outcome="passed",
        files={"test_passed.py": "def test_a(): pass\n"},
        message="1 passed in",
        tests={"test_a": "passed"},
    ),
    Row(
        name="failed",
        outcome="failed",
        files={"test_failed.py": "def test_a(): pass\ndef test_b(): assert 1 == 2\n"},
        message="1 failed, 1 passed in",
        tests={"test_a": "passed", "test_b": "failed"},
    ),
    Row(
        name="empty",
        outcome="no_tests",
        files={"test_empty.py": "value = 1\n"},
        message="no tests in",
    ),
    Row(
        name="broken",
        outcome="collection_error",
        files={"test_broken.py": "import there_is_no_such_module\n"},
        message="1 error in",
    ),
    Row(
        name="interrupted",
        outcome="interrupted",
        files={"test_interrupted.py": DYING.format("raise KeyboardInterrupt")},
        error_type="RuntimeError",
        code=-32000,
        message="Test execution was interrupted",
        tests={"test_a": "passed", "test_b": "unfinished"},
    ),
    Row(
        name="internal",
        outcome="pytest_internal",
        files={
            "test_internal.py": "def test_a(): pass\n",
            "conftest.py": "def pytest_runtestloop(): raise RuntimeError('broken plugin')\n",
        },
        error_type="RuntimeError",
        code=-32000,
        message="pytest internal error occurred: ",
    ),
    Row(
        name="usage",
        outcome="usage",
        arguments={"node_ids": ["passed/test_passed.py::test_nowhere"]},
        error_type="ValueError",
        code=-32602,
        message="Invalid pytest arguments: not found: passed/test_passed.py::test_nowhere",
    ),
    Row(
        name="crash",
        outcome="crash",
        files={"test_crash.py": DYING.format("os.kill(os.getpid(), signal.SIGKILL)")},
        error_type="RuntimeError",
        code=-32000,
        message="pytest subprocess terminated with signal SIGKILL",
        tests={"test_a": "passed", "test_b": "unfinished"},
    ),
    Row(
        name="unverified",
        outcome="unverified",
        files={"test_unverified.py": DYING.format("os._exit(0)")},
        error_type="RuntimeError",
        code=-32000,
        message="it exited 0, but no report confirms that",
        tests={"test_a": "passed", "test_b": "unfinished"},
    ),
    Row(
        name="spawn",
        outcome="spawn",
        arguments={"keyword": "anything"},
        error_type="RuntimeError",
        code=-32000,
        message="Failed to spawn pytest subprocess: no interpreter with pytest. Tried, in this "
        "order: 1. --python (<host>): ModuleNotFoundError: No module named 'pytest'",
        misfit=True,
    ),
    Row(
        name="arguments",
        outcome="invalid_arguments",
        arguments={"timeout_s": "soon", "max_failures": 0, "bogus": 1},
        error_type="ValueError",
        code=-32602,
        message="invalid arguments: max_failures: Input should be greater than or equal to 1; "
        "timeout_s: Input should be a valid integer; bogus: Extra inputs are not permitted",
    ),
    Row(
        name="outside",
        outcome="path_outside_root",
        arguments={"paths": ["passed", "link/passwd"]},
        error_type="ValidationError",
        code=-32602,
        message="paths[1]: leads out of the project's root",
    ),
    Row(
        name="bug",
        outcome="internal_error",
        arguments={"paths": ["passed"]},
        error_type="RuntimeError",
        code=-32603,
        message="Internal server error",
        misfit=True,
    ),
    Row(
        name="discovered",
        outcome="discovered",
        arguments={"paths": ["failed"]},
        tool="discover_tests",
        message="2 tests",
    ),
    Row(
        name="undiscovered",
        outcome="collection_error",
        arguments={"paths": ["broken"]},
        tool="discover_tests",
        message="1 error in",
    ),
    Row(
        name="explained",
        outcome="explained",
        arguments={"reason": "TESTS_FAILED"},
        tool="explain_failure",
        message="TESTS_FAILED: Tests fail after agent",
    ),
]
"""Unknown tools and malformed requests, which are the protocol's own, are in test_server.py."""


def lay_out(root):
    """Write every row's suite below a folder, and a link that leads out of it."""
    for row in ROWS:
        for name, content in row.files.items():
            path = root / row.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    (root / "link").symlink_to("/etc")
    return root
