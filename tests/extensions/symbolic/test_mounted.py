"""The code that is mounted into sandboxes: old Pythons, and code under test with the same names."""

import subprocess
from pathlib import Path

import pytest

import agentbench
from agentbench.extensions.symbolic.analysis import ComparisonEnding
from tests.extensions.symbolic.e2e.test_trees import PROGRAMS, Trees
from tests.patience import HANG_SECONDS
from tests.test_runs.interpreters import find_python

SOURCES = Path(agentbench.__file__).parent
MOUNTED = sorted(
    path for pattern in ("**/mounted/**/*.py", "**/in_sandbox.py") for path in SOURCES.glob(pattern)
)
COMPILE = "import sys\nfor path in sys.argv[1:]: compile(open(path, 'rb').read(), path, 'exec')"
FORM = """
import sys
from collections import namedtuple
sys.path.insert(0, sys.argv[1])
from agentbench_mounted import outcomes
step = outcomes.raised(KeyError("a"), ("/nowhere",))
print(outcomes.words(step), outcomes.form_of(namedtuple("Point", "x y")(1, {2})))
"""


def run_old(source: str, *arguments: str) -> str:
    python = find_python("3.7")
    if python is None:
        pytest.skip("no Python 3.7 on this machine")
    argv = [str(python), "-I", "-B", "-c", source, *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_3_7_compiles_all_mounted_code() -> None:
    assert len(MOUNTED) > 25
    run_old(COMPILE, *map(str, MOUNTED))


def test_plugin_of_changed_tests_has_no_unsupported_module() -> None:
    words = "raises KeyError: 'a'"
    form = "['fields', 'Point', {'x': ['number', '1'], 'y': ['set', 'set', [['number', '2']]]}]"
    assert run_old(FORM, str(PROGRAMS.parent)).strip() == f"{words} {form}"


def test_code_under_test_cannot_replace_a_mounted_module(tmp_path: Path) -> None:
    source = "def f(n: int) -> int:\n    return n\n"
    trees = Trees(tmp_path, source, source.replace("return n", "return n + (n == 3)"))
    for folder in trees.folders:
        (folder / "agentbench_mounted").mkdir()
        for name in ("__init__", "outcomes", "worker"):
            (folder / "agentbench_mounted" / f"{name}.py").write_text("1 / 0\n")
    assert trees.compare("f").ending is ComparisonEnding.DIFFERENT
