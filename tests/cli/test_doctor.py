import json

import pytest


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    monkeypatch.setenv("AGENTBENCH_CACHE", str(tmp_path / "cache"))


def test_each_finding_is_a_line_with_its_remedy_below(cli):
    said = cli("doctor")
    assert said.code == 0, "one sandbox works"
    lines = said.stdout.splitlines()
    assert lines[0].startswith("ok  python  ")
    assert any(line.startswith("--  sandbox docker  ") for line in lines)
    assert all(line[:4] in {"ok  ", "--  ", "    "} for line in lines)


def test_json_is_one_document(cli):
    rows = json.loads(cli("doctor", "--json").stdout)
    assert {row["what"]: row["ok"] for row in rows}["python"]
    assert all(set(row) == {"what", "ok", "detail"} for row in rows)
