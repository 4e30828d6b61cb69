import json

import pytest

from agentbench.core.extensions import Slot, offers

pytestmark = pytest.mark.skipif(
    not {"swebench", "harbor"} <= {*offers(Slot.TASK_SETS)}, reason="an extension is deleted"
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_sets_are_listed_with_what_is_imported(cli, cache):
    lite = "SWE-bench__SWE-bench_Lite"
    for folder in (f"{lite}/a-1", f"{lite}/b-2", "me__own/c-3", "file-my-rows.jsonl-0a1b2c3d/d-4"):
        (cache / "sets" / folder).mkdir(parents=True)
        (cache / "sets" / folder / "task.toml").touch()
    (cache / "sets/me__empty").mkdir()
    rows = {row["name"]: row for row in json.loads(cli("tasks", "sets", "--json").stdout)}
    assert rows["swe-bench-lite"]["imported"] == 2
    assert rows["swe-bench-lite"]["tasks"] == 300
    assert rows["swe-bench-verified"]["imported"] == 0
    assert rows["me/own"]["imported"] == 1
    assert rows["my-rows.jsonl"]["imported"] == 1
    assert "me/empty" not in rows
    text = cli("tasks", "sets").stdout
    assert "swe-bench-lite" in text
    assert "2 imported" in text


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("verifed", "verified or"),
        ("SWE-bench-light", "swe-bench-lite"),
        ("terminalbench", "termin"),
    ],
)
def test_unknown_set_is_one_line_with_near_names(cli, name, near):
    result = cli("run", "-d", name, "--agent", "noop")
    assert result.code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"agentbench: -d: no set {name!r} (did you mean {near}")


def test_set_without_a_near_name_has_no_guess(cli):
    stderr = cli("run", "-d", "xyzzy", "--agent", "noop").stderr
    assert stderr.startswith("agentbench: -d: no set 'xyzzy'; expected a name in `agentbench tasks")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-d", "lite", "tasks"), "-d excludes TASKS, --rerun-failed and --tag"),
        (("-d", "lite", "--tag", "x"), "-d excludes TASKS, --rerun-failed and --tag"),
        (("-d", "lite", "--rerun-failed", "last"), "-d excludes TASKS, --rerun-failed and --tag"),
        (("tasks", "--repos", "."), "--repos belongs to -d"),
        (("-d", "lite", "--repos", "nowhere"), "nowhere is not a folder"),
        ((), "TASKS is missing: name task folders, -d SET or --rerun-failed RUN"),
    ],
)
def test_contradicting_options_are_refused(cli, arguments, message):
    result = cli("run", *arguments, "--agent", "noop")
    assert result.code == 2
    assert message in result.stderr
