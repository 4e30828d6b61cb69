"""Tests of the export of predictions."""

import hashlib

import pytest

from agentbench.agents.predictions import NO_PREDICTION, read_predictions
from agentbench.attempt.record import AgentRecord, PatchRecord
from agentbench.extensions.swebench.predictions import predictions_of
from agentbench.extensions.swebench.report import reported_instances
from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.configuration import TaskEntry
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import AgentEnding
from agentbench.tasks.dataset_rows import ORIGIN_FILE, SwebenchOrigin, origin_json
from tests.runs.records import configuration, failed, lost

DIFF = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+\xc3\xa4 \xe2\x80\xa8\n"
SUBMITTED = AgentRecord(ending=AgentEnding.SUBMITTED)


@pytest.fixture
def made(tmp_path):
    """Makes a run of the given records with their patches; returns what is exported of it."""

    def make(*records, patches=()):
        folders = {record.task_id: tmp_path / record.task_id for record in records}
        tasks = tuple(TaskEntry(id=n, folder=str(f), digest="d") for n, f in folders.items())
        store = RunStore.create(tmp_path / "runs", configuration(tasks=tasks))
        for record, patch in zip(records, patches, strict=True):
            folder, _ = store.attempt_folder(record.task_id, record.attempt)
            if patch is not None:
                (folder / "patch.diff").write_bytes(patch)
            store.append(record, folder)
        instances = reported_instances(ReportedRun.read(store.folder))
        warnings = []
        return list(predictions_of(store.folder, instances, warn=warnings.append)), warnings

    return make


def patched(content=DIFF, **more):
    digest = hashlib.sha256(content).hexdigest()
    patch = PatchRecord(path="../x", sha256=digest, files=1, insertions=1, deletions=1)
    return failed(patch=patch, **{"agent_run": SUBMITTED, **more})


def test_a_prediction_has_the_instance_s_own_id_the_agent_and_the_patch(made, tmp_path):
    origin = SwebenchOrigin(instance_id="One__x-1", repo="One/x", fail_to_pass=("t.py::a",))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / ORIGIN_FILE).write_bytes(origin_json(origin))
    (prediction,), warnings = made(patched(agent="claude-code"), patches=[DIFF])
    assert prediction.instance_id == "One__x-1"
    assert prediction.model_name_or_path == "claude-code"
    assert (prediction.model_patch or "").encode() == DIFF
    assert warnings == []


def test_submitted_predictions_keep_the_name_of_their_model(made):
    records = [
        patched(agent="predictions:/x/gold.jsonl", task_id="a"),
        patched(agent="predictions:/x/all.jsonl#openai/gpt", task_id="b"),
    ]
    records += [patched(agent="llm", model="openai/x", task_id="c")]
    found, _ = made(*records, patches=[DIFF, DIFF, DIFF])
    assert [each.model_name_or_path for each in found] == ["gold", "openai/gpt", "llm+openai/x"]


def test_no_change_is_an_empty_patch_and_no_answer_is_no_prediction(made):
    unanswered = AgentRecord(ending=AgentEnding.TOOL_ERROR, detail=NO_PREDICTION)
    found, warnings = made(
        failed(task_id="a", agent_run=SUBMITTED),
        lost(task_id="b"),
        failed(task_id="c", agent_run=unanswered),
        patches=[None, None, None],
    )
    assert [(each.instance_id, each.model_patch) for each in found] == [("a", "")]
    assert warnings == []


def test_a_patch_that_cannot_be_exported_is_named_and_the_others_are_written(made, tmp_path):
    records = [
        patched(task_id="gone"),
        patched(task_id="changed"),
        patched(b"\xff", task_id="binary"),
        patched(task_id="good"),
    ]
    found, warnings = made(*records, patches=[None, b"other", b"\xff", DIFF])
    assert [each.instance_id for each in found] == ["good"]
    assert [line.split(f"{tmp_path}/")[0] for line in warnings] == [
        "gone: no prediction: ", "changed: no prediction: ", "binary: no prediction: ",
    ]  # fmt: skip
    assert warnings[0].endswith("cannot be read: No such file or directory")
    assert warnings[1].endswith("was changed since the attempt")
    assert warnings[2].endswith("is not UTF-8 text; a prediction must be")


def test_agentbench_reads_its_own_predictions(made, tmp_path):
    found, _ = made(patched(), failed(task_id="two", agent_run=SUBMITTED), patches=[DIFF, None])
    path = tmp_path / "all.jsonl"
    path.write_text("".join(f"{each.model_dump_json()}\n" for each in found), "utf-8")
    assert read_predictions(path) == {"one": DIFF, "two": None}
