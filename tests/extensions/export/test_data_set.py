"""Data sets of real runs, read with the libraries that people read them with."""

import json

import jsonschema
import pytest
from huggingface_hub import DatasetCard
from pyarrow import parquet

from agentbench import Judge, RunOptions
from agentbench.core.host import default_cache_dir
from agentbench.errors import InputError, UsageError
from agentbench.extensions.export.leaks import Leak
from agentbench.extensions.export.option_values import ExportFormat, VerdictKind
from agentbench.extensions.export.row_schema import row_schema
from agentbench.extensions.export.sources import SourceRun
from agentbench.judge.reward_kind import RewardKind
from agentbench.models.trajectory import Trajectory
from agentbench.tasks.loading import load_task
from tests.audit.conftest import edit_record
from tests.e2e.small_task import BUGGY, HIDDEN, LISTED
from tests.extensions.export.recorded_runs import (
    NUMBERS,
    OWN_FIX,
    SECRET,
    SOLUTION,
    SUBMIT,
    model_run,
    printed,
    run,
)
from tests.extensions.llm.hunks import edits_of
from tests.fakes.scripted_model import Call, Calls
from tests.fakes.staging import local_provider, mirrors, small_task
from tests.judge.conftest import patch_to

pytestmark = pytest.mark.full

KEPT = {"honest", "same as the solution", "shows a key"}
LEAKS = {
    "sees the tests": Leak.HIDDEN_TESTS,
    "sees numbered tests": Leak.HIDDEN_TESTS,
    "sees the solution": Leak.GIVEN_SOLUTION,
    "applies the solution": Leak.FOREIGN_PATCH,
}
HIDDEN_LINES = [line.strip() for line in HIDDEN.splitlines() if "assert" in line]


def all_text(folder):
    return "".join(
        path.read_bytes().decode("utf-8", "replace")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".parquet"
    )


def attempts_in(rows):
    names = {number: name for name, number in NUMBERS.items()}
    return {names[row["attempt"]] for row in rows if row["run_id"] == "scripted"}


@pytest.mark.parametrize("format_name", list(ExportFormat))
def test_every_format_loads_and_its_card_is_one(exported, runs, load, format_name):
    folder = exported(format_name, *runs.values(), license="apache-2.0")
    loaded = load(folder)
    assert len(loaded) == exported.counts.rows > 2
    card = DatasetCard.load(folder / "README.md")
    assert card.data.license == "apache-2.0"
    assert card.data.size_categories == ["n<1K"]
    assert "agentbench" in card.data.tags
    assert all(f"| `{column}` |" in card.text for column in loaded.column_names)
    assert "Not checked" not in card.text


def test_chat_has_the_messages_of_the_agent(exported, runs, load):
    folder = exported(ExportFormat.SFT, *runs.values())
    rows = list(load(folder))
    assert attempts_in(rows) == KEPT
    row = next(row for row in rows if row["attempt"] == NUMBERS["honest"])
    assert row["messages"] == exported.lines()[0]["messages"]  # no field is added or lost
    roles = [message["role"] for message in row["messages"]]
    assert roles == ["system", "user", *("assistant", "tool") * 3, "assistant"]
    _, asked, looks, *_ = row["messages"]
    assert "leaves the first price out" in asked["content"]
    (call,) = looks["tool_calls"]
    assert call["function"] == {"name": "read_file", "arguments": {"path": "basket.py"}}
    assert row["messages"][3]["tool_call_id"] == call["id"]
    tools = {tool["function"]["name"] for tool in json.loads(row["tools"])}
    assert {"read_file", "edit", "run", "submit"} <= tools
    assert (row["reward"], row["reason"], row["kind"]) == (1.0, None, "conversation")
    assert (row["behaviour"], row["solved_at_step"]) == (
        ["never-ran-tests", "own-test-missing"],
        None,
    )


