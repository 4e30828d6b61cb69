"""The differential audit: each resolved attempt held against the reference by running both."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from agentbench.attempt.resources import RunResources
from agentbench.audit.differential.changed_test_search import search_tests
from agentbench.audit.differential.input_search import search_inputs
from agentbench.audit.differential.search import (
    ComparedAttempt,
    ComparisonSandboxes,
    DifferenceSearch,
    SearchResult,
    prepare_comparison,
)
from agentbench.audit.differential.task_tests import read_task_tests
from agentbench.audit.differential.tree_difference import NotCompared, compare_trees
from agentbench.audit.differential.trees import AttemptTrees, NotComparableError, trees_of
from agentbench.audit.rule import RuleHit, Rules, apply_rules
from agentbench.audit.run_facts import AttemptFacts
from agentbench.audit.task_facts import TaskFacts
from agentbench.errors import SandboxError, UnavailableError
from agentbench.scoring.evidence import Finding, Severity

SEARCHES: tuple[DifferenceSearch, ...] = (search_inputs, search_tests)
"""All ways to look for a difference; they share an attempt's time."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialResult:
    """What comparing an attempt came to."""

    differences: tuple[RuleHit, ...] = ()
    left: tuple[RuleHit, ...] = ()
    effort: tuple[RuleHit, ...] = ()


DIFFERENTIAL_RULES: Rules[DifferentialResult] = MappingProxyType(
    {
        "differs-from-reference": lambda compared: compared.differences,
        "not-compared": lambda compared: compared.left,
        "compared": lambda compared: compared.effort,
    }
)
"""What is said of a resolved attempt."""


@dataclass(slots=True, kw_only=True)
class DifferentialAudit:
    """The audit for wrong fixes; equal changes to a task are compared once."""

    resources: RunResources
    cache_dir: Path
    seconds: float  # for an attempt
    say: Say
    searches: Sequence[DifferenceSearch] = SEARCHES
    _benches: dict[str, ComparisonSandboxes] = field(default_factory=dict)
    _known: dict[tuple[str, bytes], tuple[Finding, ...]] = field(default_factory=dict)

    def findings(self, facts: AttemptFacts) -> tuple[Finding, ...]:
        """What is found about an attempt; nothing where it was not resolved."""
        if not facts.record.resolved:
            return ()
        key = facts.record.task_digest, facts.patch_text
        if key not in self._known:
            self.say(f"comparing {facts.record.task_id} {facts.record.attempt}")
            self._known[key] = apply_rules(DIFFERENTIAL_RULES, self._compared(facts))
        return self._known[key]

    def _compared(self, facts: AttemptFacts) -> DifferentialResult:
        try:
            trees = trees_of(facts)
        except NotComparableError as error:
            return _not_compared(facts, str(error))
        task = facts.task
        assert task is not None  # or there were no trees
        try:
            return self._searched(facts, task, trees)
        except (UnavailableError, SandboxError) as error:
            self.resources.provider.check()  # raises where it is more than this task's affair
            return _not_compared(facts, str(error))

    def _searched(
        self, facts: AttemptFacts, task: TaskFacts, trees: AttemptTrees
    ) -> DifferentialResult:
        began = time.monotonic()
        tests = read_task_tests(task)
        contrast = compare_trees(trees, task.task.problem.test_paths, tests.imported)
        if contrast.none:
            what = "the same as the reference, but for comments, docstrings and layout"
            return DifferentialResult(effort=(RuleHit(Severity.INFO, _location(facts), what),))
        if not contrast.callable:
            why = "nothing that differs can be called by a public name in both trees"
            left = (*contrast.one_sided, NotCompared(_location(facts), why))
            return DifferentialResult(left=tuple(_not_compared_hits(left)))
        subject = ComparedAttempt(
            facts=task, trees=trees, contrast=contrast, bench=self._bench(task)
        )
        share = self.seconds / len(self.searches)
        found = [search(subject, share) for search in self.searches]
        return DifferentialResult(
            differences=tuple(
                RuleHit(Severity.WARNING, told.where, told.what)
                for one in found
                for told in one.differences
            ),
            left=(
                *_not_compared_hits(contrast.one_sided),
                *(s for one in found for s in _not_compared_hits(one.left)),
            ),
            effort=_effort(facts, found, time.monotonic() - began),
        )

    def _bench(self, task: TaskFacts) -> ComparisonSandboxes:
        key = str(task.task.folder)
        if key not in self._benches:
            self._benches[key] = prepare_comparison(task.task, self.resources, self.cache_dir)
        return self._benches[key]


def _location(facts: AttemptFacts) -> str:
    return facts.record.patch.path if facts.record.patch is not None else "record.json"


def _not_compared(facts: AttemptFacts, why: str) -> DifferentialResult:
    return DifferentialResult(
        left=(RuleHit(Severity.INFO, _location(facts), f"not compared: {why}"),)
    )


def _not_compared_hits(left: Sequence[NotCompared]) -> Iterator[RuleHit]:
    for one in left:
        yield RuleHit(Severity.INFO, one.where, f"not compared: {one.why}")


def _effort(
    facts: AttemptFacts, found: Sequence[SearchResult], seconds: float
) -> tuple[RuleHit, ...]:
    said = "; ".join(one.effort for one in found if one.effort)
    what = f"{said}; {seconds:.0f} s" if said else f"nothing could be compared; {seconds:.0f} s"
    return (RuleHit(Severity.INFO, _location(facts), what),)
