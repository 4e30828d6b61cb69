"""The search by tests: the task's own, with other values, run in each tree for what they see."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePosixPath

from agentbench.audit.differential.observations import (
    Observations,
    ObservedDifference,
    differing,
    observation_text_at,
    read_observations,
)
from agentbench.audit.differential.search import (
    ComparedAttempt,
    ConfirmedDifference,
    SearchResult,
    failure_text,
    write_changes,
)
from agentbench.audit.differential.task_tests import sources_of_tests
from agentbench.audit.differential.tree_difference import NotCompared
from agentbench.audit.differential.trees import SourceTree
from agentbench.audit.task_facts import TaskFacts
from agentbench.core.files import FileContent
from agentbench.sandbox.archives import tar_of_files
from agentbench.sandbox.interface import Command, Sandbox
from agentbench.symbolic import variants
from agentbench.symbolic.libraries import PROGRAMS_MOUNT
from agentbench.tasks.problem import PytestCommand, parse_pytest_command

_SEED = 0
_MAX_CHANGED_TESTS = 4_000  # changed ones of an attempt
_MAX_PER_TEST = 400  # of one test
_DECIDING_WEIGHT = 8  # of a test that the bug fails, which is about what was fixed
_MAX_FILES = 12
_RUNS = 5  # of all changed tests, that share the time
_LEAST_SECONDS = 20.0  # for a run: pytest has to start, on a machine with much to do as well
_TEST_SECONDS = 1.0
_READ_BYTES = 128 * 1024 * 1024
_MAX_SHOWN = 3  # differences of an attempt; the others are counted
_OBSERVED = "observed.jsonl"
_NO_PATH = "import sys; del sys.path[0]; import pytest; sys.exit(pytest.main(sys.argv[1:]))"

WrittenFiles = Mapping[PurePosixPath, FileContent]


def search_tests(subject: ComparedAttempt, seconds: float) -> SearchResult:
    """Run changed tests in the reference's and in the agent's tree, each twice and alone.

    Raises:
        SandboxError: a sandbox is lost.
    """
    changed = _changed_files(subject.facts)
    if not changed:
        return SearchResult()
    share = max(seconds / _RUNS, _LEAST_SECONDS)
    runs = _ChangedTestRuns(subject=subject, changed=changed, seconds=share)
    reference = runs.twice(subject.trees.reference)
    if not reference[0]:
        return SearchResult(
            left=(NotCompared("tests", runs.why or "no changed test could be run"),)
        )
    agents = runs.twice(subject.trees.agents)
    found = runs.sorted(differing(reference, agents))
    effort = f"{len(reference[0])} changed tests run"
    if not found:
        return SearchResult(effort=effort, left=_nothing_observed(agents, runs))
    return SearchResult(differences=tuple(_confirmed(runs, found)), effort=effort)


def _confirmed(
    runs: "_ChangedTestRuns", found: Sequence[ObservedDifference]
) -> Iterator[ConfirmedDifference]:
    """The first of what was found, with as few changes as do; the rest as a number."""
    shown = found[:_MAX_SHOWN]
    fewer = runs.with_fewer_changes(shown)
    smaller = fewer.sorted(fewer.differing()) if fewer.changed else []
    told: dict[ConfirmedDifference, None] = {}
    base, least = runs.base(), fewer.base() if smaller else {}
    for one in shown:
        less = next((two for two in smaller if fewer.is_part(two, runs, one)), None)
        words = runs.words(one, base) if less is None else fewer.words(less, least)
        told[words] = None
    yield from told
    if len(found) > len(shown):
        more = f"{len(found) - len(shown)} more changed tests see a difference"
        yield ConfirmedDifference(where="tests", what=more)


def _nothing_observed(
    agents: Sequence[Observations], runs: "_ChangedTestRuns"
) -> tuple[NotCompared, ...]:
    """That nothing differs says nothing where the agent's tree was not seen."""
    return (
        () if all(agents) else (NotCompared("tests", runs.why or "no changed test could be run"),)
    )


