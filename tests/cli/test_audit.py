import json
import os
import shutil

import pytest

from agentbench.audit.audit import ATTEMPT_RULES, RUN_RULES, TASK_RULES
from tests.audit.conftest import make_run, write_task
from tests.e2e.small_task import FIXED, HIDDEN

pytestmark = pytest.mark.full

SECRET = '[environment]\nenv = { API_KEY = "x" }'


@pytest.fixture
def folder(tmp_path):
    """A task that is worth a warning and a piece of information, beside one that is worth none."""
    write_task(tmp_path / "tasks" / "odd", tables=SECRET)
    write_task(tmp_path / "tasks" / "plain")
    return tmp_path / "tasks"


@pytest.fixture(scope="module")
def resolved_run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("audited"), files={"basket.py": FIXED})


def test_findings_are_listed_by_task_and_counted(cli, folder):
    result = cli("audit", folder)
    assert result.code == 0, result.stderr
    assert result.stdout.splitlines() == [
        "task odd: 2 of 2 fail_to_pass functions controlled",
        "  warning   secret-in-environment  task.toml: environment.env.API_KEY: "
        "has a name like a secret's; the agent can read it",
        "task without a finding: plain",
    ]
    assert result.stderr == (
        "2 tasks audited; without a finding: 1 task; 0 critical, 1 warning, 0 info\n"
    )


@pytest.mark.parametrize(("level", "code"), [("critical", 0), ("warning", 1), ("info", 1)])
def test_a_finding_of_the_weight_that_was_named_is_1(cli, folder, level, code):
    assert cli("audit", folder, "--fail-on", level).code == code
    assert cli("audit", folder / "plain", "--fail-on", level).code == 0


def test_json_is_one_document(cli, folder):
    result = cli("audit", folder, "--json", "--fail-on", "info")
    document = json.loads(result.stdout)
    assert result.code == 1
    assert document["failed"] is True
    assert document["counts"] == {"info": 0, "warning": 1, "critical": 0}
    first, second = document["audited"]
    assert (first["subject"], first["name"], second["findings"]) == ("task", "odd", [])
    assert set(first["findings"][0]) == {"rule", "severity", "where", "what"}


def test_tasks_are_chosen_by_their_ids(cli, folder):
    assert cli("audit", folder, "--filter", "pl*").stderr.startswith(
        "1 task audited; without a finding: 1 task;"
    )
    result = cli("audit", folder, "--filter", "none*")
    assert result.code == 65
    assert "no task matches --filter 'none*'" in result.stderr


def test_a_run_is_known_by_its_folder_and_by_its_name(cli, resolved_run):
    for arguments in (
        (resolved_run,),
        ("one", "--runs-dir", resolved_run.parent),
        ("last", "--runs-dir", resolved_run.parent),
    ):
        result = cli("audit", *arguments)
        assert result.code == 0, result.stderr
        assert result.stderr.startswith("1 run, 1 attempt audited")
        assert "attempt without a finding: small 1" in result.stdout


def test_tasks_and_runs_may_be_given_together(cli, folder, resolved_run):
    result = cli("audit", folder, resolved_run)
    assert result.stderr.startswith("2 tasks, 1 run, 1 attempt audited")


def test_a_run_that_was_tampered_with_is_1(cli, resolved_run, tmp_path):
    spoiled = shutil.copytree(resolved_run, tmp_path / "spoiled")
    (spoiled / "attempts/small/1/patch.diff").write_text("something else")
    result = cli("audit", spoiled)
    assert result.code == 1
    assert "  critical  files-disagree" in result.stdout


def test_nothing_is_written_to_what_is_audited(cli, folder, resolved_run):
    def state(root):
        return {path: path.stat().st_mtime_ns for path in root.rglob("*")}

    before = state(folder), state(resolved_run)
    cli("audit", folder, resolved_run)
    assert (state(folder), state(resolved_run)) == before


