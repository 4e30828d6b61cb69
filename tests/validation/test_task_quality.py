import pytest

from agentbench.report.reported_run import ReportedRun
from agentbench.runs.store.configuration import TaskEntry, TaskQuality
from agentbench.runs.store.store import RunStore
from agentbench.scoring.evidence import Finding, Severity
from agentbench.tasks.problem import TaskId
from agentbench.validation.fairness_results import (
    Fairness,
    VariantKind,
    VariantOutcome,
    VariantResult,
)
from agentbench.validation.mutation_results import (
    EvidenceKind,
    MutantChange,
    MutationScore,
    WrongFixEvidence,
)
from agentbench.validation.stored_proof import write_proof
from agentbench.validation.task_quality import (
    needed_findings,
    qualities_of_runs,
    quality_in_proof,
    quality_of_entry,
    unstated_findings,
)
from tests.runs.records import configuration
from tests.validation.test_mutation_results import strength_of
from tests.validation.test_stored_proof import PROOF

NEEDED = Finding(
    rule="unstated-name", severity=Severity.WARNING, where="tests/test_a.py:3", what="`f` is new"
)
GUESSABLE = NEEDED.replace(severity=Severity.INFO, what="`g` is new; the project has `h`")
LEAK = Finding(rule="solution-in-base", severity=Severity.CRITICAL, where="a.orig", what="is it")
CHANGE = MutantChange(
    path="a.py", line=7, what="other words", removed='raise ValueError("no")', added="raise E"
)
REJECTED = VariantResult(
    kind=VariantKind.MESSAGE,
    change=CHANGE,
    outcome=VariantOutcome.REJECTED,
    rejected_by=("tests/test_a.py::test_b",),
    assertion="AssertionError: 'no' != 'never'",
)
ACCEPTED = REJECTED.replace(outcome=VariantOutcome.ACCEPTED, rejected_by=(), assertion="")


@pytest.mark.parametrize(
    ("fairness", "leaks", "expected"),
    [
        (None, (), None),
        (None, (LEAK,), None),
        (None, (NEEDED,), True),
        (None, (GUESSABLE,), None),
        (Fairness(why_not="no reference"), (), None),
        (Fairness(why_not="no reference", unstated=(NEEDED,)), (), True),
        (Fairness(), (), None),
        (Fairness(variants=(ACCEPTED,), unstated=(GUESSABLE,)), (), False),
        (Fairness(variants=(ACCEPTED, REJECTED)), (), True),
    ],
)
def test_task_is_fair_only_if_its_variants_ran(fairness, leaks, expected):
    quality = quality_in_proof(PROOF.replace(fairness=fairness, leaks=leaks))
    assert quality.rejects_right_fixes is expected


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (None, None),
        (MutationScore(why_not="it is a script"), None),
        (strength_of(broken=2), None),
        (strength_of(killed=2), False),
        (strength_of(killed=2, survived=1), True),
    ],
)
def test_mutants_are_accepted_if_one_survives(score, expected):
    assert quality_in_proof(PROOF.replace(strength=score)).accepts_mutants is expected


def certified(score):
    """The same score with evidence against its last survivor."""
    *others, last = score.mutants
    sign = WrongFixEvidence(kind=EvidenceKind.INPUT, where="a.f", what="f(0): 1, not 2")
    return score.replace(mutants=(*others, last.replace(evidence=(sign,))))


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (None, None),
        (strength_of(killed=2), False),
        (strength_of(killed=2, survived=1), None),
        (certified(strength_of(killed=2, survived=2)), True),
    ],
)
def test_wrong_fix_is_accepted_only_if_it_is_certified(score, expected):
    assert quality_in_proof(PROOF.replace(strength=score)).accepts_wrong_fixes is expected


def test_task_without_proof_is_not_measured():
    assert quality_in_proof(None) == TaskQuality()


def test_findings_of_audit_and_of_fairness_are_counted_once():
    proof = PROOF.replace(fairness=Fairness(unstated=(GUESSABLE, NEEDED)), leaks=(LEAK, NEEDED))
    assert unstated_findings(proof) == (NEEDED, GUESSABLE)
    assert needed_findings(proof) == (NEEDED,)


@pytest.fixture
def entry(tmp_path):
    folder = tmp_path / "task"
    folder.mkdir()
    quality = TaskQuality(rejects_right_fixes=False, accepts_mutants=True)
    return TaskEntry(id=TaskId("one"), folder=str(folder), digest="d", quality=quality)


def test_quality_of_run_stays_when_folder_is_gone(entry):
    assert quality_of_entry(entry.replace(folder="/nowhere")) == entry.quality
    assert quality_of_entry(entry) == entry.quality


def test_later_proof_of_same_files_has_priority(entry, tmp_path):
    write_proof(tmp_path / "task", PROOF.replace(fairness=Fairness(variants=(REJECTED,))))
    assert quality_of_entry(entry) == TaskQuality(rejects_right_fixes=True, accepts_mutants=True)
    assert quality_of_entry(entry.replace(digest="other")) == entry.quality


def test_task_is_unfair_if_one_of_several_runs_knows_it(tmp_path, entry):
    runs = []
    for name, known in (("a", None), ("b", True), ("c", False)):
        tasks = (entry.replace(quality=TaskQuality(rejects_right_fixes=known)),)
        store = RunStore.create(tmp_path / "runs", configuration(run_id=name, tasks=tasks))
        runs.append(ReportedRun.read(store.folder))
    assert qualities_of_runs(runs).unfair == {"one"}
    assert qualities_of_runs(runs[:1]).by_task["one"] == TaskQuality()
    assert qualities_of_runs([runs[0], runs[2]]).by_task["one"].rejects_right_fixes is False
