"""The tests of the tasks that we ship, with their reference solutions: all must be controlled."""

import shutil
import subprocess
import tomllib
from pathlib import Path
from random import Random

import pytest

from agentbench.integrity.control_plan import _partition
from agentbench.integrity.expectation_changes.engine import functions_by_tests, rewrite_tests
from tests.integrity.expectation_changes.real_pytest import outcomes

pytestmark = pytest.mark.full

TASKS = Path(__file__).parents[2] / "tasks"
NAMES = sorted(path.parent.name for path in TASKS.glob("*/task.toml"))
SEEDS = (0,)


@pytest.mark.parametrize("name", NAMES)
def test_disguised_tests_end_the_same_and_changed_ones_fail(name: str, tmp_path: Path):
    tree = tmp_path / "tree"
    shutil.copytree(TASKS / name / "repo", tree)
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    for patch in ("solution.patch", "tests.patch"):
        subprocess.run(["git", "apply", TASKS / name / patch], cwd=tree, check=True)
    texts = {
        str(path.relative_to(tree)): path.read_bytes().decode() for path in tree.rglob("test_*.py")
    }
    copies = {path: path.replace(".py", "_disguised.py") for path in texts}
    for path, copy in copies.items():
        disguised = rewrite_tests(texts[path], path, [], Random(1)).source
        (tree / copy).write_bytes(disguised.encode())
    wanted = _changed(tree, texts, _fail_to_pass(name))
    ends = outcomes(tree)
    assert {test: ends.get(test) for test in wanted} == wanted
    for path, copy in copies.items():
        of_path = {test: end for test, end in ends.items() if test.startswith(f"{path}::")}
        renamed = {test.replace(path, copy, 1): end for test, end in of_path.items()}
        assert {t: end for t, end in ends.items() if t.startswith(f"{copy}::")} == renamed
        assert set(of_path.values()) == {"passed"}


def _fail_to_pass(name: str) -> list[str]:
    task = tomllib.loads((TASKS / name / "task.toml").read_text(encoding="utf-8"))
    tests: list[str] = task["tests"]["fail_to_pass"]
    return tests


def _changed(tree: Path, texts: dict[str, str], tests: list[str]) -> dict[str, str]:
    """How the listed tests must end in each copy of their file with a half of them changed."""
    wanted = {}
    for path in {test.partition("::")[0] for test in tests}:
        own = [test for test in tests if test.startswith(f"{path}::")]
        functions = functions_by_tests(texts[path], path, own)
        for seed in SEEDS:
            first, second = _partition(functions, Random(seed))
            for at, half in enumerate((first, second)):
                selected = {test for function in half for test in functions[function]}
                mutation = rewrite_tests(texts[path], path, selected, Random(seed), listed=own)
                assert mutation.weakly_controlled == ()
                assert {test for test in own if "[" in test} <= mutation.renamed.keys()
                copy = path.replace(".py", f"_{seed}_{at}.py")
                (tree / copy).write_bytes(mutation.source.encode())
                for test in own:
                    end = "failed" if test in selected else "passed"
                    wanted[mutation.renamed.get(test, test).replace(path, copy, 1)] = end
    return wanted
