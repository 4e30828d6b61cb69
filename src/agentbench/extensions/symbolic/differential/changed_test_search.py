"""The search by tests: the task's tests with changed values observe what each tree does."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any, cast

from agentbench.audit.rule import RuleHit, warning
from agentbench.audit.task_facts import TaskFacts
from agentbench.core.files import FileContent
from agentbench.extensions.symbolic import variants
from agentbench.extensions.symbolic.differential import search
from agentbench.extensions.symbolic.differential.tree_difference import NotCompared
from agentbench.extensions.symbolic.differential.trees import SourceTree
from agentbench.extensions.symbolic.libraries import PROGRAMS_MOUNT
from agentbench.extensions.symbolic.mounted.agentbench_mounted import outcomes
from agentbench.extensions.symbolic.mounted.agentbench_mounted.messages import Observation
from agentbench.python_source.python_syntax import UNPARSABLE
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.tasks.test_runner_name import Runner

Observations = dict[str, list[Observation]]
"""Observations by the test's node id, in their order."""

_KINDS = frozenset(("returns", "raises", "timeout"))
_SEED = 0
_MAX_CHANGED_TESTS = 4_000  # changed ones of an attempt
_MAX_PER_TEST = 400  # of one test
_DECIDING_WEIGHT = 8  # of a test that fails with the bug, so it concerns the fix
_MAX_FILES = 12
_RUNS = 5  # of all changed tests, which share the time
_LEAST_SECONDS = 20.0  # for a run: pytest must start, also on a busy machine
_TEST_SECONDS = 1.0
_READ_BYTES = 128 * 1024 * 1024
_MAX_DIFFERENCES = 3  # differences of an attempt; the others are counted
_OBSERVED = "observed.jsonl"
_NO_PATH = "import sys; del sys.path[0]; import pytest; sys.exit(pytest.main(sys.argv[1:]))"
_OPTIONS = (
    *("-p", "agentbench_mounted.pytest_observer", "-p", "no:cacheprovider"),
    *("-q", "--tb=no", "--continue-on-collection-errors", "--assert=plain"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedDifference:
    """A test that observed a difference: its place, and both behaviours in words."""

    test: str
    at: int  # -1: how the test ended
    position: int  # among the test's observations
    reference: str
    agents: str


def read_observations(text: str) -> Observations:
    """Read the plugin's file without malformed lines: an agent's code could write to it."""
    found: Observations = {}
    for line in text.splitlines():
        try:
            step = json.loads(line)
        except ValueError:
            continue
        if isinstance(step, dict) and _is_well_formed(step):
            found.setdefault(step["test"], []).append(cast("Observation", step))
    return found


def differing(
    reference: Sequence[Observations], agents: Sequence[Observations]
) -> Iterator[ObservedDifference]:
    """The tests in which the first difference counts: each tree agrees with itself up to there."""
    for test in reference[0]:
        if all(test in observed for observed in (*reference, *agents)):
            try:
                left, right = ([one[test] for one in runs] for runs in (reference, agents))
                found = _first_difference(test, left, right)
            except (TypeError, ValueError, LookupError, RecursionError):
                continue  # values that the plug-in did not write: an agent's code did
            if found is not None:
                yield found


def observation_text_at(observed: Observations, found: ObservedDifference) -> str:
    """A tree's behaviour at the place of a difference, in words."""
    steps = observed.get(found.test, [])
    return (
        outcomes.words(steps[found.position])
        if found.position < len(steps)
        else "does not get there"
    )


def _first_difference(
    test: str, left: list[list[Observation]], right: list[list[Observation]]
) -> ObservedDifference | None:
    for position, step in enumerate(left[0]):
        if not outcomes.says_something(step, errors=outcomes.CONTRACT, inferred=True):
            return None
        others = [steps[position] if position < len(steps) else None for steps in right]
        if not _agree(step, left, position) or others[0] is None or None in others:
            return None
        if _is_other(step, others[0]):
            agreed = all(other and _is_other(step, other) for other in others)
            if not agreed or not _agree(others[0], right, position):
                return None
            return ObservedDifference(
                test=test,
                at=step["at"],
                position=position,
                reference=outcomes.words(step),
                agents=outcomes.words(others[0]),
            )
    return None


def _agree(step: Observation, runs: Iterable[list[Observation]], position: int) -> bool:
    return all(len(steps) > position and _is_same(step, steps[position]) for steps in runs)


def _is_same(step: Observation, other: Observation) -> bool:
    if (step["at"], step["kind"]) != (other["at"], other["kind"]):
        return False
    return not outcomes.differ(step, other, errors=outcomes.CONTRACT, inferred=False)


def _is_other(step: Observation, other: Observation) -> bool:
    if other["at"] != step["at"] and other["kind"] == "returns":
        return False  # it took another path, whose observations cannot be compared
    return outcomes.differ(step, other, errors=outcomes.CONTRACT, inferred=True)


def _is_well_formed(step: dict[str, Any]) -> bool:
    if step.get("kind") not in _KINDS or not isinstance(step.get("test"), str):
        return False
    if not isinstance(step.get("at"), int) or not isinstance(step.get("seconds"), int | float):
        return False
    if step["kind"] == "raises":
        names = [step.get("type"), step.get("text"), *(step.get("mro") or [None])]
        return all(isinstance(name, str) for name in names) and "explicit" in step
    form = step.get("form")
    is_value = isinstance(form, list) and bool(form) and isinstance(form[0], str)
    return step["kind"] == "timeout" or is_value


def search_tests(subject: search.ComparedAttempt, seconds: float) -> search.SearchResult:
    """Run changed tests in the trees of the reference and the agent, each twice and separately."""
    runner = subject.facts.task.problem.tests.runner
    if runner is not Runner.PYTEST:
        why = f"only tests of pytest can be changed for this, and these run under {runner}"
        return search.SearchResult(left=(NotCompared("tests", why),))
    changed = _changed_files(subject.facts)
    if not changed:
        return search.SearchResult()
    share = max(seconds / _RUNS, _LEAST_SECONDS)
    runs = _ChangedTestRuns(subject=subject, changed=changed, seconds=share)
    reference = runs.twice(subject.trees.reference)
    if not reference[0]:
        return search.SearchResult(left=runs.nothing_observed())
    agents = runs.twice(subject.trees.agents)
    found = runs.sorted(differing(reference, agents))
    effort = f"{len(reference[0])} changed tests run"
    if found:
        return search.SearchResult(differences=tuple(_confirmed(runs, found)), effort=effort)
    # Finding nothing means nothing if the agent's tree was not observed.
    return search.SearchResult(effort=effort, left=() if all(agents) else runs.nothing_observed())


# The first differences, with as few changes as possible, and the number of the others.
def _confirmed(runs: "_ChangedTestRuns", found: Sequence[ObservedDifference]) -> Iterator[RuleHit]:
    reported = found[:_MAX_DIFFERENCES]
    fewer = runs.with_fewer_changes(reported)
    smaller: list[ObservedDifference] = []
    if fewer.changed:
        trees = runs.subject.trees
        smaller = fewer.sorted(differing(fewer.twice(trees.reference), fewer.twice(trees.agents)))
    confirmed: dict[RuleHit, None] = {}
    base, least = runs.base(), fewer.base() if smaller else {}
    for one in reported:
        less = next((two for two in smaller if fewer.is_part(two, runs, one)), None)
        words = runs.words(one, base) if less is None else fewer.words(less, least)
        confirmed[words] = None
    yield from confirmed
    if len(found) > len(reported):
        more = f"{len(found) - len(reported)} more changed tests observe a difference"
        yield warning("tests", more)


@dataclass(slots=True, kw_only=True)
class _ChangedTestRuns:
    """Runs the changed tests of an attempt, each time in a fresh sandbox."""

    subject: search.ComparedAttempt
    changed: Mapping[PurePosixPath, variants.AmplifiedTests]
    seconds: float  # for each run
    why: str = ""  # the last run observed nothing

    def nothing_observed(self) -> tuple[NotCompared, ...]:
        return (NotCompared("tests", self.why or "no changed test could be run"),)

    def with_fewer_changes(self, found: Sequence[ObservedDifference]) -> "_ChangedTestRuns":
        """The same for some changed tests, each with a part of its changes."""
        sources = dict(_test_texts(self.subject.facts))
        names: dict[PurePosixPath, list[str]] = {}
        for one in found:
            names.setdefault(_path(one), []).append(variants.changed_name(one.test))
        reduced_tests = (
            (path, variants.reduce(sources[path], self.changed[path], some))
            for path, some in names.items()
        )
        return replace(self, changed={path: one for path, one in reduced_tests if one is not None})

    def sorted(self, found: Iterable[ObservedDifference]) -> list[ObservedDifference]:
        """Those with few and short changes first."""
        return sorted(found, key=self._size)

    # The tests' observations, with two orders of the items of sets. Raises: SandboxError: the
    # sandbox is lost.
    def twice(self, tree: SourceTree) -> list[Observations]:
        return [self.observed(tree, hashes) for hashes in (0, 1)]

    def base(self) -> Observations:
        return self.observed(self.subject.trees.base, 0)

    def is_part(
        self, found: ObservedDifference, others: "_ChangedTestRuns", other: ObservedDifference
    ) -> bool:
        """Whether it is the same test, and its changes are among the other's."""
        mine, whole = self._variant(found), others._variant(other)
        same = _path(found) == _path(other) and mine.origin is whole.origin
        return same and set(mine.changes) < set(whole.changes)

    def words(self, found: ObservedDifference, base: Observations) -> RuleHit:
        variant, path = self._variant(found), _path(found)
        expression = self.changed[path].places[found.at] if found.at >= 0 else "the test"
        changes = " and ".join(
            f"line {edit.line} has {edit.after} instead of {edit.before}" for edit in variant.edits
        )
        before = observation_text_at(base, found)
        what = (
            f"differs from the reference where {changes}: {expression} {found.agents}; "
            f"the reference {found.reference} (base: {before})"
        )
        return warning(f"{path}::{variant.test}", what)

    def _variant(self, found: ObservedDifference) -> variants.ChangedTestVariant:
        return self.changed[_path(found)].variants[variants.changed_name(found.test)]

    def _size(self, found: ObservedDifference) -> tuple[int, int]:
        edits = self._variant(found).edits
        return len(edits), sum(len(edit.before) + len(edit.after) for edit in edits)

    def observed(self, tree: SourceTree, hashes: int) -> Observations:
        """The tests' observations in a tree.

        Raises:
            SandboxError: the sandbox is lost.
        """
        with self.subject.sandboxes.opened() as sandbox:
            search.write_changes(sandbox, sandbox.workspace, tree)
            hidden = SourceTree(base=tree.base, change=self.subject.facts.hidden)
            search.write_changes(sandbox, sandbox.workspace, hidden)
            files = {
                path: FileContent(content=one.source.encode(), executable=False)
                for path, one in self.changed.items()
            }
            sandbox.write_tree(sandbox.workspace, tar_of_files(files))
            ran = sandbox.run(self._command(sandbox, hashes))
            read = Command(
                argv=("cat", str(sandbox.results / _OBSERVED)),
                timeout=timedelta(minutes=1),
                output_cap=_READ_BYTES,
            )
            answer = sandbox.run(read)
            found = read_observations(answer.stdout) if answer.ok else {}
            if not found:
                output = f"{search.failure_text(ran)}: {ran.stdout[-300:]}"
                self.why = f"no changed test observed anything: {output}"
            return found

    def _command(self, sandbox: Sandbox, hashes: int) -> Command:
        task = self.subject.facts.task
        pytest = task.problem.tests
        # The working folder is on the path of `python -m pytest`, but not of `pytest`.
        start = (pytest.interpreter, *(("-m", "pytest") if pytest.as_module else ("-c", _NO_PATH)))
        return Command(
            argv=(*start, *_OPTIONS, *pytest.options, *map(str, self.changed)),
            timeout=timedelta(seconds=self.seconds),
            env={
                **task.environment.env,
                "PYTHONPATH": str(sandbox.mounted(PROGRAMS_MOUNT)),
                "PYTHONHASHSEED": str(hashes),
                "AGENTBENCH_OBSERVED": str(sandbox.results / _OBSERVED),
                "AGENTBENCH_OBSERVED_SECONDS": str(_TEST_SECONDS),
            },
        )


# The changed test files: hidden ones first, as many tests as there is time for.
def _changed_files(facts: TaskFacts) -> dict[PurePosixPath, variants.AmplifiedTests]:
    sources = list(_test_texts(facts))[:_MAX_FILES]
    deciding = {
        one.rpartition("::")[2].partition("[")[0] for one in facts.task.answer_key.fail_to_pass
    }
    tests = sum(source.count("def test") for _path, source in sources)
    shares = tests + len(deciding) * (_DECIDING_WEIGHT - 1)
    each = max(1, _MAX_CHANGED_TESTS // max(shares, 1))

    def most(name: str) -> int:
        return min(_MAX_PER_TEST, each * _DECIDING_WEIGHT if name in deciding else each)

    changed: dict[PurePosixPath, variants.AmplifiedTests] = {}
    for path, source in sources:
        with contextlib.suppress(*UNPARSABLE):
            amplified = variants.amplify(source, seed=_SEED, most=most)
            if amplified is not None:
                changed[path] = amplified
    return changed


def _test_texts(facts: TaskFacts) -> Iterator[tuple[PurePosixPath, str]]:
    for path, source in search.sources_of_tests(facts):
        yield path, source.decode("utf-8", "replace")


def _path(found: ObservedDifference) -> PurePosixPath:
    return PurePosixPath(found.test.partition("::")[0])
