from pathlib import Path

import pytest

from agentbench.integrity.records import WeakControl
from agentbench.scoring.evidence import NodeId
from agentbench.tasks.problem import TaskId
from agentbench.validation.fairness_results import Fairness, VariantOutcome
from agentbench.validation.mutation_results import MutationScore
from agentbench.validation.quality_page import quality_facts, quality_markdown
from agentbench.validation.task_validation import ValidationResult
from tests.validation.test_mutation_results import strength_of
from tests.validation.test_stored_proof import PROOF
from tests.validation.test_task_quality import (
    ACCEPTED,
    GUESSABLE,
    LEAK,
    NEEDED,
    REJECTED,
    certified,
)

GOOD = PROOF.replace(
    good=True, reasons=(), resolved_by_reference=3, resolved_by_noop=0, sealed=(NodeId("t.py::b"),)
)


def fact(proof, topic):
    (found,) = [each for each in quality_facts(proof) if each.topic == topic]
    return found


def result_of(proof, name="one", **more):
    return ValidationResult(
        folder=Path(name),
        task_id=TaskId(name),
        reasons=proof.reasons if proof is not None else ("task.toml: is wrong",),
        stored_proof=proof,
        **more,
    )


def page(*results, strengths=None, fairness=None):
    return "".join(quality_markdown(results, strengths or {}, fairness or {}))


def test_good_task_has_facts_and_nothing_to_change():
    proof = GOOD.replace(strength=strength_of(killed=4), fairness=Fairness(variants=(ACCEPTED,)))
    assert [each.advice for each in quality_facts(proof)] == [""] * 7
    assert [(each.topic, each.answer) for each in quality_facts(proof)] == [
        ("solvable", "the reference solution resolved 3 of 3 attempts"),
        ("not solved already", "doing nothing resolved 0 of 3 attempts"),
        ("flaky tests", "none found (6 attempts)"),
        ("controlled tests", "1 sealed (100.0 %)"),
        ("too wide", "4 of 4 (100.0 %) mutants killed, 0 survived"),
        ("too narrow", "0 of 1 right variants rejected"),
        ("leaks", "none found"),
    ]


@pytest.mark.parametrize(
    ("topic", "word"),
    [("too wide", "`validate --strength`"), ("too narrow", "`validate --fairness`"),
     ("controlled tests", "not measured"), ("solvable", "not recorded")],
)  # fmt: skip
def test_what_was_not_measured_says_so(topic, word):
    assert word in fact(PROOF.replace(controlled=()), topic).answer


def test_reason_against_a_measurement_is_named():
    proof = GOOD.replace(
        strength=MutationScore(why_not="it is a script"), fairness=Fairness(why_not="no Python")
    )
    assert fact(proof, "too wide").answer == "not measured: it is a script"
    assert fact(proof, "too narrow").answer == "variants of the fix not run: no Python"


def test_each_fault_has_evidence_and_advice():
    proof = GOOD.replace(
        resolved_by_reference=2,
        resolved_by_noop=1,
        flake_rates={NodeId("t.py::b"): 0.25},
        quarantined=(NodeId("t.py::c"),),
        unsealed={NodeId("t.py::d"): "line 3: it stays"},
        weakly_controlled=(WeakControl(file="t.py", function="d", reason="it compares nothing"),),
        strength=strength_of(killed=3, survived=1),
        fairness=Fairness(
            variants=(ACCEPTED, REJECTED), unstated=(NEEDED, GUESSABLE), not_tried="4 not tried"
        ),
        leaks=(LEAK, NEEDED),
    )
    assert all(each.advice for each in quality_facts(proof))
    assert fact(proof, "flaky tests").answer == (
        "1 flaky test, 1 quarantined, which decide nothing (6 attempts)"
    )
    assert fact(proof, "too narrow").answer == (
        "1 name or message that nothing gives; 1 that can be guessed; "
        "1 of 2 right variants rejected; 4 not tried"
    )
    assert fact(proof, "leaks").answer == "1 finding of the audit"
    text = page(result_of(proof))
    assert "- `tests/test_a.py:3`: unstated-name: `f` is new\n" in text
    assert "rejected by `tests/test_a.py::test_b`: `AssertionError: 'no' != 'never'`\n" in text
    assert '  ```diff\n  - raise ValueError("no")\n  + raise E\n  ```\n' in text
    assert "- `a.py:3`: " in text
    assert text.count("What to change: ") == 7


def test_certified_wrong_fixes_come_before_other_survivors():
    proof = GOOD.replace(strength=certified(strength_of(killed=2, survived=2)))
    found = fact(proof, "too wide")
    assert found.answer == ("2 of 4 (50.0 %) mutants killed, 2 survived, 1 of them certified wrong")
    text = page(result_of(proof))
    sign = text.index("certified wrong by input, `a.f`: `f(0): 1, not 2`\n")
    assert sign < text.index("; survived\n")
    assert "Add a test that each certified wrong fix fails. Would a user" in text


def test_variants_that_are_not_right_are_not_counted():
    other = ACCEPTED.replace(outcome=VariantOutcome.NOT_EQUAL)
    proof = GOOD.replace(fairness=Fairness(variants=(ACCEPTED, other, other)))
    assert fact(proof, "too narrow").answer == (
        "0 of 1 right variants rejected; 2 variants not equal"
    )


def test_table_comes_first_only_for_several_tasks():
    assert "| task |" not in page(result_of(GOOD))
    text = page(result_of(GOOD), result_of(PROOF, "two"), result_of(None, "three"))
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `one` | yes | 3 of 3 | 0 of 3 | 0 | 1 of 1 | not measured | not measured | 0 | 0 |",
        "| `two` | NO | not measured | not measured | 0 | not measured | not measured | "
        "not measured | 0 | 0 |",
        "| `three` | NO |  |  |  |  |  |  |  |  |",
    ]
    assert text.index("| `three`") < text.index("## `one`: valid")
    assert "## `two`: INVALID\n\n- flaky: t.py::a\n" in text


def test_task_that_cannot_be_read_says_why():
    assert "Nothing was measured: its files are wrong." in page(result_of(None))
    text = page(result_of(None, undecided=True))
    assert "Nothing was measured: the infrastructure failed." in text


def test_new_measurements_replace_stored_ones():
    stored = GOOD.replace(strength=strength_of(killed=1, survived=1))
    new = {Path("one"): strength_of(killed=9)}
    text = page(result_of(stored), strengths=new, fairness={Path("one"): Fairness()})
    assert "9 of 9" in text
    assert "0 of 0 right variants" in text


def test_hostile_texts_stay_texts():
    change = REJECTED.change.replace(added="````\n# not a title\n@someone", path="`a`|b.py")
    bad = REJECTED.replace(change=change, assertion="<b>\x1b[31m\n# no title `code` @someone #1")
    text = page(result_of(GOOD.replace(fairness=Fairness(variants=(bad,)))))
    assert "\x1b" not in text
    assert ": ``<b>\\u000a# no title `code` @someone #1``\n" in text
    assert "\n  `````diff\n" in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Quality of tasks", "## `one`: valid",
    ]  # fmt: skip


def test_evidence_is_cut_and_says_how_much():
    proof = GOOD.replace(strength=strength_of(survived=30))
    assert "- and 10 more: `validate --json` lists all\n" in page(result_of(proof))
