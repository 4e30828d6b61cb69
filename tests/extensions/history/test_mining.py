import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentbench.errors import InputError, UsageError
from agentbench.extensions.history.mining import (
    FixSource,
    MinedCommit,
    MiningLog,
    MiningSettings,
    TaskDestination,
    instruction_of,
    mine,
    task_id_of,
    title_of,
    write_fix_task,
)
from agentbench.importers.candidates import CandidateOutcome
from agentbench.runs.options import RunOptions
from agentbench.tasks.git_history import Commit, find_commit, mirror_of_head
from agentbench.tasks.loading import load_task
from agentbench.tasks.task_file import is_task_id
from agentbench.validation.environment.proposals import Proposal
from agentbench.validation.environment.trials import EnvironmentFinder
from agentbench.validation.fix_commit import FixCommit, split_fix
from agentbench.validation.stored_proof import read_proof
from agentbench.validation.task_validation import ValidationSettings
from tests.e2e.small_task import BUGGY, FIXED, patch_of
from tests.fakes.staging import local_provider, mirrors
from tests.tasks.pocket import MESSAGE, Pocket
from tests.validation.test_task_validation import follow

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def pocket(tmp_path_factory):
    return Pocket(tmp_path_factory.mktemp("history") / "pocket")


@pytest.fixture(scope="session")
def head(pocket):
    return mirror_of_head(pocket.url, mirrors())


@pytest.fixture
def options(tmp_path):
    return RunOptions(sandbox=local_provider().name, runs_dir=tmp_path / "runs", attempts=2)


@pytest.fixture
def origin(pocket, options):
    return FixSource(
        url=pocket.url,
        mirrors=mirrors(),
        environments=EnvironmentFinder(options, Proposal()),
        as_files=True,
    )


PATCH = patch_of("basket.py", BUGGY, FIXED).encode()


def fix_of(message):
    commit = Commit(hash="a" * 40, parents=("b" * 40,), date=datetime.now(UTC), message=message)
    return FixCommit(commit=commit, base="b" * 40, tests=(), tests_patch=b"", solution_patch=PATCH)


def test_instruction_has_message_without_trailers_and_fix():
    text = instruction_of(fix_of(MESSAGE))
    assert text.startswith("# Count every price\n\nThe first price was left out of the total.\n\n")
    assert "friend@example.org" not in text
    assert "sum(prices)" not in text


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Fix it (#1)", "Fix it"),
        ("", "The bug fixed by aaaaaaaaaaaa"),
        ("x" * 300, f"{'x' * 199}…"),
    ],
)
def test_a_title_is_one_line_of_bounded_length(message, title):
    assert title_of(fix_of(message)) == title


def test_instruction_without_body_is_explained():
    text = instruction_of(fix_of("Fix it"))
    assert text.startswith("# Fix it\n\nThis is the message of the commit")


def test_short_lines_stay_in_instruction():
    patch = fix_of("Fix it\n\nelse:\n")
    assert "else:" in instruction_of(patch)


def entry(commit="a", fate=CandidateOutcome.REJECTED, **more):
    return MinedCommit(commit=commit, subject="s", fate=fate, **more)


def test_mining_log_is_read_again(tmp_path):
    MiningLog(tmp_path / "out").add(entry("a", reasons=("why",)))
    MiningLog(tmp_path / "out").add(entry("b", CandidateOutcome.UNDECIDED))
    ledger = MiningLog(tmp_path / "out")
    assert ledger.entries["a"].reasons == ("why",)
    assert ledger.is_settled("a")
    assert not ledger.is_settled("b")
    assert not ledger.is_settled("c")


def test_last_entry_of_a_commit_counts(tmp_path):
    ledger = MiningLog(tmp_path)
    ledger.add(entry("a", CandidateOutcome.UNDECIDED))
    ledger.add(entry("a", CandidateOutcome.KEPT, task="t"))
    assert MiningLog(tmp_path).entries["a"].task == "t"


def test_truncated_line_of_log_is_skipped(tmp_path):
    MiningLog(tmp_path).add(entry("a"))
    with (tmp_path / "mined.jsonl").open("a") as file:
        file.write('{"commit": "b", "su')
    assert list(MiningLog(tmp_path).entries) == ["a"]


