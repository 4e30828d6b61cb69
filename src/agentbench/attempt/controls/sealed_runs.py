"""The sealed run of an attempt: hidden tests without expected values, compared on the host.

The reference solution is run under the same seal once for a task, before the first attempt is
judged. Its recordings replace expected values that the host cannot read in the tests.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from agentbench.attempt.context import PreparedContext
from agentbench.attempt.controls.sealed_evidence import sealed_report
from agentbench.attempt.judged_tests import JudgedRuns, held, judged_timeout
from agentbench.integrity.control_plan import ControlledTests
from agentbench.integrity.languages import is_python, tests_in
from agentbench.integrity.records import SealedRun, VisibleValue
from agentbench.integrity.sealing.canonical import read_recordings
from agentbench.integrity.sealing.inheritance import Inheritance, inherited_tests
from agentbench.integrity.sealing.isolation import Comparison, comparing_server, isolated
from agentbench.integrity.sealing.memory import ReferenceRun, SealedReference, reference_run
from agentbench.integrity.sealing.plan import JudgedSeal, SealedOutcome, SealedPlan
from agentbench.integrity.sealing.regressions import (
    TOO_LONG,
    confirmed,
    draw_sample,
    is_as_before,
    judge_sample,
)
from agentbench.integrity.sealing.statements import RECORDER
from agentbench.scoring import expectation
from agentbench.scoring.evidence import CaseOutcome, Ending, Evidence, NodeId
from agentbench.scoring.node_ids import files_of
from agentbench.test_runs.mounted.agentbench_canonical_bounds import digest
from agentbench.test_runs.runner import TestRun

SEALED_REPORT = "sealed.json"
_STABLE_RUNS = 2  # of the reference solution, before a mismatch counts
_MOST_ROUNDS = 3  # to find out which conditions the sealed tests have to evaluate themselves
_NEARLY = 3  # a fix may be slower than the reference solution, and the machine may be busy
_LARGE = 4 * 1024 * 1024  # characters, a quarter of what the recorder takes
_FULL = '"kind": "full"'  # what it writes then; in a text, the quotes would have backslashes
_FEW = 4  # one test that ends in an error, or a quarter of all, may be flaky
_FURTHER_RUNS = 2


@dataclass(frozen=True, kw_only=True)
class SealedResult:
    """What the sealed run of an attempt shows."""

    judged: JudgedSeal | None = None  # None: there was no run
    record: SealedRun | None = None
    report: TestRun | None = None
    """The report of code that gave wrong values, which must not see the right ones; None: the
    final test decides."""
    useless: str | None = None  # why there was no run
    visible: Mapping[NodeId, VisibleValue] = field(default_factory=dict)
    """Why tests are not sealed, and the values that stay in them."""
    uncontrolled: Mapping[str, str] = field(default_factory=dict)
    """Files of pass-to-pass tests of which none is controlled, and why."""

    def proves(self, tests: Collection[NodeId]) -> bool:
        """Whether the code has given all values that these tests expect."""
        judged = self.judged
        return judged is not None and not judged.mismatches and judged.sealed.issuperset(tests)


def sealed_run(runs: JudgedRuns, tests: ControlledTests, seed: int) -> SealedResult:
    """Run the sealed tests, and compare their recordings.

    If few tests end in an error or leave no recording, the run is repeated. Values that differ
    between runs of the reference solution are ignored.
    """
    if tests.files and not any(map(is_python, tests.files)):
        first = next(iter(tests.files))
        return SealedResult(useless=f"{tests_in(first)} are not sealed")
    return _SealedRuns.prepared(runs, tests, seed).result()


@dataclass(slots=True, kw_only=True)
class _SealedRuns:
    """The seal of one attempt's tests, which the reference solution may change, and its runs."""

    runs: JudgedRuns
    tests: ControlledTests
    seed: int
    _inherited: Inheritance
    _plan: SealedPlan
    _reference: SealedReference = field(default_factory=SealedReference)
    _outcomes: list[SealedOutcome] = field(default_factory=list)

    @property
    def _context(self) -> PreparedContext:
        return self.runs.context

    def result(self) -> SealedResult:
        useless = self._why_useless()
        if useless is not None:
            return SealedResult(useless=useless)
        with Comparison(self._plan.judge_all) as compare:
            last = self._run_once()
            if last.command.ending is Ending.TIMED_OUT and self._is_slow_task():
                last = self._run_once(timeout_factor=2)
            judged = self._judge(compare)
        solution = self.runs.of_solution() if judged.mismatches else None
        # A value that differs between two runs of the reference solution is left to chance, and is
        # ignored.
        while judged.mismatches and solution and len(self._reference.runs) < _STABLE_RUNS:
            self._remember(self._reference.with_run(self._reference_run(solution)))
            judged = self._judge()
        # A wrong value is final: if a repetition could excuse it, code could guess again. An error
        # or a missing recording may come from the machine; then all further runs must agree.
        is_few = len(judged.differing) <= max(1, len(self.tests.fixed) // _FEW)
        if judged.mismatches and not judged.has_wrong_value and is_few:
            for _ in range(_FURTHER_RUNS):
                last = self._run_once()
            judged = self._judge()
        self.runs.save_report(SEALED_REPORT, last)
        recordings = self._outcomes[-1].recordings
        report = None
        if judged.mismatches and self._reference.runs:  # the reference shows that the seal is right
            report = sealed_report(last, self._renamed, judged, fixed=self.tests.fixed)
        return SealedResult(
            judged=judged,
            report=report,
            visible=self._visible(judged),
            uncontrolled={**self._uncontrolled, **self._reference.regressions.uncontrolled},
            record=SealedRun(
                tries=len(self._outcomes),
                ending=last.command.ending,
                tests=sum(bool(recordings.get(test)) for test in self.tests.fixed),
                values=judged.values,
                regressions=len(self._reference.regressions.base.passed),
                mismatches=judged.mismatches,
            ),
        )

    @classmethod
    def prepared(cls, runs: JudgedRuns, tests: ControlledTests, seed: int) -> "_SealedRuns":
        comparing_server()  # imports the engine while the tests run
        context = runs.context

        def written(file: str) -> bytes | None:
            is_written = file in tests.files or PurePosixPath(file) in context.hidden_tests.files
            return runs.content(file) if is_written else None

        inherited = inherited_tests((*tests.fixed, *tests.passing), written)
        plan = SealedPlan(tests, seed, SealedReference(), inherited)
        made = cls(runs=runs, tests=tests, seed=seed, _inherited=inherited, _plan=plan)
        memory, seal = context.sealed_memory, plan.digest(context.task.answer_key.solution_patch)
        made._recall(memory.recall(seal))
        if made._reference.base is None and made._plan.files:
            with held(context, context.sealed_lock()):
                made._recall(memory.recall(seal))
                if made._reference.base is None:
                    made._run_known_code()
        return made

    def _planned(self, known: SealedReference, *, observes: bool = False) -> SealedPlan:
        tests = replace(self.tests, passing=()) if known.only_fixed else self.tests
        return SealedPlan(tests, self.seed, known, self._inherited, observes=observes)

    def _recall(self, known: SealedReference) -> None:
        if known.relaxed or known.paired or known.keeps_names or known.only_fixed:
            self._plan = self._planned(known)
        self._reference = known

    def _why_useless(self) -> str | None:
        passed = {test for run in self._reference.runs for test in run.passed}
        if not self._plan.files:
            return next(iter(self._plan.unreadable.values()), None) or "there is no file to seal"
        if self._reference.runs and passed.isdisjoint(self.tests.fixed):
            return "the reference solution passes no test without its expected values"
        return None

    # The files with tests to fix in which no test that stays passing is sealed.
    @property
    def _uncontrolled(self) -> dict[str, str]:
        tests = self.tests.passing if self._reference.only_fixed else ()
        return dict.fromkeys(files_of(tests), TOO_LONG)

    @property
    def _renamed(self) -> dict[NodeId, NodeId]:
        return {**self._plan.renamed, **self._reference.regressions.renamed}

    def _run_once(self, timeout_factor: int = 1) -> TestRun:
        # Sealed runs may run at the same time: no value that they lack is in one of their
        # sandboxes.
        lock = self._context.judging_lock(shared=True)
        # The digests tell code under test no name that it does not have. A line at the end of a
        # file tells them, since the environment of all judged runs is the same.
        digests = sorted(digest(["str", name]) for name in self._reference.public_names)
        call = f"__import__({RECORDER!r}).read_properties(*{digests})\n".encode()
        files = {file: content + call for file, content in self._plan.files.items()}
        files |= self._reference.regressions.sealed_files
        run = self.runs.rewritten(files, lock, timeout_factor=timeout_factor)
        self._outcomes.append(self._outcome(run))
        return run

    # Run the reference solution and the code without a fix under the seal. The recordings of the
    # first one are stored, and in which assertions the second one differs.
    def _run_known_code(self) -> None:
        known, solution, run = self._reference, self.runs.of_solution(), ReferenceRun()
        self._plan = self._planned(known, observes=True)
        if solution is not None:
            known, run = self._with_names(known, self._reference_run(solution), solution)
            if run.is_large and self.tests.passing:
                known = known.replace(only_fixed=True)
                self._plan = self._planned(known, observes=True)
                run = self._reference_run(solution)
            for _ in range(_MOST_ROUNDS):
                other = isolated(self._plan.relaxed_by, run)
                files = sorted({*known.relaxed, *other})
                relaxed = {
                    file: tuple(sorted({*known.relaxed.get(file, ()), *other.get(file, ())}))
                    for file in files
                }
                if relaxed == known.relaxed:
                    break
                known = known.replace(relaxed=relaxed)
                self._plan = self._planned(known, observes=True)
                run = self._reference_run(solution)
        base = self._reference_run(self.runs.of_base())
        if solution is not None:
            # Comparisons of computed values, of which the solution fixes one side: the other one
            # is expected, and is taken out.
            paired = isolated(self._plan.pairs_fixed_by, run, base) if self._plan.has_pairs else {}
            if paired:
                known = known.replace(paired=paired)
                self._plan = self._planned(known, observes=True)
                run, base = self._reference_run(solution), self._reference_run(self.runs.of_base())
            known = known.with_run(run)
        differences = isolated(self._plan.differences, run, base)
        self._plan = self._planned(known)
        self._reference = known.replace(base=differences)
        # Draw the pass-to-pass tests that are controlled in files without a test to fix.
        sample = draw_sample(self.tests.elsewhere, self.runs.content, self.seed)
        if sample.files:
            self._reference = self._reference.replace(regressions=sample)
            base_run = self.runs.of_base().rewritten(sample.sealed_files, None, timeout_factor=1)
            sample = isolated(confirmed, sample, self._outcome(base_run))
        self._remember(self._reference.replace(regressions=sample))

    def _remember(self, known: SealedReference) -> None:
        self._reference = known
        self._context.sealed_memory.remember(known)

    # The given run, or one in which tests keep their names, if more tests pass in it.
    def _with_names(
        self, known: SealedReference, run: ReferenceRun, solution: JudgedRuns
    ) -> tuple[SealedReference, ReferenceRun]:
        fixed = frozenset(self.tests.fixed)
        # Tests get random names, since a name may tell the expected value; but some tests need
        # theirs.
        if 2 * len(fixed.intersection(run.passed)) >= len(fixed):
            return known, run  # most tests pass; another run is not worth its cost
        renamed, kept = self._plan, known.replace(keeps_names=True)
        self._plan = self._planned(kept, observes=True)
        second = self._reference_run(solution)
        if len(fixed.intersection(second.passed)) > len(fixed.intersection(run.passed)):
            return kept, second
        self._plan = renamed
        return known, run

    def _reference_run(self, runs: JudgedRuns) -> ReferenceRun:
        run = runs.rewritten(self._plan.files, None, timeout_factor=1)
        outcome = self._outcome(run)
        seconds = run.command.duration.total_seconds()
        found = reference_run(outcome.passed, outcome.recordings, seconds)
        return found.replace(is_large=len(run.recordings) > _LARGE)

    # Whether the reference solution nearly takes the time limit, with its recordings.
    def _is_slow_task(self) -> bool:
        longest = max((known.seconds for known in self._reference.runs), default=0.0)
        limit = judged_timeout(self._context).total_seconds()
        return longest > limit / _NEARLY

    def _judge(self, compare: Comparison[list[JudgedSeal]] | None = None) -> JudgedSeal:
        """The result of the only run, or of all further ones, in which each test has to agree."""
        recorded = self._outcomes[1:] or self._outcomes, self._reference
        judged = compare(*recorded) if compare else isolated(self._plan.judge_all, *recorded)
        others, sample = list[JudgedSeal](), self._reference.regressions
        if not all(is_as_before(sample, outcome) for outcome in recorded[0]):
            others = isolated(judge_sample, sample, recorded[0])
        must_pass = frozenset((*self.tests.fixed, *self.tests.passing, *self.tests.elsewhere))
        mismatches = {
            (m.node_id, m.line): m
            for each in (*judged, *others)
            for m in each.mismatches
            if m.node_id in must_pass  # in this attempt's baseline, too
        }
        unsealed = {
            test: self._plan.explained(test, why)
            for each in judged
            for test, why in each.unsealed.items()
        }
        return JudgedSeal(
            mismatches=tuple(mismatches.values()),
            sealed=frozenset.intersection(*(each.sealed for each in judged)),
            unsealed=unsealed,
            values=judged[-1].values,
            has_wrong_value=any(each.has_wrong_value for each in (*judged, *others)),
        )

    # The reasons of the tests that are not sealed, with the values that stay, if known.
    def _visible(self, judged: JudgedSeal) -> dict[NodeId, VisibleValue]:
        base = self._reference.base or {}
        stays = {test: one.stays for test, one in base.items() if one.stays is not None}
        others = {one.reason: one for one in stays.values()}  # of other cases of a function
        found = {}
        for test, why in judged.unsealed.items():  # the statement follows the reason
            other = next((one for known, one in others.items() if why.startswith(known)), None)
            found[test] = stays.get(test) or other or VisibleValue(reason=why)
        return found

    def _outcome(self, run: TestRun) -> SealedOutcome:
        original = {new: old for old, new in self._renamed.items()}
        passed = expectation.passed_tests(Evidence(report=run.facts))
        recordings = read_recordings(run.recordings.encode())
        return SealedOutcome(
            passed=frozenset(original.get(test, test) for test in passed),
            ended=frozenset(
                original.get(case.node_id, case.node_id)
                for case in run.result.tests
                if case.outcome is not CaseOutcome.UNFINISHED
            ),
            recordings={original.get(test, test): found for test, found in recordings.items()},
            is_full=_FULL in run.recordings,
        )
