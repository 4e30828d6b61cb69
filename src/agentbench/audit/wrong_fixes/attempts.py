"""The audit for wrong fixes: each resolved attempt, held against the reference by running both."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from agentbench.audit.attempt_facts import AttemptFacts
from agentbench.audit.rule import Rules, Seen, apply_rules
from agentbench.audit.task_facts import TaskFacts
from agentbench.audit.wrong_fixes.bench import Bench, made_bench
from agentbench.audit.wrong_fixes.changed_tests import search_tests
from agentbench.audit.wrong_fixes.contrast import Left, contrast_of
from agentbench.audit.wrong_fixes.inputs import search_inputs
from agentbench.audit.wrong_fixes.search import Search, Searched, Subject
from agentbench.audit.wrong_fixes.tests_seen import read_tests
from agentbench.audit.wrong_fixes.trees import NoTreesError, Trees, trees_of
from agentbench.errors import SandboxError, UnavailableError
from agentbench.runs.workshop import Workshop
from agentbench.scoring.evidence import Finding, Severity

SEARCHES: tuple[Search, ...] = (search_inputs, search_tests)
"""All ways to look for a difference; they share an attempt's time."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What comparing an attempt came to."""

    differences: tuple[Seen, ...] = ()
    left: tuple[Seen, ...] = ()
    effort: tuple[Seen, ...] = ()


RULES: Rules[Compared] = MappingProxyType(
    {
        "differs-from-reference": lambda compared: compared.differences,
        "not-compared": lambda compared: compared.left,
        "compared": lambda compared: compared.effort,
    }
)
"""What is said of a resolved attempt."""


@dataclass(slots=True, kw_only=True)
class WrongFixes:
    """The audit for wrong fixes; equal changes to a task are compared once."""

    workshop: Workshop
    cache_dir: Path
    seconds: float  # for an attempt
    say: Say
    searches: Sequence[Search] = SEARCHES
    _benches: dict[str, Bench] = field(default_factory=dict)
    _known: dict[tuple[str, bytes], tuple[Finding, ...]] = field(default_factory=dict)

    def findings(self, facts: AttemptFacts) -> tuple[Finding, ...]:
        """What is found about an attempt; nothing where it was not resolved.

        Raises:
            SandboxError: the engine is lost.
        """
        if not facts.record.resolved:
            return ()
        key = facts.record.task_digest, facts.patch_text
        if key not in self._known:
            self.say(f"comparing {facts.record.task_id} {facts.record.attempt}")
            self._known[key] = apply_rules(RULES, self._compared(facts))
        return self._known[key]

    def _compared(self, facts: AttemptFacts) -> Compared:
        try:
            trees = trees_of(facts)
        except NoTreesError as error:
            return _nothing(facts, str(error))
        task = facts.task
        assert task is not None  # or there were no trees
        try:
            return self._searched(facts, task, trees)
        except (UnavailableError, SandboxError) as error:
            self.workshop.provider.check()  # raises where it is more than this task's affair
            return _nothing(facts, str(error))

    def _searched(self, facts: AttemptFacts, task: TaskFacts, trees: Trees) -> Compared:
        began = time.monotonic()
        tests = read_tests(task)
        contrast = contrast_of(trees, task.task.problem.test_paths, tests.imported)
        if contrast.none:
            what = "the same as the reference, but for comments, docstrings and layout"
            return Compared(effort=(Seen(Severity.INFO, _place(facts), what),))
        if not contrast.callable:
            return Compared(left=(*_seen(contrast.one_sided), *_uncallable(facts)))
        subject = Subject(facts=task, trees=trees, contrast=contrast, bench=self._bench(task))
        share = self.seconds / len(self.searches)
        found = [search(subject, share) for search in self.searches]
        return Compared(
            differences=tuple(
                Seen(Severity.WARNING, told.where, told.what)
                for one in found
                for told in one.differences
            ),
            left=(*_seen(contrast.one_sided), *(s for one in found for s in _seen(one.left))),
            effort=_effort(facts, found, time.monotonic() - began),
        )

    def _bench(self, task: TaskFacts) -> Bench:
        key = str(task.task.folder)
        if key not in self._benches:
            self._benches[key] = made_bench(task.task, self.workshop, self.cache_dir)
        return self._benches[key]


def _place(facts: AttemptFacts) -> str:
    return facts.record.patch.path if facts.record.patch is not None else "record.json"


def _nothing(facts: AttemptFacts, why: str) -> Compared:
    return Compared(left=(Seen(Severity.INFO, _place(facts), f"not compared: {why}"),))


def _uncallable(facts: AttemptFacts) -> Iterator[Seen]:
    what = "not compared: nothing that differs can be called by a public name in both trees"
    yield Seen(Severity.INFO, _place(facts), what)


def _seen(left: Sequence[Left]) -> Iterator[Seen]:
    for one in left:
        yield Seen(Severity.INFO, one.where, f"not compared: {one.why}")


def _effort(facts: AttemptFacts, found: Sequence[Searched], seconds: float) -> tuple[Seen, ...]:
    said = "; ".join(one.effort for one in found if one.effort)
    what = f"{said}; {seconds:.0f} s" if said else f"nothing could be compared; {seconds:.0f} s"
    return (Seen(Severity.INFO, _place(facts), what),)
