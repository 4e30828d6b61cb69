import json
import subprocess
import sys
from importlib.resources import files

import pytest

pytestmark = pytest.mark.full

TESTS = """\
import pytest

def test_good(): pass
def test_bad(): assert 0
@pytest.mark.skip
def test_skipped(): pass
@pytest.mark.xfail
def test_xfails(): assert 0
@pytest.fixture
def broken(): yield; raise OSError
def test_torn_down(broken): pass
"""


def reward(folder, expected, *only) -> str:
    (folder / "test_a.py").write_text(TESTS)
    (folder / "expected.json").write_text(
        json.dumps({"fail_to_pass": [], "pass_to_pass": []} | expected)
    )
    judge = files("agentbench.extensions.harbor") / "mounted"
    env = {
        "PYTHONPATH": str(judge),
        "AGENTBENCH_EXPECTED": str(folder / "expected.json"),
        "AGENTBENCH_REWARD": str(folder / "reward.txt"),
    }
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "agentbench_judge", "test_a.py", *only]
    subprocess.run(argv, cwd=folder, env=env, check=False, capture_output=True)
    return (folder / "reward.txt").read_text().strip()


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ({"fail_to_pass": ["test_a.py::test_good"]}, "1"),
        ({"fail_to_pass": ["test_a.py::test_good", "test_a.py::test_bad"]}, "0"),
        ({"fail_to_pass": ["test_a.py::test_missing"]}, "0"),
        ({"fail_to_pass": ["test_a.py::test_skipped"]}, "0"),
        ({"fail_to_pass": ["test_a.py::test_xfails"]}, "0"),
        ({"fail_to_pass": ["test_a.py::test_torn_down"]}, "0"),
        ({"pass_to_pass": ["test_a.py::test_good", "test_a.py::test_skipped"]}, "1"),
        ({"pass_to_pass": ["test_a.py::test_bad"]}, "0"),
        ({"pass_to_pass": ["test_a.py::test_missing"]}, "0"),
    ],
)
def test_listed_tests_decide(tmp_path, expected, given):
    assert reward(tmp_path, expected) == given


def test_without_a_list_all_have_to_pass_and_one_at_least(tmp_path):
    assert reward(tmp_path, {}, "-k", "good") == "1"
    assert reward(tmp_path, {}, "-k", "good or bad") == "0"
    assert reward(tmp_path, {}, "-k", "skipped") == "0"
    assert reward(tmp_path, {}, "-k", "nothing") == "0"
