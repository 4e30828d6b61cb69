"""The differential audit: compares resolved attempts with the reference by running both."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentbench.attempt.resources import RunResources
from agentbench.audit.rule import RuleHit, Rules, apply_rules, info
from agentbench.audit.run_facts import AttemptFacts
from agentbench.audit.task_facts import FilesByPath, TaskFacts
from agentbench.errors import SandboxError, UnavailableError
from agentbench.extensions.symbolic.differential import search as searching
from agentbench.extensions.symbolic.differential.changed_test_search import search_tests
from agentbench.extensions.symbolic.differential.input_search import search_inputs
from agentbench.extensions.symbolic.differential.tree_difference import NotCompared, compare_trees
from agentbench.extensions.symbolic.differential.trees import (
    AttemptTrees,
    NotComparableError,
    SourceTree,
    trees_of,
)
from agentbench.scoring.evidence import Finding

SEARCHES: tuple[searching.DifferenceSearch, ...] = (search_inputs, search_tests)
"""The searches for a difference; they share an attempt's time."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferentialResult:
    """The result of comparing an attempt."""

    differences: tuple[RuleHit, ...] = ()
    left: tuple[NotCompared, ...] = ()
    effort: tuple[RuleHit, ...] = ()


DIFFERENTIAL_RULES: Rules[DifferentialResult] = {
    "differs-from-reference": lambda compared: compared.differences,
    "not-compared": lambda compared: (
        info(left.where, f"not compared: {left.why}") for left in compared.left
    ),
    "compared": lambda compared: compared.effort,
}
"""The rules for a resolved attempt."""


@dataclass(slots=True, kw_only=True)
class DifferentialAudit:
    """The audit for wrong fixes; equal changes to a task are compared once."""

    resources: RunResources
    cache_dir: Path
    seconds: float  # for an attempt
    say: Say
    searches: Sequence[searching.DifferenceSearch] = SEARCHES
    _benches: dict[str, searching.ComparisonSandboxes] = field(default_factory=dict)
    _known: dict[tuple[str, bytes], tuple[Finding, ...]] = field(default_factory=dict)

    def findings(self, facts: AttemptFacts) -> tuple[Finding, ...]:
        """The findings about an attempt; none if it was not resolved.

        Raises:
            SandboxError: the engine is lost.
        """
        if not facts.record.resolved:
            return ()
        key = facts.record.task_digest, facts.patch_text
        if key not in self._known:
            self.say(f"comparing {facts.record.task_id} {facts.record.attempt}")
            self._known[key] = apply_rules(DIFFERENTIAL_RULES, self._compared(facts))
        return self._known[key]

    def findings_of_change(self, task: TaskFacts, change: FilesByPath) -> tuple[Finding, ...]:
        """The findings about a change to a task's base.

        Raises:
            SandboxError: the engine is lost.
        """
        base, reference, changed = (
            SourceTree(base=task.base, change=files) for files in ({}, task.fixed, change)
        )
        trees = AttemptTrees(base=base, reference=reference, agents=changed)
        return apply_rules(DIFFERENTIAL_RULES, self._run("the change", task, trees))

    def _compared(self, facts: AttemptFacts) -> DifferentialResult:
        where = _location(facts)
        try:
            trees = trees_of(facts)
        except NotComparableError as error:
            return _not_compared(where, str(error))
        assert facts.task is not None  # or there were no trees
        return self._run(where, facts.task, trees)

    def _run(self, where: str, task: TaskFacts, trees: AttemptTrees) -> DifferentialResult:
        try:
            return self._searched(where, task, trees)
        except (UnavailableError, SandboxError) as error:
            self.resources.provider.check()  # raises if more than this task is affected
            return _not_compared(where, str(error))

    def _searched(self, where: str, task: TaskFacts, trees: AttemptTrees) -> DifferentialResult:
        began = time.monotonic()
        tests = searching.read_task_tests(task)
        difference = compare_trees(trees, task.task.problem.test_paths, tests.imported)
        if difference.none:
            what = "the same as the reference, except for comments, docstrings and layout"
            return DifferentialResult(effort=(info(where, what),))
        if not difference.callable:
            why = "no difference can be called by a public name in both trees"
            left = (*difference.one_sided, NotCompared(where, why))
            return DifferentialResult(left=left)
        key = str(task.task.folder)
        if key not in self._benches:
            self._benches[key] = searching.prepare_comparison(
                task.task, self.resources, self.cache_dir
            )
        subject = searching.ComparedAttempt(
            facts=task, trees=trees, contrast=difference, sandboxes=self._benches[key]
        )
        found = [search(subject, self.seconds / len(self.searches)) for search in self.searches]
        left = (*difference.one_sided, *(each for one in found for each in one.left))
        effort = "; ".join(one.effort for one in found if one.effort) or "nothing could be compared"
        return DifferentialResult(
            differences=tuple(each for one in found for each in one.differences),
            left=left,
            effort=(info(where, f"{effort}; {time.monotonic() - began:.0f} s"),),
        )


def _location(facts: AttemptFacts) -> str:
    return facts.record.patch.path if facts.record.patch is not None else "record.json"


def _not_compared(where: str, why: str) -> DifferentialResult:
    return DifferentialResult(left=(NotCompared(where, why),))