def test_malformed_mining_log_is_refused(tmp_path):
    (tmp_path / "mined.jsonl").write_text('{"x": 1}\n')
    with pytest.raises(InputError, match=r"mined\.jsonl:1: is not a line of `tasks mine`"):
        MiningLog(tmp_path)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.org/a/Project.git", "project"),
        ("https://example.org/a/project/", "project"),
        ("git@example.org:project.git", "project"),
        ("file:///somewhere/My%20Work", "my-20work"),
        ("https://example.org/---", "repository"),
        (f"https://example.org/{'x' * 300}", "x" * 80),
    ],
)
def test_an_id_is_the_repository_and_the_commit(pocket, head, url, name):
    fix = split_fix(head, find_commit(head, pocket.commits["fix"]))
    assert task_id_of(url, fix) == f"{name}-{pocket.commits['fix'][:12]}"
    assert is_task_id(task_id_of(url, fix))


@pytest.fixture
def fix(pocket, head):
    return split_fix(head, find_commit(head, pocket.commits["fix"]))


def test_a_fix_becomes_a_task_of_files(fix, origin, pocket, tmp_path):
    folder = write_fix_task(
        fix, origin, TaskDestination(parent=tmp_path / "out"), whole_suite=False
    )
    assert folder.name == f"pocket-{pocket.commits['fix'][:12]}"
    task = load_task(folder, mirrors=mirrors())
    assert task.problem.test_paths == ("tests/test_hidden.py",)
    assert "sum(prices[1:])" in (folder / "repo/basket.py").read_text()
    assert not (folder / "repo/tests/test_hidden.py").exists()
    # There is no history to ask; v1.0 is the commit before the fix.
    assert task.environment.env["SETUPTOOLS_SCM_PRETEND_VERSION"] == "1.0"


def test_a_fix_becomes_a_task_of_a_url(fix, origin, pocket, tmp_path):
    told = replace(origin, as_files=False)
    folder = write_fix_task(fix, told, TaskDestination(parent=tmp_path / "out"), whole_suite=True)
    task = load_task(folder, mirrors=mirrors())
    assert (task.source.url, task.source.commit) == (pocket.url, pocket.commits["prose"])
    assert task.problem.test_paths == ()
    assert not (folder / "repo").exists()


def test_destination_names_the_task():
    assert TaskDestination.of(Path("a/my-task")) == TaskDestination(
        parent=Path("a"), task_id="my-task"
    )
    assert TaskDestination.of(None) == TaskDestination(parent=Path("tasks"))
    with pytest.raises(UsageError, match="is not a valid task id"):
        TaskDestination.of(Path("a/My Task"))


def mine_in(folder, pocket):
    """How to mine the pocket's history, with one attempt each."""
    options = RunOptions(sandbox=local_provider().name, runs_dir=folder / "runs", attempts=1)
    origin = FixSource(
        url=pocket.url,
        mirrors=mirrors(),
        environments=EnvironmentFinder(options, Proposal()),
        as_files=True,
    )
    gate = ValidationSettings(options=options, write_ids=True, record=True)
    return MiningSettings(origin=origin, out=folder / "out", gate=gate)


@pytest.fixture(scope="module")
def told(tmp_path_factory, pocket):
    return mine_in(tmp_path_factory.mktemp("mined"), pocket)


@pytest.fixture(scope="module")
def mined(told, head):
    """The entries of all of the history."""
    return mine(told, head, follow)


def test_mining_gives_tasks_and_reasons(told, mined, pocket):
    entries = {entry.commit: entry for entry in mined}
    names = {commit: name for name, commit in pocket.commits.items()}
    fates = {names[commit]: entry.fate for commit, entry in entries.items()}
    assert fates == {
        **dict.fromkeys(pocket.commits, CandidateOutcome.REJECTED),
        "feature": CandidateOutcome.KEPT,  # its test fails before it, too, for lack of what it adds
        "fix": CandidateOutcome.KEPT,
    }
    assert all(
        entry.reasons for entry in entries.values() if entry.fate is CandidateOutcome.REJECTED
    )
    stored = [entry.task for entry in entries.values() if entry.task]
    assert all(read_proof(told.out / name).good for name in stored)
    assert {path.name for path in told.out.iterdir()} == {*stored, "mined.jsonl"}


def test_settled_commit_is_skipped(told, mined, head):
    lines = (told.out / "mined.jsonl").read_text()
    runs = set(told.gate.options.runs_dir.iterdir())
    assert len(mine(told, head, follow)) == len(mined) == 7
    assert (told.out / "mined.jsonl").read_text() == lines
    assert set(told.gate.options.runs_dir.iterdir()) == runs


def test_limit_of_candidates_holds(pocket, head, tmp_path):
    entries = mine(replace(mine_in(tmp_path, pocket), limit=1), head, follow)
    assert sum(entry.candidate for entry in entries) == 1


def test_every_log_entry_has_a_reason(told, mined):
    rows = [json.loads(line) for line in (told.out / "mined.jsonl").read_text().splitlines()]
    assert len(rows) == len(mined)
    assert all(row["reasons"] or row["task"] for row in rows)
