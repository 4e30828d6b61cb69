"""A patch with weaker assertions where the tests of a task are known to reject right fixes."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from agentbench.audit.task_facts import TaskFacts
from agentbench.audit.unstated import unstated_messages
from agentbench.errors import InputError
from agentbench.extensions.test_quality.relaxed_assertions import StrictAssertion, relaxations
from agentbench.python_source.functions import split_id
from agentbench.python_source.source_text import apply_edits, parse_source
from agentbench.scoring.evidence import Finding
from agentbench.validation.fairness_results import VariantKind
from agentbench.validation.stored_proof import StoredProof
from agentbench.validation.task_quality import UNSTATED_RULES, unstated_findings

_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedPatch:
    """Weaker assertions for a task's tests, as a patch of the tree that has the hidden tests."""

    patch: str  # empty: there is no proposal
    proposals: tuple[str, ...]  # a line for each
    without: tuple[str, ...]  # findings without a proposal, each with the reason


def propose_patch(facts: TaskFacts, proof: StoredProof | None) -> ProposedPatch:
    """The weaker assertions for what is known of a task.

    Args:
        facts: The task with its tests.
        proof: The proof of the same files; None: there is none.

    Raises:
        InputError: the base of the task cannot be read.
    """
    if facts.unread and not facts.deciding_files:
        raise InputError(f"{facts.task.folder}: {'; '.join(facts.unread)}")
    strict = dict(_strict_assertions(facts, proof))
    by_file: dict[str, list[StrictAssertion]] = {}
    for assertion, where in strict.items():
        by_file.setdefault(where, []).append(assertion)
    patches: list[str] = []
    proposals: list[str] = []
    without = list(_without_form(facts, proof))
    sources = {file.path: file.source for file in facts.deciding_files}
    for path, found in by_file.items():
        text = sources.get(path, "")
        # Such a character stands for bytes that a patch would change.
        if not text or "\ufffd" in text:
            without.append(f"{path}: not a deciding test in UTF-8")
            continue
        try:
            source = parse_source(text, path)
        except InputError as error:  # it is not Python, or of another version
            without.append(str(error))
            continue
        edits = []
        for each in relaxations(source, found, facts.task.problem.instruction):
            line = f"{path}:{each.line}: {each.what}"
            (without if each.edit is None else proposals).append(line)
            edits += [each.edit] if each.edit is not None else []
        mark = _BYTE_ORDER_MARK * text.startswith(_BYTE_ORDER_MARK)
        patches.append(_patch(path, text, f"{mark}{apply_edits(source.text, edits)}"))
    return ProposedPatch(
        patch="".join(patches),
        proposals=tuple(proposals),
        without=tuple(dict.fromkeys(without)),
    )


def _strict_assertions(
    facts: TaskFacts, proof: StoredProof | None
) -> Iterator[tuple[StrictAssertion, str]]:
    """What is known to be too strict, each with its file."""
    where = [hit.where for hit in unstated_messages(facts)]
    # Fairness may know more of them than the rule alone.
    where += [each.where for each in _findings(proof) if each.rule == "unstated-message"]
    for place in dict.fromkeys(where):
        path, _, line = place.rpartition(":")
        yield StrictAssertion(kind=VariantKind.MESSAGE, line=int(line)), path
    for one in proof.fairness.rejected if proof is not None and proof.fairness is not None else ():
        for number, test in enumerate(one.rejected_by):
            name, _ = split_id(test)
            strict = StrictAssertion(
                kind=one.kind,
                function=name,
                removed=one.change.removed,
                added=one.change.added,
                failure=one.assertion if number == 0 else "",
            )
            yield strict, test.partition("::")[0]


def _without_form(facts: TaskFacts, proof: StoredProof | None) -> Iterator[str]:
    """Findings that only another instruction or another test mends."""
    for each in _findings(proof):
        if each.rule != "unstated-message":
            yield f"{each.where}: {each.rule}: {each.what}: state the name in instruction.md"
    yield from (f"{facts.task.folder}: {why}" for why in facts.unread)


def _findings(proof: StoredProof | None) -> list[Finding]:
    found = unstated_findings(proof) if proof is not None else ()
    return [each for each in found if each.rule in UNSTATED_RULES]


def _patch(path: str, before: str, after: str) -> str:
    if before == after:
        return ""
    # Not `splitlines`: a form feed or a lone carriage return ends no line for git.
    old, new = ([f"{line}\n" for line in text.split("\n")] for text in (before, after))
    for text, lines in ((before, old), (after, new)):
        # The last piece is empty, or a line without an end.
        lines[-1:] = [] if text.endswith("\n") else [f"{lines[-1]}\\ No newline at end of file\n"]
    return "".join(
        [
            f"diff --git a/{path} b/{path}\n",
            *difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"),
        ]
    )
