"""Tests whose runner starts before the files of the project are there."""

import shutil
import venv
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from agentbench.errors import RunCancelled
from agentbench.pytest_results.execution import PytestRequest, reporter_mounts, started_tests
from agentbench.tasks.problem import PytestCommand, parse_pytest_command
from tests.fakes.local_sandbox import LocalSandbox
from tests.patience import wait_until
from tests.pytest_results.interpreters import NEWEST, find_python, interpreter, requirements
from tests.pytest_results.test_matrix import STACKS, stack_for

LIMIT = timedelta(minutes=10)
MODULE = PytestCommand(as_module=True, options=("-p", "no:cacheprovider", "-s"))
READS = """
import os, sys, unittest
import late
class Reads(unittest.TestCase):
    def test_reads(self):
        assert sys.stdin.read() == ""
        assert "AGENTBENCH_HAS_WAITED" not in os.environ
        assert late.VALUE == 2
"""
PROBE = """
import os, sys
sys.addaudithook(lambda event, given: event == "import" and given[0] == {name!r}
                 and open({marker!r}, "w").close())
"""


class Machine:
    """A sandbox with an environment of its own, which tells when a module is imported."""

    def __init__(self, folder, probed="pytest_jsonreport.serialize"):
        venv.create(folder / "venv", symlinks=True)
        self.sandbox = LocalSandbox(folder, folder / "venv/bin/python", reporter_mounts())
        self.workspace = Path(self.sandbox.workspace)
        (self.site,) = (folder / "venv").glob("lib/*/site-packages")
        (self.packages,) = interpreter(*requirements(NEWEST)).parent.parent.glob(
            "lib/*/site-packages"
        )
        self.marker = folder / "imported"
        (self.site / "probe.py").write_text(PROBE.format(name=probed, marker=str(self.marker)))
        (self.site / "probe.pth").write_text("import probe\n")

    @contextmanager
    def started(self, command=MODULE, *, early=True, **options):
        request = PytestRequest(command=command, timeout=LIMIT, **options)
        with started_tests(self.sandbox, request) as tests:
            if early:
                wait_until(self.marker.exists)
            yield tests

    @property
    def results(self):
        return list(Path(self.sandbox.results).iterdir())


@pytest.fixture
def machine(tmp_path):
    found = Machine(tmp_path)
    (found.site / "packages.pth").write_text(f"{found.packages}\n{found.workspace}\n")
    return found


def write(machine, **files):
    for name, content in files.items():
        (machine.workspace / f"{name}.py").write_text(content)


@pytest.mark.parametrize("env", [{}, {"PYTHONHASHSEED": "7", "PYTHONPATH": "."}])
def test_what_does_not_depend_on_the_project_is_imported_before_its_files_come(machine, env):
    with machine.started(env=env) as tests:
        assert machine.results == []
        write(machine, late="VALUE = 2", test_m=READS)
        run = tests.finish()
    assert run.result.outcome == "passed", run.result.text_output
    assert run.facts.passed == 1
    assert not run.result.versions.in_project


def test_unittest_waits_in_the_same_way(tmp_path):
    machine = Machine(tmp_path, probed="unittest")
    with machine.started(parse_pytest_command("python -m unittest"), targets=("test_m",)) as tests:
        assert machine.results == []
        write(machine, late="VALUE = 2", test_m=READS)
        run = tests.finish()
    assert run.result.outcome == "passed", run.result.text_output


def test_output_goes_to_the_sink_of_the_end(machine):
    seen = []
    write(machine, late="VALUE = 2", test_m=READS)
    with machine.started() as tests:
        run = tests.finish(sink=lambda _stream, chunk: seen.append(chunk))
    assert run.facts.passed == 1
    assert b"1 passed" in b"".join(seen), run.result.text_output


def test_one_that_is_never_finished_leaves_no_results(machine):
    write(machine, late="VALUE = 2", test_m=READS)
    with machine.started() as tests:
        pass
    assert machine.results == []
    with pytest.raises(RunCancelled):
        tests._running.result()


def test_a_project_that_is_imported_at_the_start_is_imported_again(machine):
    (machine.site / "early.pth").write_text("import late\n")
    write(machine, late="VALUE = 1")
    with machine.started(early=False) as tests:
        write(machine, late="VALUE = 2", test_m=READS)
        run = tests.finish()
    assert run.facts.passed == 1, run.result.text_output


@pytest.mark.parametrize("is_found_by", ["its path", "a finder", "a link"])
def test_where_pytest_is_the_project_nothing_of_it_is_imported_early(tmp_path, is_found_by):
    machine = Machine(tmp_path)
    source = machine.workspace / "src"
    shutil.copytree(machine.packages, source)
    ours = source / "pytest" / "__init__.py"
    text = ours.read_text()
    ours.write_text(f"{text}\nopen({str(tmp_path / 'early')!r}, 'w').close()\n")
    if is_found_by == "a link":
        for entry in source.iterdir():
            (machine.site / entry.name).symlink_to(entry)
    elif is_found_by == "its path":
        (machine.site / "editable.pth").write_text(f"{source}\n")
    else:  # as setuptools installs
        for entry in machine.packages.glob("*.dist-info"):
            (machine.site / entry.name).symlink_to(entry)
        finder = f"PathFinder.find_spec(name, [{str(source)!r}])"
        (machine.site / "finder.py").write_text(
            "import sys\nfrom importlib.machinery import PathFinder\n"
            "class Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n"
            f"        return None if path else {finder}\nsys.meta_path.append(Finder)\n"
        )
        (machine.site / "finder.pth").write_text("import finder\n")
    with machine.started(early=False, targets=("test_m.py",)) as tests:
        ours.write_text(f"{text}\nimport os; os.environ['LATE'] = 'yes'\n")
        write(machine, test_m="import os\ndef test_late(): assert os.environ['LATE'] == 'yes'")
        run = tests.finish()
    assert not (tmp_path / "early").exists()
    assert run.facts.passed == 1, run.result.text_output
    assert run.result.versions.in_project


def test_a_missing_pytest_is_told_as_without_a_wait(open_sandbox):
    request = PytestRequest(command=MODULE, timeout=LIMIT)
    with started_tests(open_sandbox({}), request) as tests:
        run = tests.finish()
    assert run.result.outcome == "spawn"
    assert "No module named 'pytest'" in run.result.spawn_error


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(each, marks=() if each in {"3.6", "3.9"} else pytest.mark.soak)
        for each in STACKS
    ],
)
def test_other_versions_of_python_wait(open_sandbox, version):
    if find_python(version) is None:
        pytest.skip(f"this machine has no Python {version}")
    sandbox = open_sandbox({}, *stack_for(version), python=version)
    with started_tests(sandbox, PytestRequest(command=MODULE, timeout=LIMIT)) as tests:
        Path(sandbox.workspace / "late.py").write_text("VALUE = 2")
        Path(sandbox.workspace / "test_m.py").write_text(READS)
        run = tests.finish()
    assert run.facts.passed == 1, run.result.text_output