@dataclass(slots=True, kw_only=True)
class _ChangedTestRuns:
    """Runs the changed tests of an attempt, each time in a fresh sandbox."""

    subject: ComparedAttempt
    changed: Mapping[PurePosixPath, variants.AmplifiedTests]
    seconds: float  # for each run
    why: str = ""  # the last one saw nothing

    def with_fewer_changes(self, found: Sequence[ObservedDifference]) -> "_ChangedTestRuns":
        """The same for some changed tests, each with a part of its changes."""
        sources = dict(_test_texts(self.subject.facts))
        names: dict[PurePosixPath, list[str]] = {}
        for one in found:
            names.setdefault(_path(one), []).append(variants.changed_name(one.test))
        made = (
            (path, variants.reduce(sources[path], self.changed[path], some))
            for path, some in names.items()
        )
        return replace(self, changed={path: one for path, one in made if one is not None})

    def sorted(self, found: Iterable[ObservedDifference]) -> list[ObservedDifference]:
        """Those with few and short changes first."""
        return sorted(found, key=self._size)

    def differing(self) -> Iterator[ObservedDifference]:
        """Run all in both trees, twice each."""
        trees = self.subject.trees
        return differing(self.twice(trees.reference), self.twice(trees.agents))

    def twice(self, tree: SourceTree) -> list[Observations]:
        """What the tests see, with two orders of what is in sets.

        Raises:
            SandboxError: the sandbox is lost.
        """
        return [self.observed(tree, hashes) for hashes in (0, 1)]

    def base(self) -> Observations:
        """What the tests see in the base."""
        return self.observed(self.subject.trees.base, 0)

    def is_part(
        self, found: ObservedDifference, others: "_ChangedTestRuns", other: ObservedDifference
    ) -> bool:
        """Whether it is the same test, and its changes are among the other's."""
        mine, whole = self._variant(found), others._variant(other)
        same = _path(found) == _path(other) and mine.origin is whole.origin
        return same and set(mine.changes) < set(whole.changes)

    def words(self, found: ObservedDifference, base: Observations) -> ConfirmedDifference:
        """A difference, for a reader."""
        variant, path = self._variant(found), _path(found)
        seen = self.changed[path].places[found.at] if found.at >= 0 else "the test"
        changes = " and ".join(
            f"line {edit.line} has {edit.after} in place of {edit.before}" for edit in variant.edits
        )
        return ConfirmedDifference(
            where=f"{path}::{variant.test}",
            what=(
                f"differs from the reference where {changes}: {seen} {found.agents}; "
                f"the reference {found.reference} (base: {observation_text_at(base, found)})"
            ),
        )

    def _variant(self, found: ObservedDifference) -> variants.ChangedTestVariant:
        return self.changed[_path(found)].variants[variants.changed_name(found.test)]

    def _size(self, found: ObservedDifference) -> tuple[int, int]:
        edits = self._variant(found).edits
        return len(edits), sum(len(edit.before) + len(edit.after) for edit in edits)

    def observed(self, tree: SourceTree, hashes: int) -> Observations:
        """What the tests see in a tree.

        Raises:
            SandboxError: the sandbox is lost.
        """
        with self.subject.bench.opened() as sandbox:
            write_changes(sandbox, sandbox.workspace, tree)
            hidden = SourceTree(base=tree.base, change=self.subject.facts.hidden)
            write_changes(sandbox, sandbox.workspace, hidden)
            sandbox.write_tree(
                sandbox.workspace,
                tar_of_files(
                    {
                        path: FileContent(content=one.source.encode(), executable=False)
                        for path, one in self.changed.items()
                    }
                ),
            )
            ran = sandbox.run(self._command(sandbox, hashes))
            told = sandbox.run(
                Command(
                    argv=("cat", str(sandbox.results / _OBSERVED)),
                    timeout=timedelta(minutes=1),
                    output_cap=_READ_BYTES,
                )
            )
            found = read_observations(told.stdout) if told.ok else {}
            if not found:
                said = f"{failure_text(ran)}: {ran.stdout[-300:]}"
                self.why = f"with no changed test anything was seen: {said}"
            return found

    def _command(self, sandbox: Sandbox, hashes: int) -> Command:
        task = self.subject.facts.task
        pytest = parse_pytest_command(task.problem.test_command)
        return Command(
            argv=(*_pytest_start(pytest), *_OPTIONS, *pytest.options, *map(str, self.changed)),
            timeout=timedelta(seconds=self.seconds),
            env={
                **task.environment.env,
                "PYTHONPATH": str(sandbox.mounted(PROGRAMS_MOUNT)),
                "PYTHONHASHSEED": str(hashes),
                "AGENTBENCH_OBSERVED": str(sandbox.results / _OBSERVED),
                "AGENTBENCH_OBSERVED_SECONDS": str(_TEST_SECONDS),
            },
        )


_OPTIONS = (
    *("-p", "agentbench_mounted.pytest_observer", "-p", "no:cacheprovider"),
    *("-q", "--tb=no", "--continue-on-collection-errors", "--assert=plain"),
)


def _pytest_start(pytest: PytestCommand) -> tuple[str, ...]:
    """`pytest` alone has the working folder not on its path, `python -m pytest` has."""
    if pytest.as_module:
        return (pytest.interpreter, "-m", "pytest")
    return (pytest.interpreter, "-c", _NO_PATH)


def _changed_files(facts: TaskFacts) -> dict[PurePosixPath, variants.AmplifiedTests]:
    """The files of tests, changed: hidden ones first, as many tests as there is time for."""
    sources = list(_test_texts(facts))[:_MAX_FILES]
    deciding = {
        one.rpartition("::")[2].partition("[")[0] for one in facts.task.answer_key.fail_to_pass
    }
    tests = sum(source.count("def test") for _path, source in sources)
    shares = tests + len(deciding) * (_DECIDING_WEIGHT - 1)
    each = max(1, _MAX_CHANGED_TESTS // max(shares, 1))

    def most(name: str) -> int:
        return min(_MAX_PER_TEST, each * _DECIDING_WEIGHT if name in deciding else each)

    made = ((path, _amplified(source, most)) for path, source in sources)
    return {path: one for path, one in made if one is not None}


def _amplified(source: str, most: Callable[[str], int]) -> variants.AmplifiedTests | None:
    try:
        return variants.amplify(source, seed=_SEED, most=most)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _test_texts(facts: TaskFacts) -> Iterator[tuple[PurePosixPath, str]]:
    for path, source in sources_of_tests(facts):
        yield path, source.decode("utf-8", "replace")


def _path(found: ObservedDifference) -> PurePosixPath:
    return PurePosixPath(found.test.partition("::")[0])
