"""The program with a model: a bad key, a key that must not be seen, a replay without a network."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.corpora.cheats.test_secrets import DRESSED, LOOK, dressings, seen_in
from tests.e2e.models.client import command
from tests.e2e.models.test_models import DONE, RUN_FIX
from tests.e2e.program import records_of, run_program
from tests.e2e.small_task import SmallTask
from tests.fakes.scripted_model import Say, ScriptedModel, by_turn, for_ever

LOOPBACK_ALONE = """
import fcntl, os, socket, struct, sys
with socket.socket() as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1))
os.execvp(sys.argv[1], sys.argv[1:])
"""
BACK_ENDS = ("bubblewrap", pytest.param("docker", marks=pytest.mark.docker))


@pytest.fixture
def small(tmp_path):
    return SmallTask().write(tmp_path / "small")


def run(folder, task, server, environ, *words, line=None, back_end="bubblewrap"):
    return run_program(
        *("run", task, "--sandbox", back_end, "--runs-dir", folder / "runs"),
        *("--agent", "command", "--agent-command", line or command("openai-chat")),
        *("--model", "openai/scripted", "--base-url", server.base_url),
        *("--integrity-controls", "off"),
        *words,
        env={**environ, "OPENAI_API_KEY": server.key},
        cwd=folder,
    )


def test_a_bad_key_ends_the_run_before_anything_is_made_for_it(small, environ, tmp_path):
    with ScriptedModel(for_ever(Say("ok"))) as server:
        done = run(tmp_path, small, server, environ)
        assert done.returncode == 0, done.stderr
        shutil.rmtree(tmp_path / "runs")
        server.key = "sk-another"
        refused = run_program(
            *("run", small, "--agent", "command", "--agent-command", "true"),
            *("--model", "openai/scripted", "--base-url", server.base_url),
            *("--sandbox", "bubblewrap", "--runs-dir", tmp_path / "runs"),
            env={**environ, "OPENAI_API_KEY": "sk-canary-wrong"},
            cwd=tmp_path,
        )
    assert refused.returncode == 2, refused.stderr
    assert refused.stderr.strip().count("\n") == 0
    assert "OPENAI_API_KEY" in refused.stderr
    assert "canary" not in refused.stderr
    assert not (tmp_path / "runs").exists()


def test_a_model_that_only_fails_later_is_found_by_the_attempt(small, environ, tmp_path):
    with ScriptedModel(for_ever(Say("ok"))) as server:
        server.models = ["another"]
        done = run(tmp_path, small, server, environ, "--no-probe", "--retries", "0")
    assert done.returncode == 75, done.stderr
    (record,) = records_of(next((tmp_path / "runs").iterdir()))
    assert record.failure_reason == "LLM_ERROR"


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_the_key_is_seen_nowhere_in_any_dress(back_end, small, environ, tmp_path):
    """The agent prints all that it can find, and what it prints is kept."""
    look = f"{command('openai-chat')}\n{LOOK}\n{DRESSED}"
    with ScriptedModel(for_ever(DONE), key="canary7d1f/+%&a9sk", echo_key=True) as server:
        done = run(
            tmp_path,
            small,
            server,
            environ,
            *("--record", tmp_path / "runs" / "recording.jsonl"),
            line=look,
            back_end=back_end,
        )
        assert server.asked
    assert done.returncode == 0, done.stderr
    files = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"llm.jsonl", "trajectory.json", "agent_run.log", "recording.jsonl"} <= names
    texts = [done.stdout.encode(), done.stderr.encode(), *(path.read_bytes() for path in files)]
    assert seen_in(iter(texts), server.key) == set()
    assert len(dressings(server.key)) == 7


@pytest.fixture
def recorded(small, environ, tmp_path):
    """A run of three attempts at a time whose answers were kept, its verdicts, and the file."""
    path = tmp_path / "answers.jsonl"
    with ScriptedModel(by_turn([RUN_FIX, DONE])) as server:
        done = run(tmp_path, small, server, environ, "--record", path, *("-k", "3", "-j", "2"))
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    return path, records_of(folder)


def test_a_replay_without_a_network_gives_the_same_verdicts_and_costs_nothing(
    recorded, small, environ, tmp_path
):
    path, first = recorded
    namespaces = ("--net",) if os.geteuid() == 0 else ("--user", "--map-root-user", "--net")
    unplugged = ("unshare", *namespaces, sys.executable, "-c", LOOPBACK_ALONE)
    if subprocess.run([*unplugged, "true"], check=False).returncode:
        pytest.skip("no network namespace can be made here")
    again = tmp_path / "again"
    done = run_program(
        *("run", small, "--agent", "command", "--agent-command", command("openai-chat")),
        *("--replay", path, "-k", "3", "-j", "2"),
        *("--sandbox", "bubblewrap" if os.geteuid() == 0 else "process", "--allow-unsandboxed"),
        *("--runs-dir", again, "--json", "--integrity-controls", "off"),
        env={name: value for name, value in environ.items() if not name.endswith("_API_KEY")},
        cwd=tmp_path,
        prefix=unplugged,
    )
    assert done.returncode == 0, done.stderr
    second = records_of(next(again.iterdir()))
    assert len(json.loads(done.stdout)["attempts"]) == 3
    verdicts = [
        sorted((r.attempt, r.resolved, r.usage.input_tokens) for r in records if r.usage)
        for records in (first, second)
    ]
    assert verdicts[0] == verdicts[1]
    assert [resolved for _, resolved, _ in verdicts[1]] == [True] * 3
    assert {record.usage.cost_usd for record in second if record.usage} == {0.0}


def test_an_attempt_that_was_not_recorded_is_told_so(recorded, small, environ, tmp_path):
    path, _ = recorded
    again = tmp_path / "again"
    done = run_program(
        *("run", small, "--agent", "command"),
        *("--agent-command", f"{command('openai-chat')}; {command('openai-chat')}"),
        *("--replay", path, "--sandbox", "bubblewrap", "--runs-dir", again, "--retries", "0"),
        env=environ,
        cwd=tmp_path,
    )
    (record,) = records_of(next(again.iterdir()))
    assert done.returncode == 0, done.stderr
    assert record.usage is not None
    assert set(record.usage.llm_errors) == {"connection"}
    log = (again / record.run_id / "attempts" / "small" / "1" / "agent" / "llm.jsonl").read_text()
    assert "not in the recording" in log
