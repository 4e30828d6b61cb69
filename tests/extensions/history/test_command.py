import json
import tomllib

import pytest

from tests.e2e.small_task import LISTED
from tests.needed import require_tool
from tests.tasks.origins import Origin
from tests.tasks.pocket import Pocket

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def pocket(tmp_path_factory):
    return Pocket(tmp_path_factory.mktemp("history") / "pocket")


@pytest.fixture
def new(cli, sandbox, tmp_path, pocket):
    def new(*arguments, fix="fix", output=("--quiet",)):
        commit = pocket.commits.get(fix, fix)
        where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--repeat", "1", *output)
        given = ("--test-command", "python -m pytest")
        return cli(
            "tasks", "new", "--repo", pocket.path, "--fix", commit, *given, *where, *arguments
        )

    return new


def test_a_commit_becomes_a_proven_task(new, tmp_path, cli):
    folder = tmp_path / "out" / "basket"
    result = new(folder, output=())
    assert result.code == 0, result.stderr
    assert result.stdout == f"{folder}  valid\n"
    assert result.stderr.endswith(
        "1 task written, 1 of 1 valid\n"
        f"read {folder}/instruction.md: it is the commit's message, which may give the fix away\n"
        f"next: agentbench run {folder} --agent-command ./fix.sh\n"
    )
    tests = tomllib.loads((folder / "task.toml").read_text())["tests"]
    assert tests["fail_to_pass"] == list(LISTED)
    # Of a file that the fix does not touch:
    assert "tests/test_basket.py::test_the_cheapest_is_found" in tests["pass_to_pass"]
    assert json.loads((folder / "proof.json").read_text())["good"]
    listed = cli("tasks", "list", folder)
    assert listed.stdout == "basket  Count every price  [mined]  2 target tests\n"


def test_a_task_without_regression_tests_is_not_good(new, tmp_path, cli):
    folder = tmp_path / "out" / "basket"
    result = new(folder, "--touched-files")
    assert result.code == 1, result.stderr
    assert f"{folder}  INVALID\n  no regression tests: no test passes both before" in result.stdout
    audited = cli("audit", folder)
    assert "no-regression-tests" in audited.stdout
    assert "without a finding: 0 tasks" in audited.stderr + audited.stdout


@pytest.mark.parametrize(
    ("fix", "why"),
    [
        ("begin", "cannot become a task: it is the first commit"),
        ("source_only", "cannot become a task: it adds or changes no file of tests"),
        ("nothing-of-that-name", "expected a commit of the repository"),
    ],
)
def test_what_cannot_become_a_task_is_65_and_says_why(new, tmp_path, fix, why):
    result = new(tmp_path / "basket", fix=fix)
    assert result.code == 65
    assert why in result.stderr
    assert not (tmp_path / "basket").exists()


def test_a_task_that_is_there_is_left_alone(new, tmp_path):
    (tmp_path / "basket").mkdir()
    result = new(tmp_path / "basket", "--no-prove")
    assert result.code == 2
    assert "already exists" in result.stderr
    assert new(tmp_path / "basket", "--no-prove", "--replace").code == 0


CART = "export const total = (prices) => prices.slice(1).reduce((sum, one) => sum + one, 0)\n"
CART_TESTS = """\
import assert from 'node:assert'
import { test } from 'node:test'
import { total } from '../cart.mjs'

test('nothing costs nothing', () => assert.equal(total([]), 0))
"""
HIDDEN_CART_TEST = "test('the first price counts', () => assert.equal(total([1, 2]), 3))\n"


def test_a_commit_of_a_project_in_javascript_becomes_a_task(cli, sandbox, tmp_path):
    require_tool("node")
    origin = Origin(tmp_path / "cart")
    origin.write("package.json", '{"name": "cart", "scripts": {"test": "node --test"}}\n')
    origin.write("cart.mjs", CART)
    origin.write("test/cart.test.mjs", CART_TESTS)
    origin.commit()
    origin.write("cart.mjs", CART.replace("prices.slice(1)", "prices"))
    origin.write("test/cart.test.mjs", f"{CART_TESTS}{HIDDEN_CART_TEST}")
    fix = origin.commit("Count every price")

    folder = tmp_path / "out" / "cart"
    where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--repeat", "1", "--quiet")
    result = cli("tasks", "new", folder, "--repo", origin.path, "--fix", fix, *where)

    assert result.code == 0, result.stderr
    assert "node of the sandbox; libraries as of " in result.stderr
    tests = tomllib.loads((folder / "task.toml").read_text())["tests"]
    assert tests["runner"] == "node"
    assert tests["fail_to_pass"] == ["test/cart.test.mjs::the first price counts"]
    assert tests["pass_to_pass"] == ["test/cart.test.mjs::nothing costs nothing"]
