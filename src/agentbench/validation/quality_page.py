"""What a validation measured of tasks, for their authors: facts with evidence, and what to change.

There is no grade. A fact that was not measured says so, and names the option that measures it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from agentbench.core.display_text import counted, one_line, printable
from agentbench.report.formatting import controls_text
from agentbench.report.text_reports import code, escaped, head, row
from agentbench.scoring.evidence import Finding
from agentbench.validation.fairness_results import Fairness, VariantOutcome
from agentbench.validation.mutation_results import MutantChange, MutationScore, killed_text
from agentbench.validation.stored_proof import StoredProof, control_counts
from agentbench.validation.task_quality import UNSTATED_RULES, needed_findings, unstated_findings
from agentbench.validation.task_validation import ValidationResult

_MAX_EVIDENCE = 20  # pieces of a fact; a task may have hundreds of mutants
_MAX_TEXT = 400  # characters
_UNKNOWN = "not measured"
_NO_COUNT = "not recorded by the version that validated it; validate the task again with --record"


class Evidence(NamedTuple):
    """One piece of evidence."""

    where: str  # a file and a line, or a test
    what: str
    failure: str = ""  # of a test
    change: str = ""  # lines of a diff


class QualityFact(NamedTuple):
    """One thing that is known about a task."""

    topic: str
    answer: str
    evidence: Sequence[Evidence] = ()
    advice: str = ""  # what to change; empty: nothing


def quality_facts(proof: StoredProof) -> tuple[QualityFact, ...]:
    """What is known about a task, in the order of the page."""
    return (
        *_resolved_counts(proof),
        _flaky_tests(proof),
        _controlled_tests(proof),
        _too_wide(proof),
        _too_narrow(proof),
        _leaks(proof),
    )


def quality_markdown(
    validated: Sequence[ValidationResult],
    strengths: Mapping[Path, MutationScore],
    fairness: Mapping[Path, Fairness],
) -> Iterator[str]:
    """The page about some tasks: a table if there are several, and a section for each.

    Args:
        validated: The results of validation; their proofs may have earlier measurements.
        strengths: New mutation scores, by the folders of tasks.
        fairness: New results of variants, by the folders of tasks.
    """
    results = [_with_measurements(one, strengths, fairness) for one in validated]
    yield "# Quality of tasks\n\n"
    yield (
        "Facts from a validation, without a grade. `docs/task-quality.md` of agentbench says how "
        "each is measured.\n\n"
    )
    if len(results) > 1:
        yield from _table(results)
    for result in results:
        yield from _section(result)


def _resolved_counts(proof: StoredProof) -> Iterator[QualityFact]:
    number = proof.resolved_by_reference
    is_short = number is not None and number < proof.repeat
    yield QualityFact(
        "solvable",
        _NO_COUNT
        if number is None
        else f"the reference solution resolved {number} of {counted(proof.repeat, 'attempt')}",
        advice="Correct the reference solution, the set-up or the lists of tests: `agentbench "
        "validate` names the first failing test and the command that shows its run."
        if is_short
        else "",
    )
    number = proof.resolved_by_noop
    yield QualityFact(
        "not solved already",
        _NO_COUNT
        if number is None
        else f"doing nothing resolved {number} of {counted(proof.repeat, 'attempt')}",
        advice="List in `fail_to_pass` only tests that fail without the fix, or write one."
        if number
        else "",
    )


def _flaky_tests(proof: StoredProof) -> QualityFact:
    quarantined = len(proof.quarantined)
    parts = [counted(len(proof.flake_rates), "flaky test") if proof.flake_rates else "none found"]
    parts += [f"{quarantined} quarantined, which decide nothing"] if quarantined else []
    return QualityFact(
        "flaky tests",
        f"{', '.join(parts)} ({counted(2 * proof.repeat, 'attempt')})",
        [
            *(
                Evidence(test, f"another outcome in {rate:.0%} of its runs")
                for test, rate in proof.flake_rates.items()
            ),
            *(Evidence(test, "quarantined") for test in proof.quarantined),
        ],
        "Remove what differs between runs, such as time, order and random numbers, or leave the "
        "tests out: `--record` quarantines them."
        if proof.flake_rates
        else "",
    )


def _controlled_tests(proof: StoredProof) -> QualityFact:
    evidence = [
        *(Evidence(test, f"not sealed: {why}") for test, why in proof.unsealed.items()),
        *(
            Evidence(f"{weak.file}::{weak.function}", f"weak: {weak.reason}")
            for weak in proof.weakly_controlled
        ),
    ]
    counts = control_counts(proof, proof.fail_to_pass)
    return QualityFact(
        "controlled tests",
        controls_text(counts) if counts else f"{_UNKNOWN}: no control run was made",
        evidence,
        "Compare each value that the fix is about with a constant, by `==` or "
        "`pytest.raises(…, match=…)`, in the test itself."
        if evidence
        else "",
    )


def _too_wide(proof: StoredProof) -> QualityFact:
    score, topic = proof.strength, "too wide"
    if score is None:
        return QualityFact(topic, f"{_UNKNOWN}: `validate --strength` does")
    if score.why_not:
        return QualityFact(topic, f"{_UNKNOWN}: {score.why_not}")
    survivors, certified = score.survivors, score.certified
    parts = [f"{killed_text(score)} mutants killed", f"{len(survivors)} survived"]
    parts += [f"{len(certified)} of them certified wrong"] if certified else []
    evidence = [
        _changed(one.change, f"certified wrong by {sign.kind.value}, `{sign.where}`", sign.what)
        for one in certified
        for sign in one.evidence[:1]
    ]
    evidence += [_changed(one.change, "survived") for one in survivors if not one.evidence]
    advice = []
    if certified:
        advice.append("Add a test that each certified wrong fix fails.")
    if len(survivors) > len(certified):
        advice.append(
            "Would a user call a program that survived broken? Then add a test of that behaviour; "
            "otherwise it is equivalent, and nothing is to be done."
        )
    return QualityFact(topic, ", ".join(parts), evidence, " ".join(advice))


def _too_narrow(proof: StoredProof) -> QualityFact:
    fairness, unstated = proof.fairness, unstated_findings(proof)
    needed = needed_findings(proof)
    parts = [f"{counted(len(needed), 'name or message')} that nothing gives"] if needed else []
    guessable = len(unstated) - len(needed)
    parts += [f"{guessable} that can be guessed"] if guessable else []
    evidence = [Evidence(each.where, f"{each.rule}: {each.what}") for each in unstated]
    rejected = fairness.rejected if fairness is not None else ()
    if fairness is None:
        parts += ["variants of the fix not run: `validate --fairness` does"]
    elif fairness.why_not:
        parts += [f"variants of the fix not run: {fairness.why_not}"]
    else:
        parts += [f"{len(rejected)} of {_right_variants(fairness)} right variants rejected"]
        for outcome in (VariantOutcome.NOT_EQUAL, VariantOutcome.NOT_JUDGED):
            if count := len(fairness.of(outcome)):
                parts.append(f"{counted(count, 'variant')} {outcome.value}")
        parts += [fairness.not_tried] if fairness.not_tried else []
    for one in rejected:
        tests = ", ".join(one.rejected_by[:_MAX_EVIDENCE])
        what = f"{one.kind.value}, rejected by `{tests}`"
        evidence.append(_changed(one.change, what, one.assertion))
    beyond = fairness.beyond if fairness is not None else ()
    evidence += [Evidence(each.where, f"weak evidence: {each.what}") for each in beyond]
    return QualityFact(
        "too narrow",
        "; ".join(parts),
        evidence,
        "State the name, message or form in instruction.md, or test only what it states: "
        "`agentbench tasks fix-tests` proposes assertions."
        if needed or rejected
        else "",
    )


def _leaks(proof: StoredProof) -> QualityFact:
    leaks = _found_leaks(proof)
    return QualityFact(
        "leaks",
        f"{counted(len(leaks), 'finding')} of the audit" if leaks else "none found",
        [
            Evidence(each.where, f"{each.severity.value}: {each.rule}: {each.what}")
            for each in leaks
        ],
        "Remove the place that gives the answer away; `agentbench audit` and docs/audit.md "
        "describe each rule."
        if leaks
        else "",
    )


def _found_leaks(proof: StoredProof) -> list[Finding]:
    return [leak for leak in proof.leaks if leak.rule not in UNSTATED_RULES]


def _changed(change: MutantChange, result: str, failure: str = "") -> Evidence:
    lines = [
        *(f"- {line}" for line in change.removed.splitlines()),
        *(f"+ {line}" for line in change.added.splitlines()),
    ]
    where = f"{change.path}:{change.line}"
    return Evidence(where, f"{change.what}; {result}", failure, "\n".join(lines))


def _with_measurements(
    result: ValidationResult,
    strengths: Mapping[Path, MutationScore],
    fairness: Mapping[Path, Fairness],
) -> ValidationResult:
    proof, folder = result.stored_proof, result.folder
    if proof is None:
        return result
    proof = proof.replace(
        strength=strengths.get(folder, proof.strength),
        fairness=fairness.get(folder, proof.fairness),
    )
    return replace(result, stored_proof=proof)


def _section(result: ValidationResult) -> Iterator[str]:
    yield f"## {code(result.task_id)}: {'valid' if result.is_valid else 'INVALID'}\n\n"
    for reason in result.reasons:
        yield f"- {escaped(one_line(reason, limit=_MAX_TEXT))}\n"
    yield "\n" if result.reasons else ""
    proof = result.stored_proof
    if proof is None:
        why = "the infrastructure failed" if result.undecided else "its files are wrong"
        yield f"Nothing was measured: {why}.\n\n"
        return
    for fact in quality_facts(proof):
        yield f"**{fact.topic}**: {_with_spans(fact.answer)}\n\n"
        yield from map(_item, fact.evidence[:_MAX_EVIDENCE])
        more = len(fact.evidence) - _MAX_EVIDENCE
        yield f"- and {more} more: `validate --json` lists all\n" if more > 0 else ""
        yield "\n" if fact.evidence else ""
        yield f"What to change: {fact.advice}\n\n" if fact.advice else ""


def _item(evidence: Evidence) -> str:
    what = _with_spans(one_line(evidence.what, limit=_MAX_TEXT))
    # A test's output may have any text, which GitHub would link.
    failure = f": {code(evidence.failure)}" if evidence.failure else ""
    item = f"- {code(evidence.where)}: {what}{failure}\n"
    if evidence.change:
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", evidence.change)), 0)
        lines = [f"{fence}diff", *printable(evidence.change, newlines=True).splitlines(), fence]
        item += "".join(f"  {line}\n" for line in lines)
    return item


def _with_spans(text: str) -> str:
    """A text escaped, except for what is between back-ticks."""
    parts = text.split("`")
    return "".join(code(part) if at % 2 else escaped(part) for at, part in enumerate(parts))


def _table(results: Iterable[ValidationResult]) -> Iterator[str]:
    yield head(["task", "valid", *_COLUMNS])
    for result in results:
        proof = result.stored_proof
        cells = [cell(proof) if proof is not None else "" for cell in _COLUMNS.values()]
        yield row([code(result.task_id), "yes" if result.is_valid else "NO", *cells])
    yield "\n"


def _count_cell(number: int | None, proof: StoredProof) -> str:
    return _UNKNOWN if number is None else f"{number} of {proof.repeat}"


def _sealed_cell(proof: StoredProof) -> str:
    is_controlled = control_counts(proof, proof.fail_to_pass)
    return f"{len(proof.sealed)} of {proof.fail_to_pass}" if is_controlled else _UNKNOWN


def _score_cell(proof: StoredProof) -> str:
    score = proof.strength
    return _UNKNOWN if score is None or score.why_not else killed_text(score)


def _variants_cell(proof: StoredProof) -> str:
    fairness = proof.fairness
    if fairness is None or fairness.why_not:
        return _UNKNOWN
    return f"{len(fairness.rejected)} of {_right_variants(fairness)}"


def _right_variants(fairness: Fairness) -> int:
    """The number of variants that nothing shows to be wrong, and that were judged."""
    return len(fairness.of(VariantOutcome.ACCEPTED)) + len(fairness.rejected)


_COLUMNS: Mapping[str, Callable[[StoredProof], str]] = MappingProxyType(
    {
        "reference resolved": lambda proof: _count_cell(proof.resolved_by_reference, proof),
        "no-op resolved": lambda proof: _count_cell(proof.resolved_by_noop, proof),
        "flaky": lambda proof: str(len(proof.flake_rates)),
        "sealed": _sealed_cell,
        "mutants killed": _score_cell,
        "right variants rejected": _variants_cell,
        "unstated": lambda proof: str(len(needed_findings(proof))),
        "leaks": lambda proof: str(len(_found_leaks(proof))),
    }
)