def test_attempt_without_a_conversation_is_the_instruction_and_the_patch(exported, runs):
    exported(ExportFormat.SFT, runs["fixes"], runs["misses"])
    (row,) = exported.lines()
    assert (row["kind"], row["tools"], row["model"]) == ("patch", None, None)
    asked, answer = row["messages"]
    assert asked == {"role": "user", "content": "`total` leaves the first price out.\n"}
    assert f"+    {OWN_FIX}" in answer["content"]


@pytest.mark.parametrize("format_name", list(ExportFormat))
def test_given_solutions_are_left_out(exported, runs, format_name):
    folder = exported(format_name, runs["scripted"], runs["misses"])
    for name, leak in LEAKS.items():
        number = sum(other is leak for other in LEAKS.values())
        assert exported.counts.left_out[leak] == number, name
    if format_name is ExportFormat.PARQUET:
        text = str(parquet.read_table(folder / "data" / "train.parquet").to_pylist())
    else:
        text = all_text(folder)
    assert [line for line in HIDDEN_LINES if line in text] == []
    assert [test for test in LISTED if test.partition("::")[2] in text] == []


def test_change_that_equals_the_solution_is_kept_if_the_agent_wrote_it(exported, runs):
    exported(ExportFormat.SFT, runs["scripted"])
    (row,) = (r for r in exported.lines() if r["attempt"] == NUMBERS["same as the solution"])
    added = [line for line in SOLUTION.splitlines() if line.startswith("+  ")]
    assert len(added) == 3
    assert all(line[1:] in str(row["messages"][-2]["content"]) for line in added)


def test_oracle_is_never_exported(exported, runs):
    edit_record(runs["fixes"], lambda record: record.update(agent="oracle"))
    exported(ExportFormat.PARQUET, *runs.values(), unchecked=True)
    assert exported.counts.left_out["the agent is the oracle, which applies the solution"] == 1


def test_secrets_are_removed_by_their_values_and_by_their_forms(exported, runs):
    folder = exported(
        ExportFormat.SFT, runs["scripted"], environ={"SOME_TOKEN": "leaves the first price"}
    )
    text = all_text(folder)
    assert SECRET not in text
    assert "leaves the first price" not in text
    assert "[removed]" in text
    assert exported.counts.redacted == exported.counts.rows == len(KEPT)


def test_without_a_verdict_there_is_no_reward(exported, runs, load):
    rows = list(load(exported(ExportFormat.PARQUET, *runs.values())))
    lost = [row for row in rows if row["fault"] == "infrastructure"]
    assert [row["attempt"] for row in lost] == [NUMBERS["model fails"]]
    assert [row["reward"] for row in lost] == [None]
    assert all(row["reward"] == 0.0 for row in rows if row["fault"] == "agent")
    assert all(row["reward"] == 1.0 for row in rows if row["resolved"])


def test_table_has_patches_and_numbers_and_no_names_of_tests(exported, runs, load):
    folder = exported(ExportFormat.PARQUET, *runs.values())
    row = next(row for row in load(folder) if row["run_id"] == "misses")
    assert (row["tests_to_fix"], row["tests_fixed"], row["tests_regressed"]) == (2, 1, 0)
    assert row["patch"].startswith("diff --git a/basket.py")
    assert (row["kind"], row["requests"], row["tests"], row["detail"]) == ("patch", None, [], None)
    honest = next(row for row in load(folder) if row["attempt"] == NUMBERS["honest"])
    assert honest["output_tokens"] > 0
    assert json.loads(honest["messages"][2]["tool_calls"][0]["arguments"]) == {"path": "basket.py"}


def test_names_of_tests_come_on_request(exported, runs, load):
    folder = exported(ExportFormat.PARQUET, runs["misses"], test_names=True)
    (row,) = load(folder)
    assert {test["node_id"] for test in row["tests"]} >= set(LISTED)
    assert row["detail"] == "1 of 4 tests failed"
    assert "name hidden tests" in (folder / "README.md").read_text()


