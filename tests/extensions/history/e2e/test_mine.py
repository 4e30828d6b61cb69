import json

import pytest

from tests.tasks.pocket import Pocket

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def pocket(tmp_path_factory):
    return Pocket(tmp_path_factory.mktemp("history") / "pocket")


@pytest.fixture
def mine(cli, sandbox, tmp_path, pocket):
    def mine(*arguments):
        where = ("--sandbox", sandbox, "--runs-dir", tmp_path / "runs", "--repeat", "1", "--quiet")
        given = ("--test-command", "python -m pytest", "--out", tmp_path / "out")
        return cli("tasks", "mine", pocket.path, *given, *where, *arguments)

    return mine


def test_every_commit_is_told_with_what_became_of_it(mine, tmp_path, pocket):
    result = mine()
    assert result.code == 0, result.stderr
    fix = pocket.commits["fix"][:12]
    assert f"{fix}  kept       Count every price (#12)  (pocket-{fix})\n" in result.stdout
    assert "rejected   Test more  (it changes no source except tests)\n" in result.stdout
    assert len(result.stdout.splitlines()) == 7
    ledger = tmp_path / "out/mined.jsonl"
    assert result.stderr.endswith(f"7 commits, 2 candidates, 2 kept: {ledger}\n")


def test_json_is_one_document(mine):
    rows = json.loads(mine("--json", "--limit", "1").stdout)
    assert [row["candidate"] for row in rows].count(True) == 1
