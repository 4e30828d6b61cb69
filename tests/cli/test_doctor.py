import json
import os
import subprocess
import sys

import pytest

from tests.cli.pseudo_terminal import pseudo_terminal

pytestmark = pytest.mark.full


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    monkeypatch.setenv("AGENTBENCH_CACHE", str(tmp_path / "cache"))


def test_each_finding_is_a_line_with_its_remedy_below(cli):
    result = cli("doctor")
    assert result.code == 0, "one sandbox works"
    lines = result.stdout.splitlines()
    assert lines[0].startswith("ok  python  ")
    assert any(line.startswith("--  sandbox docker  ") for line in lines)
    assert all(line[:4] in {"ok  ", "--  ", "    "} for line in lines)


def test_json_is_one_document(cli):
    rows = json.loads(cli("doctor", "--json").stdout)
    assert {row["what"]: row["ok"] for row in rows}["python"]
    assert all(set(row) == {"what", "ok", "detail"} for row in rows)


@pytest.mark.parametrize(
    ("variables", "signs"),
    [({}, ("\x1b[32mok\x1b[0m", "\x1b[33m--\x1b[0m")), ({"NO_COLOR": "1"}, ("ok", "--"))],
)
def test_at_a_terminal_the_signs_have_colours_and_stay_signs(variables, signs):
    unset = {"NO_COLOR", "FORCE_COLOR"}
    env = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "-m", "agentbench", "doctor"]
    env |= {"TERM": "xterm-256color", "COLUMNS": "100", **variables}
    with pseudo_terminal() as (terminal, parts):
        subprocess.run(command, stdout=terminal, env=env, check=True)
    lines = b"".join(parts).decode().splitlines()
    assert lines[0].startswith(f"{signs[0]}  python  ")
    assert any(line.startswith(f"{signs[1]}  sandbox docker  ") for line in lines)


def test_on_another_system_only_containers_can_work(cli, monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    result = cli("doctor", "--json")
    found = {row["what"]: row for row in json.loads(result.stdout)}
    assert found["sandbox bubblewrap"]["detail"] == "bubblewrap needs Linux: use --sandbox docker"
    assert found["sandbox process"]["detail"] == "plain processes need Linux: use --sandbox docker"
    assert not found["sandbox docker"]["ok"]
    assert result.code == 69