def test_trajectory_has_its_verdict(exported, runs):
    exported(ExportFormat.ATIF, *runs.values())
    found = [Trajectory.model_validate(line) for line in exported.lines()]
    extras = {one.extra["attempt"]: one.extra for one in found}
    assert set(extras) == {NUMBERS[name] for name in NUMBERS if name not in LEAKS}
    assert extras[NUMBERS["wrong"]]["reward"] == 0.0
    assert extras[NUMBERS["model fails"]]["reward"] is None
    assert extras[NUMBERS["honest"]]["task_id"] == "small"
    left_out = exported.counts.left_out["no conversation with a model was recorded"]
    assert left_out == 3


def test_pairs_are_honest_and_repeatable(exported, runs):
    exported(ExportFormat.PREFERENCE, *runs.values(), pairs_per_task=100)
    rows = exported.lines()
    conversations = [row for row in rows if row["kind"] == "conversation"]
    assert len(conversations) == len(KEPT) * 2
    assert len(rows) - len(conversations) == 1
    for row in rows:
        assert row["chosen_attempt"]["reward"] == 1.0
        assert row["rejected_attempt"]["reward"] == 0.0
        assert row["rejected_attempt"]["reason"] == "TESTS_FAILED"
        assert row["prompt"][-1]["role"] == "user"
        assert row["chosen"][0]["role"] == row["rejected"][0]["role"] == "assistant"
        assert row["chosen"] != row["rejected"]
    exported(ExportFormat.PREFERENCE, *runs.values(), pairs_per_task=3, seed=7)
    few = exported.lines()
    exported(ExportFormat.PREFERENCE, *reversed(runs.values()), pairs_per_task=3, seed=7)
    assert exported.lines() == few
    assert len(few) == 3


def test_quarantined_attempt_is_no_example(exported, runs):
    edit_quarantined(runs["fixes"])
    with pytest.raises(InputError, match="found none"):
        exported(ExportFormat.SFT, runs["fixes"])
    for verdict in (VerdictKind.FAILED, VerdictKind.RESOLVED):
        with pytest.raises(InputError, match="found none"):
            exported(ExportFormat.SFT, runs["fixes"], verdicts=frozenset({verdict}))
    with pytest.raises(InputError, match="found none"):
        exported(ExportFormat.PREFERENCE, runs["fixes"], runs["misses"])
    with pytest.raises(UsageError, match="found quarantined"):
        exported(ExportFormat.SFT, runs["fixes"], verdicts=frozenset({VerdictKind.QUARANTINED}))
    exported(ExportFormat.PARQUET, runs["fixes"])
    (row,) = parquet.read_table(exported.folder / "data" / "train.parquet").to_pylist()
    assert (row["quarantined"], row["reward"]) == (True, 0.0)


def edit_quarantined(folder):
    change = {
        "resolved": False,
        "quarantined": True,
        "failure_reason": "TESTS_FAILED",
        "fault": "agent",
    }
    edit_record(folder, lambda record: record.update(change))


def test_share_of_the_tests_is_a_reward_on_request(exported, runs):
    exported(
        ExportFormat.SFT,
        runs["misses"],
        verdicts=frozenset({VerdictKind.FAILED}),
        reward=RewardKind.FIXED_SHARE,
    )
    assert [row["reward"] for row in exported.lines()] == [0.5]
    assert "the share of the tests to fix" in (exported.folder / "README.md").read_text()


def test_running_run_exports_its_ended_attempts(exported, runs):
    going = runs["scripted"]
    content = json.loads((going / "run.json").read_text())
    del content["digest"]
    (going / "run.json").write_text(json.dumps(content | {"ended_at": None, "ending": None}))
    lines = (going / "attempts.jsonl").read_bytes().splitlines(keepends=True)
    (going / "attempts.jsonl").write_bytes(b"".join(lines[:1]) + lines[1][:50])
    for number in range(2, len(lines) + 1):
        (going / "attempts" / "small" / str(number) / "record.json").unlink()
    warning = f"scripted is not finished: {len(lines) - 1} attempts have no record yet"
    assert warning in SourceRun.open(going).warnings()
    exported(ExportFormat.SFT, going)
    assert [row["attempt"] for row in exported.lines()] == [1]
    assert "it was not finished" in (exported.folder / "README.md").read_text()