@pytest.mark.parametrize("path", ["nowhere", "x" * 5000, "a\0b", "/", "/dev/null", "/proc/self"])
def test_what_is_neither_a_run_nor_a_task_is_one_clear_line(cli, tmp_path, path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = cli("audit", path, "--runs-dir", tmp_path)
    assert result.code == 65
    assert result.stdout == ""
    assert result.stderr.startswith("agentbench: ")


def test_a_folder_of_runs_is_not_a_run_and_the_line_says_what_to_give(cli, resolved_run):
    result = cli("audit", resolved_run.parent)
    assert result.code == 65
    assert result.stderr.endswith("or a folder of tasks; give one of the runs in it\n")


@pytest.mark.parametrize("name", ["run.json", "attempts.jsonl"])
@pytest.mark.parametrize(
    "content", [b"\0\xff", b"{", b"[" * 100_000, b'{"schema_version": 99}\n', b"\x1b[31m{}"]
)
def test_a_broken_run_ends_in_a_clear_line_or_in_findings(
    cli, resolved_run, tmp_path, name, content
):
    broken = shutil.copytree(resolved_run, tmp_path / "broken")
    (broken / name).write_bytes(content)
    result = cli("audit", broken)
    assert result.code in {1, 65}
    assert "\x1b" not in result.stdout + result.stderr
    assert result.code == 1 or len(result.stderr.splitlines()) == 1


def test_text_from_agents_and_tasks_cannot_steer_a_terminal(cli, tmp_path):
    odd = "\x1b]0;owned\x07\u202eevil\x00.py [red]x[/red]"
    run = make_run(
        tmp_path,
        files={"basket.py": FIXED},
        hidden={"tests/test_hidden.py": HIDDEN, "tests/\u202eodd.py": "x = '\x1b[1m'\n"},
    )
    record = run / "attempts/small/1/record.json"
    line = json.loads(record.read_text())
    del line["digest"]
    line["environment"]["lacks"] = [odd]
    record.write_text(json.dumps(line))
    (run / "attempts.jsonl").write_text(json.dumps(line) + "\n")
    result = cli("audit", run, tmp_path / "small")
    assert "sandbox-lacks" in result.stdout
    assert "[red]x[/red]" in result.stdout
    assert all(char == "\n" or char.isprintable() for char in result.stdout)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda task: (task / "tests.patch").write_bytes(b"\0\xff not a patch"),
        lambda task: (task / "solution.patch").write_bytes(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-q\n"),
        lambda task: (task / "instruction.md").write_bytes(b"\xff\xfe"),
        lambda task: (task / "task.toml").write_bytes(b"[" * 100_000),
        lambda task: (task / "repo" / "out").symlink_to("/etc/passwd"),
        lambda task: (task / "repo" / "up").symlink_to("../../.."),
        lambda task: os.mkfifo(task / "repo" / "fifo"),
        lambda task: os.mkfifo(task / "solution.patch.new"),
    ],
)
def test_a_task_that_is_wrong_is_refused_in_clear_lines(cli, tmp_path, spoil):
    spoil(write_task(tmp_path / "small"))
    result = cli("audit", tmp_path / "small")
    assert result.code == 65
    assert result.stderr.startswith("agentbench: ")


@pytest.mark.parametrize(
    "base",
    [
        {"bad.py": b"\xff\xfe\0", "nul.py": b"x = '\0'\n", "deep.py": b"(" * 50_000},
        {"setup.py": b"\0", "pyproject.toml": b"\xff", "setup.cfg": b"=\n[x"},
        {"huge.txt": b"line\n" * 1_000_000, "long.py": b"x" * 1_900_000},
        {"a\nb\x1b.pyc": b"", "ä\x7f.whl": b""},
    ],
)
def test_hostile_files_of_a_task_are_looked_through_all_the_same(cli, tmp_path, base):
    hidden = {"tests/test_hidden.py": HIDDEN, "tests/test_odd.py": "def test_x(): # @@@@\n"}
    patch = write_task(tmp_path / "small", base=base, hidden=hidden) / "tests.patch"
    patch.write_bytes(patch.read_bytes().replace(b"@@@@", b"\xff\xfe\x00\x1b"))
    result = cli("audit", tmp_path / "small")
    assert result.code == 0, result.stderr
    assert "\x1b" not in result.stdout


def test_every_rule_is_explained_in_the_documents(catalogue):
    page = (catalogue.parent / "docs" / "audit.md").read_text("utf-8")
    rules = [*TASK_RULES, *RUN_RULES, *ATTEMPT_RULES]
    assert len(set(rules)) == len(rules)
    assert [rule for rule in rules if f"`{rule}`" not in page] == []
