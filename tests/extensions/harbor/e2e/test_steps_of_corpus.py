"""Harbor's tasks with steps, from their folders to the rewards of each step."""

import json
import shutil
from pathlib import Path

import pytest

from agentbench.agents.reference import NoopAgent
from agentbench.attempt.record import AttemptRecord, rescore
from agentbench.extensions.harbor.importing import HARBOR
from agentbench.importers.task_folders import import_folders
from agentbench.tasks.loading import load_task
from agentbench.tasks.task import Task
from tests.attempt.e2e import test_verifier_run
from tests.attempt.e2e.test_verifier_run import Bench, oracle
from tests.extensions.harbor.harbor_corpus.run_harbor import CORPUS
from tests.extensions.harbor.harbor_corpus.run_harbor import EXPECTED as EXPECTED_FILE

bench = test_verifier_run.bench
pytestmark = pytest.mark.docker
EXPECTED = json.loads(EXPECTED_FILE.read_text())["tasks"]
STEPS_OF_HARBOR = (
    "09-steps-gate",
    "22-steps-final",
    "23-steps-service",
    "31-broken-step",
    "35-steps-images",
)


def corpus_task(place: Path, given: Bench, name: str, *, wrong: bool) -> Task:
    folder = shutil.copytree(CORPUS / name, place / "theirs" / name)
    for step in (folder / "steps").iterdir():
        if wrong:
            shutil.rmtree(step / "solution")
            shutil.copytree(folder / "wrong", step / "solution")
    (made,) = import_folders(HARBOR, [folder], place / "ours").written
    return load_task(made, mirrors=given.mirrors)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("09-steps-gate", "wrong"),
        ("22-steps-final", "oracle"),
        *(
            pytest.param(name, kind, marks=pytest.mark.soak)
            for name in STEPS_OF_HARBOR
            for kind in ("oracle", "nop", "wrong")
            if (name, kind) not in {("09-steps-gate", "wrong"), ("22-steps-final", "oracle")}
        ),
    ],
)
def test_rewards_of_steps_equal_those_of_harbor(bench, tmp_path, name, kind):
    task = corpus_task(tmp_path, bench, name, wrong=kind == "wrong")
    record = bench.attempt(task, NoopAgent() if kind == "nop" else oracle(task))
    expected = EXPECTED[name][kind]
    assert (record.rewards or None) == expected["rewards"]
    ran = {step.name: step.rewards for step in record.steps if step.ran}
    assert ran == {step: facts["rewards"] for step, facts in expected["steps"].items()}
    assert record.resolved is (kind == "oracle" and name != "31-broken-step")
    assert rescore(AttemptRecord.model_validate_json(record.model_dump_json())) == record