def test_honest_fix_of_a_shipped_task_is_kept(exported, catalogue, tmp_path):
    task = load_task(catalogue / "lru-expiry", mirrors=mirrors())
    edits = [Call("edit", given) for given in edits_of(task.answer_key.solution_patch.decode())]
    files = sorted({str(edit.arguments["path"]) for edit in edits})
    look = [Call("read_file", {"path": path}) for path in files]
    script = [Calls(look), Calls(edits), run(f"git diff; cat -n {' '.join(files)}"), SUBMIT]
    stolen = [run(printed(task.answer_key.solution_patch.decode())), *script]
    folder = model_run(task, tmp_path / "shipped", "two", [script, stolen])
    exported(ExportFormat.SFT, folder)
    assert [row["attempt"] for row in exported.lines()] == [1]
    assert exported.counts.left_out == {Leak.GIVEN_SOLUTION: 1}


def test_changes_that_a_judge_scored_are_patches(exported, tmp_path):
    patches = {True: patch_to(BUGGY.replace("prices[1:]", "prices")), False: patch_to("total = 1")}
    options = RunOptions(runs_dir=tmp_path / "judged", retries=0, cache_dir=default_cache_dir())
    task = small_task(tmp_path / "small")
    with Judge(sandbox=local_provider(), jobs=1, options=options, use_verdicts=False) as judge:
        for is_fix, patch in patches.items():
            assert judge.score(task, patch=patch).result().resolved is is_fix
        folder = judge.folder
    exported(ExportFormat.PREFERENCE, folder)
    (row,) = exported.lines()
    assert row["kind"] == "patch"
    assert "+    return sum(prices)" in row["chosen"][0]["content"]
    assert "+total = 1" in row["rejected"][0]["content"]


@pytest.mark.parametrize("format_name", [ExportFormat.SFT, ExportFormat.PREFERENCE])
def test_rows_fit_their_schema(exported, runs, format_name):
    exported(format_name, *runs.values())
    schema = json.loads(row_schema())
    wanted = {"$defs": schema["$defs"], **schema["properties"][format_name.value]}
    for row in exported.lines():
        jsonschema.validate(row, wanted)


class TestWithoutTheTask:
    @pytest.fixture
    def gone(self, runs):
        folder = runs["scripted"]
        content = json.loads((folder / "run.json").read_text())
        del content["digest"]
        content["tasks"][0]["folder"] += "-gone"
        (folder / "run.json").write_text(json.dumps(content))
        return folder

    def test_it_is_refused_with_what_to_do(self, exported, gone):
        with pytest.raises(InputError, match=r"--tasks PATH, or add --unchecked") as caught:
            exported(ExportFormat.SFT, gone)
        assert "small: " in str(caught.value)
        assert not exported.folder.exists()

    def test_the_named_task_counts(self, exported, gone, task):
        exported(ExportFormat.SFT, gone, named=(task,))
        assert attempts_in(exported.lines()) == KEPT
        assert all(row["checked"] for row in exported.lines())

    def test_unchecked_rows_say_so(self, exported, gone):
        exported(ExportFormat.SFT, gone, unchecked=True)
        rows = exported.lines()
        assert attempts_in(rows) == KEPT | set(LEAKS)
        assert not any(row["checked"] for row in rows)
        assert (
            "**Not checked for leaks: 7 of 7 rows.**" in (exported.folder / "README.md").read_text()
        )

    def test_another_state_of_the_task_is_not_the_task(self, exported, runs):
        def change(record):
            record["task_digest"] = "0" * 64

        edit_record(runs["fixes"], change)
        with pytest.raises(InputError, match="changed after the run"):
            exported(ExportFormat.SFT, runs["fixes"])
