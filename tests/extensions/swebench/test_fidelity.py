"""The report of an import: valid Markdown for whatever became of the instances."""

import re
from dataclasses import replace

import pytest

from agentbench.extensions.swebench.batches import ImportedInstances
from agentbench.extensions.swebench.fidelity import fidelity_markdown, instance_reports
from agentbench.extensions.swebench.import_state import ImportStep, InstanceState
from agentbench.tasks.dataset_rows import Rejection
from agentbench.taxonomy import StageName
from agentbench.validation.fairness_results import Fairness
from agentbench.validation.task_proof import TaskProof
from agentbench.validation.task_validation import ValidationResult
from tests.validation.test_mutation_results import strength_of
from tests.validation.test_stored_proof import PROOF
from tests.validation.test_task_quality import REJECTED

QUARANTINED = '[tests]\nquarantined = [{ id = "t.py::test_a[x|y]", rate = 0.333 }]\n'


@pytest.fixture
def imported(tmp_path):
    """A valid instance with a flaky test, an invalid one, one not run, and two refused ones."""
    results = ImportedInstances(total=9, seen=5)
    for name, toml in (("valid", QUARANTINED), ("invalid", ""), ("pending", "")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "task.toml").write_text(toml)
        results.states[folder] = InstanceState(
            instance_id=f"a__b-{name}",
            key="k",
            step=ImportStep.LOCATED,
            environment="Python 3.9, by a recipe",
            replaces="3.10",
            differences=(f"a__b-{name}: 1 of 2 tests in PASS_TO_PASS fail here: t.py::b[|]",),
        )
        reasons = ("the reference solution ends in TESTS_FAILED: 2 failed",)
        seconds = {StageName.SETUP: 3.0, StageName.FINAL_TEST: 4.4}
        proof = TaskProof(faults=(), flaky=(), runs=2, seconds=seconds)
        if name != "pending":
            results.proven[folder] = ValidationResult(
                folder=folder,
                task_id=name,
                reasons=reasons if name == "invalid" else (),
                proof=proof,
            )
    for number in (1, 2):
        what = f"'main{number}' is not a full hash"
        where = f"in.jsonl:{number}"
        name = f"c__d-{number}"
        results.rejections.append(
            Rejection(where=where, instance=name, field="base_commit", what=what)
        )
    return results


def test_each_instance_has_its_outcome(imported):
    reports = {each.instance: each for each in instance_reports(imported)}
    assert {name: each.outcome for name, each in reports.items()} == {
        "a__b-valid": "valid",
        "a__b-invalid": "invalid",
        "a__b-pending": "not run",
        "c__d-1": "refused",
        "c__d-2": "refused",
    }
    valid = reports["a__b-valid"]
    assert valid.environment == "Python 3.9, by a recipe, instead of Python 3.10"
    assert valid.flaky == ("t.py::test_a[x|y] (33%)",)
    assert (valid.seconds, reports["a__b-pending"].seconds) == (7.4, None)
    assert imported.python_notes() == [
        "3 instances ran with Python 3.9 instead of 3.10, for which no base image is available"
    ]


def test_the_report_has_tables_that_every_renderer_reads(imported):
    text = fidelity_markdown(imported, 61.2)
    assert (
        "9 instances: 2 refused, 1 invalid, 1 not run, 1 valid, 4 not reached: "
        "the import was interrupted. The import ran for 61 s." in text
    )
    tables = re.findall(r"(?m)(?:^\|.*\|\n)+", text)
    assert len(tables) == text.count("\n## ") == 4
    for table in tables:
        lines = table.splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
        assert re.fullmatch(r"\|( --- \|)+", lines[1])
    assert "| refused | 2 | base\\_commit: … is not a full hash |" in text, "one group for both"
    assert "| `a__b-valid` | `t.py::test_a[x\\|y] (33%)` |" in text


def test_the_report_counts_tasks_with_unfair_tests_and_those_not_measured(imported):
    text = fidelity_markdown(imported, 61.2)
    assert "\nTests of 2 tasks: 0 reject right fixes (2 not measured), 0 accept changed" in text
    folder = next(iter(imported.proven))
    found = replace(
        imported.proven[folder],
        stored_proof=PROOF.replace(
            fairness=Fairness(variants=(REJECTED,)), strength=strength_of(survived=1)
        ),
    )
    imported.proven[folder] = found
    text = fidelity_markdown(imported, 61.2)
    assert (
        "\nTests of 2 tasks: 1 reject right fixes (1 not measured), 1 accept changed solutions, 0 "
        "of them certified wrong ones (1 not measured). `agentbench validate" in text
    )


def test_an_import_without_instances_has_a_report():
    text = fidelity_markdown(ImportedInstances(), 0.4)
    assert text.splitlines()[2] == "0 instances: none imported. The import ran for 0 s."


def test_a_line_of_progress_has_counts_time_and_space(imported):
    imported.seen_before = 1
    line = imported.progress_line(12_340_000_000, imported.started + 7200)
    assert line == (
        "5 of 9 instances: 1 valid, 1 invalid, 2 refused; about 2 h 0 min left; "
        "images and snapshots take 12.3 GB"
    )
    imported.seen = 9
    assert imported.progress_line(None, imported.started) == (
        "9 of 9 instances: 1 valid, 1 invalid, 2 refused"
    )
