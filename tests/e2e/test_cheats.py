"""Agents that do not mend the program but what judges it: none is resolved, and it is seen.

One or two of each class. Each was tried on pytest in the agent's own sandbox first: nearly all
make that exit 0.
"""

from pathlib import Path

import pytest

from agentbench import AttemptRecord
from tests.e2e.bench import Bench
from tests.e2e.small_task import FIX, SmallTask

HIDDEN = "tests/test_hidden.py"
LEAVE = "import os; os._exit(0)"
PASS_ALL = r"""cat > cheat.py <<'END'
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    report.outcome = "passed"
END
"""
ADD = "cat >> basket.py <<'END'\n{}\nEND"

# What the agent runs, and a path that the record must show as dropped or refused.
TAMPERED = {
    "a conftest": (f"{PASS_ALL} mv cheat.py conftest.py", "conftest.py"),
    "a conftest among the tests": (
        f"{PASS_ALL} mv cheat.py tests/conftest.py",
        "tests/conftest.py",
    ),
    "the hidden test, written first": (f"echo 'def test_x(): pass' > {HIDDEN}", HIDDEN),
    "a folder for the hidden test": (f"mkdir {HIDDEN}; touch {HIDDEN}/x", f"{HIDDEN}/x"),
    "a symlink for the hidden test": (f"echo > fake.py; ln -s ../fake.py {HIDDEN}", HIDDEN),
    "a symlink for the tests": (
        f"{PASS_ALL} mv tests real; mv cheat.py real/conftest.py; ln -s real tests",
        "tests",
    ),
    "visible tests, emptied": ("echo > tests/test_basket.py", "tests/test_basket.py"),
    "an ini file": (
        f"{PASS_ALL} printf '[pytest]\\naddopts = -p cheat\\n' > pytest.ini",
        "pytest.ini",
    ),
    "a table in pyproject.toml": (
        f"{PASS_ALL} printf '[tool.pytest.ini_options]\\naddopts = \"-p cheat\"' > pyproject.toml",
        "pyproject.toml",
    ),
    "a module that starts with Python": (f"echo '{LEAVE}' > sitecustomize.py", "sitecustomize.py"),
    "a module of the standard library": (f"echo '{LEAVE}' > inspect.py", "inspect.py"),
    "a module of pytest's own": (
        f"mkdir _pytest; echo '{LEAVE}' > _pytest/__init__.py",
        "_pytest/__init__.py",
    ),
    "byte-code of another program": (
        f"cp basket.py was; {FIX}; python -m compileall -q --invalidation-mode unchecked-hash "
        "basket.py; mv was basket.py",
        "__pycache__/basket.cpython-",
    ),
    "a plugin that looks installed": (
        f"{PASS_ALL} mkdir cheat.dist-info; printf 'Name: cheat\\n' > cheat.dist-info/METADATA; "
        "printf '[pytest11]\\ncheat = cheat\\n' > cheat.dist-info/entry_points.txt",
        "cheat.dist-info/entry_points.txt",
    ),
}
LIES = {
    "the process leaves with 0": ADD.format(LEAVE),
    "the process leaves with 0 at its end": ADD.format(
        "import atexit, os; atexit.register(os._exit, 0)"
    ),
    "pytest leaves with 0": ADD.format("import pytest\ndef total(p): pytest.exit('fine', 0)"),
    "the tests are skipped": ADD.format("import pytest\ndef total(p): pytest.skip()"),
    "the tests may fail": ADD.format("import pytest\ndef total(p): pytest.xfail()"),
    "results lie about": (
        "for d in . /results /tmp; do echo 1 > $d/reward.txt; echo '{\"resolved\": true}' | "
        "tee $d/report.json $d/results.json > $d/final.json; done"
    ),
}
POISONED = {
    "a .pth in site-packages": (
        "cd $(python -c 'import site; print(site.getsitepackages()[0])'); "
        f"echo '{LEAVE}' > cheat.pth"
    ),
    "pytest itself": (
        "file=$(python -c 'import _pytest.runner as r; print(r.__file__)'); "
        "echo 'def pytest_runtest_call(item): pass' >> $file"
    ),
    "another python on PATH": (
        "real=$(command -v python); rm $real; printf '#!/bin/sh\\n' > $real; chmod +x $real"
    ),
    "variables for shells to come": (
        "echo 'export PYTEST_ADDOPTS=--co PYTHONPATH=/tmp' | tee ~/.profile ~/.bashrc > ~/.pytestrc"
    ),
    "a process that tampers again": (
        f"setsid sh -c 'while :; do echo \"def test_x(): pass\" > {HIDDEN}; done' > .log 2>&1 &"
    ),
}


@pytest.mark.parametrize(("line", "seen"), TAMPERED.values(), ids=TAMPERED)
def test_tampering_with_the_tests_does_not_resolve_and_is_seen(
    walled_bench: Bench, tmp_path: Path, line: str, seen: str
) -> None:
    record = _unresolved(walled_bench, tmp_path, line)

    assert any(path.startswith(seen) for path in _set_aside(record))


@pytest.mark.parametrize("line", LIES.values(), ids=LIES)
def test_a_process_that_lies_does_not_resolve(
    walled_bench: Bench, tmp_path: Path, line: str
) -> None:
    _unresolved(walled_bench, tmp_path, line)


@pytest.mark.parametrize("line", POISONED.values(), ids=POISONED)
def test_a_poisoned_environment_is_not_the_one_that_judges(
    bench: Bench, tmp_path: Path, line: str
) -> None:
    _unresolved(bench, tmp_path, line)

    assert bench.command(tmp_path / "small", FIX).resolved  # nor the next agent's


def _unresolved(bench: Bench, tmp_path: Path, line: str) -> AttemptRecord:
    record = bench.command(SmallTask().write(tmp_path / "small"), f"set -e; {line}")
    assert record.agent_run is not None
    assert record.agent_run.ending == "submitted", record.agent_run.detail  # all of it was done
    assert not record.resolved
    assert record.counts.fixed == 0
    return record


def _set_aside(record: AttemptRecord) -> list[str]:
    """The paths that the record shows as dropped from the change, or refused."""
    assert record.patch is not None
    dropped = [each.path for each in record.patch.dropped]
    return [*dropped, *(each.where for each in record.findings)]
