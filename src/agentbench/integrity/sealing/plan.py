"""Plans the sealed run of a task, and checks the recordings of its tests."""

import ast
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random

from agentbench.core.checksums import sources_checksum
from agentbench.errors import InputError
from agentbench.integrity.control_plan import ControlledTests, FunctionKey
from agentbench.integrity.expectation_changes.engine import shorten
from agentbench.integrity.languages import decoded
from agentbench.integrity.records import SealedMismatch, VisibleValue
from agentbench.integrity.sealing import evaluation
from agentbench.integrity.sealing.canonical import Recording, value_text
from agentbench.integrity.sealing.checks import Comparison, LikeReference, Site, Truthiness
from agentbench.integrity.sealing.equality import Agreement
from agentbench.integrity.sealing.expected_texts import ELSEWHERE
from agentbench.integrity.sealing.inheritance import Inheritance
from agentbench.integrity.sealing.isolation import OUT_OF_TIME, ComparisonGuard, Incomparable
from agentbench.integrity.sealing.memory import (
    BaseDifference,
    ReferenceRun,
    SealedReference,
)
from agentbench.integrity.sealing.observation import what_stays
from agentbench.integrity.sealing.pairs import is_expected
from agentbench.integrity.sealing.recordings import agree as recording_agrees
from agentbench.integrity.sealing.recordings import (
    are_informative,
    is_broad,
    is_wrong_value,
    without_order,
)
from agentbench.integrity.sealing.seal import SealedFile, SealedFunction, SealSettings, seal_file
from agentbench.python_source import functions
from agentbench.python_source.functions import split_id
from agentbench.python_source.source_text import parse_source
from agentbench.scoring.evidence import NodeId
from agentbench.scoring.node_ids import file_of
from agentbench.test_runs import mounted

# The code that decides what is recorded; recordings of other versions cannot be compared.
_SOURCES = (
    Path(__file__).parents[1],
    Path(functions.__file__).parent,
    Path(mounted.__file__).parent,
)

_LEAST_STRENGTH = 3  # of an assertion that counts: at most one guess in eight is right
_GUESSABLE = "line {}: its values are few enough to be guessed"
_NO_DIFFERENCE = "code without a fix passes each assertion with a value that cannot be guessed"
_VISIBLE = "line {}: its expected value stays in the test"
_STRIDE = 1_000_000  # between the numbers of two files, whose assertions one test may record
_NO_ROOM = "the recordings of all tests took too much room"
_NO_RECORDING = "it recorded nothing that could be compared"
_DOUBTFUL = "the host cannot evaluate line {}"
_STUFFED = "a value that passes with many other expected values, too"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedOutcome:
    """The result of one sealed run: the tests that passed, and the recordings by their own ids."""

    passed: frozenset[NodeId]
    ended: frozenset[NodeId]  # the tests with a result
    recordings: Mapping[NodeId, tuple[Recording, ...]]
    is_full: bool = False  # whether there was no room for further ones


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeal:
    """The result of comparing a sealed run with the expected values."""

    mismatches: tuple[SealedMismatch, ...]
    sealed: frozenset[NodeId]  # the tests that are fully controlled
    agreed: frozenset[NodeId] = frozenset()  # the tests with right values, however telling
    unsealed: Mapping[NodeId, str]  # the others, and why
    values: int  # the compared recordings
    has_wrong_value: bool = False
    """Whether a mismatch is a value, and not only an error or a missing recording."""

    @property
    def differing(self) -> frozenset[NodeId]:
        return frozenset(one.node_id for one in self.mismatches)


class SealedPlan:
    """The sealed files of a task's deciding tests."""

    def __init__(
        self,
        tests: ControlledTests,
        seed: int,
        reference: SealedReference,
        inherited: Inheritance | None = None,
        *,
        observes: bool = False,
    ) -> None:
        """Seal the files.

        Args:
            tests: The files and the tests that decide.
            seed: For random ids of parametrised tests.
            reference: The findings of the reference solution about the seal.
            inherited: The tests whose functions are in other files, which are sealed as well.
            observes: Whether the tests record what their expressions give.
        """
        self._observes = observes
        self._tests = tests
        self._seed = seed
        self._inherited = inherited or Inheritance()
        self._contents = {**self._inherited.files, **tests.files}
        self._order = sorted(self._contents)
        self._known = reference
        self._sealed: dict[str, SealedFile] = {}
        self._function: dict[NodeId, tuple[str, SealedFunction]] = {}
        self.files: dict[str, bytes] = {}
        self.renamed: dict[NodeId, NodeId] = {}
        self.unreadable: dict[str, str] = {}
        for file in self._order:
            try:
                self._seal(file, self._contents[file], Random(f"{seed}/sealed/{file}"))
            except InputError as error:
                self.unreadable[file] = error.faults[0]
        for test, origin in self._inherited.origins.items():
            self._inherit(test, origin)

    def __reduce__(self) -> tuple[object, ...]:
        # Another process seals the files again: deep syntax trees cannot be pickled.
        made = partial(SealedPlan, observes=self._observes)
        return made, (self._tests, self._seed, self._known, self._inherited)

    def _seal(self, file: str, content: bytes | None, rng: Random) -> None:
        text, encoding = decoded(content, file)
        origins = self._inherited.origins.values()
        listed = [test for test in (*self._listed, *origins) if file_of(test) == file]
        words: set[str] | None = None
        if file in self._inherited.files:
            others = [each for name, each in self._contents.items() if name != file and each]
            words = {w.decode() for text in others for w in re.findall(rb"[A-Za-z_]\w*", text)}
        settings = SealSettings(
            relaxed_sites=frozenset(self._known.relaxed.get(file, ())),
            paired_sites=frozenset(self._known.paired.get(file, ())),
            keeps_names=self._known.keeps_names,
            used_names=words,
            modules=self._tests.modules,
            observes=self._observes,
            start=_STRIDE * self._order.index(file),
        )
        sealed = seal_file(text, file, listed, rng, settings)
        self.files[file] = sealed.source.encode(encoding, "surrogateescape")
        self.renamed |= {NodeId(old): NodeId(new) for old, new in sealed.renamed.items()}
        self._sealed[file] = sealed
        for name, function in sealed.functions.items():
            for test in function.tests:
                self._function[NodeId(test)] = file, sealed.functions[name]

    # Check an inherited test by the function that it runs; both are renamed alike.
    def _inherit(self, test: NodeId, origin: NodeId) -> None:
        if origin not in self._function or test not in self._function:
            return
        file, function = self._function[origin]
        # If several base classes have an unusual order, another function may run.
        self._function[test] = file, replace(function, certain=())
        new, last = self.renamed.get(test, test), self.renamed.get(origin, origin)
        owner = f"{file_of(new)}::{split_id(new)[0]}".rpartition("::")[0]
        name, bracket, case = last.partition("[")
        self.renamed[test] = NodeId(f"{owner}::{name.rpartition('::')[2]}{bracket}{case}")

    @property
    def _listed(self) -> tuple[NodeId, ...]:
        return (*self._tests.fixed, *self._tests.passing)

    @property
    def readable(self) -> dict[NodeId, SealedFunction]:
        """The tests whose assertions can all be read, if every passing run reaches one of them."""
        found = self._function.items()
        return {test: one for test, (_, one) in found if one.unsealed is None and one.certain}

    def digest(self, solution: bytes) -> str:
        """A name of the seal; recordings of equal seals can be compared.

        Args:
            solution: The reference solution, whose recordings are stored under this name.
        """
        digest = hashlib.sha256(solution)
        # Recordings of another version of this code cannot be compared.
        digest.update(sources_checksum(*_SOURCES).encode())
        for file, sealed in sorted(self._sealed.items()):
            digest.update(f"\0{file}\0".encode() + (self._contents[file] or b""))
            for site in sealed.sites.values():
                digest.update(f"\0{site.number} {site.function} {site.line} {site.text}".encode())
            for number, cell in sealed.tokens.items():
                digest.update(f"\0{number} {ast.unparse(cell.node)}".encode())
        return digest.hexdigest()

    def judge_all(
        self,
        outcomes: Sequence[SealedOutcome],
        reference: SealedReference,
        guard: ComparisonGuard,
    ) -> list[JudgedSeal]:
        return [self.judge(outcome, reference, guard) for outcome in outcomes]

    def judge(
        self,
        outcome: SealedOutcome,
        reference: SealedReference,
        guard: ComparisonGuard | None = None,
    ) -> JudgedSeal:
        """Compare the recordings of a run with the expected values.

        Args:
            outcome: The run.
            reference: The recordings of the reference solution under the same seal, if it was run.
            guard: Bounds the comparisons.
        """
        guard = guard or ComparisonGuard()
        mismatches: list[SealedMismatch] = []
        unsealed: dict[NodeId, str] = {}
        proofs: dict[FunctionKey, _Proof] = {}
        agreed: list[NodeId] = []
        values, has_wrong_value = 0, False
        base = reference.base or {}
        for node_id in self._listed:
            found = self._judge_test(node_id, outcome, reference.runs, guard)
            values += found.values
            mismatches += found.mismatches
            has_wrong_value |= found.has_wrong_value
            if found.unsealed is not None:
                unsealed[node_id] = found.unsealed
            elif not found.mismatches:
                agreed.append(node_id)
                proof = proofs.setdefault(self._key(node_id), _Proof())
                proof.add(found.strength, base.get(node_id) or BaseDifference())
        for node_id in agreed:
            if why := proofs[self._key(node_id)].weakness(self._site):
                unsealed[node_id] = why
        return JudgedSeal(
            mismatches=tuple(mismatches),
            sealed=frozenset(agreed).difference(unsealed),
            agreed=frozenset(agreed),
            unsealed=unsealed,
            values=values,
            has_wrong_value=has_wrong_value,
        )

    def explained(self, node_id: NodeId, why: str) -> str:
        """Why a test is not sealed, with the statement at the line that the reason names."""
        named = re.search(r"line (\d+)", why)
        # The line of an inherited test may be in either file.
        if named is None or node_id not in self._function or node_id in self._inherited.origins:
            return why
        file = file_of(node_id)
        source = parse_source(decoded(self._contents[file], file)[0], file)
        line = int(named[1])
        simple = (
            node.end_lineno
            for node in ast.walk(source.tree)
            if isinstance(node, ast.stmt) and node.lineno == line and not hasattr(node, "body")
        )
        lines = range(line, (next(simple, None) or line) + 1)
        text = " ".join(source.line(number).strip() for number in lines)
        return f"{why}: `{shorten(text)}`"

    def differences(
        self, run: ReferenceRun, base: ReferenceRun, guard: ComparisonGuard | None = None
    ) -> dict[NodeId, BaseDifference]:
        """The assertions of the tests to fix by which code without a fix shows that it is wrong.

        Args:
            run: The sealed run of the reference solution; empty without one.
            base: The sealed run of the code without a fix.
            guard: Bounds the comparisons.
        """
        guard = guard or ComparisonGuard()
        observed = {n: one for file in self._sealed.values() for n, one in file.observed.items()}
        found = {}
        for node_id in self._tests.fixed:
            right = _by_site(run.recordings_of(node_id))
            passed, failed = set[int](), set[int]()
            for number, recordings in _by_site(base.recordings_of(node_id)).items():
                evaluator = self._evaluator(number)
                if evaluator is None:
                    continue
                known = right.get(number, [])
                is_right = len(recordings) >= len(known) and all(
                    guard.run(partial(_verdict, evaluator, recording, at, [known]))
                    == (Agreement.YES, True)
                    for at, recording in enumerate(recordings)
                )
                (passed if is_right else failed).add(number)
            recorded = run.recordings_of(node_id), base.recordings_of(node_id)
            stays = guard.run(partial(what_stays, observed, *recorded))
            if isinstance(stays, Incomparable):
                stays = VisibleValue(reason=stays.reason)
            found[node_id] = BaseDifference(
                passed=frozenset(passed), failed=frozenset(failed), stays=stays
            )
        return found

    def _site(self, number: int) -> Site:
        evaluator = self._evaluator(number)
        assert evaluator is not None  # a test has recorded it
        return evaluator.site

    def relaxed_by(
        self, run: ReferenceRun, guard: ComparisonGuard | None = None
    ) -> dict[str, tuple[int, ...]]:
        """By file, the assertions that the host cannot evaluate for the reference solution."""
        guard = guard or ComparisonGuard()
        found: dict[str, set[int]] = {}
        for node_id in run.recordings:
            if node_id not in self._function:
                continue
            for recording in run.recordings_of(node_id):
                evaluator = self._evaluator(recording.site)
                if evaluator is None or not evaluator.site.may_relax:
                    continue
                if guard.run(partial(evaluator.agrees, recording)) is not Agreement.YES:
                    file = self._order[recording.site // _STRIDE]
                    found.setdefault(file, set()).add(recording.site)
        return {file: tuple(sorted(sites)) for file, sites in found.items()}

    @property
    def has_pairs(self) -> bool:
        """Whether an assertion has two computed sides, one of which seems to be expected."""
        return any(s.pair is not None for f in self._sealed.values() for s in f.sites.values())

    def pairs_fixed_by(
        self, run: ReferenceRun, base: ReferenceRun, guard: ComparisonGuard | None = None
    ) -> dict[str, tuple[int, ...]]:
        """By file, the assertions with two computed sides, of which the solution fixes only one.

        The test expects the other side, since unfixed code computes it, too. If unfixed code does
        not reach the assertion, the second side counts as the expected one, since this order is
        usual, but only if it uses nothing that the agent may have to write.

        Args:
            run: The sealed run of the reference solution.
            base: The sealed run of the code without a fix.
            guard: Bounds the comparisons.
        """
        guard = guard or ComparisonGuard()
        doubt: dict[tuple[str, int], bool] = {}
        for node_id in sorted(run.recordings.keys() & self._function.keys()):
            file, _ = self._function[node_id]
            before = _by_site(base.recordings_of(node_id))
            for number, recordings in _by_site(run.recordings_of(node_id)).items():
                site = self._sealed[file].sites.get(number)
                if site is None or site.pair is None:
                    continue
                pairs = list(zip(before.get(number, ()), recordings, strict=False))
                doubt.setdefault((file, number), False)
                found_ = guard.run(partial(is_expected, site.pair, pairs))
                doubt[file, number] |= found_ is not True
        found: dict[str, list[int]] = {}
        for file, number in sorted(key for key, doubtful in doubt.items() if not doubtful):
            found.setdefault(file, []).append(number)
        return {file: tuple(numbers) for file, numbers in found.items()}

    def _key(self, node_id: NodeId) -> FunctionKey:
        return FunctionKey(file_of(node_id), self._function[node_id][1].name)

    def _evaluator(self, number: int) -> evaluation.SiteEvaluator | None:
        for sealed in self._sealed.values():
            if (site := sealed.sites.get(number)) is not None:
                return evaluation.SiteEvaluator(file=sealed, site=site)
        return None

    def _judge_test(
        self,
        node_id: NodeId,
        outcome: SealedOutcome,
        references: Sequence[ReferenceRun],
        guard: ComparisonGuard,
    ) -> "_JudgedTest":
        found = _JudgedTest(node_id=node_id)
        if node_id not in self._function:
            found.unsealed = self.unreadable.get(file_of(node_id), "its file is not sealed")
            return found
        _, function = self._function[node_id]
        found.unsealed = function.unsealed
        known = [run for run in references if node_id in run.passed]
        if references and not known:
            found.unsealed = "the reference solution does not pass it without its expected values"
            return found
        by_site = _by_site(outcome.recordings.get(node_id, ()))
        # Code that ends a test early must not hide the value that it would give.
        if node_id not in outcome.passed:
            if known or node_id not in outcome.ended:
                found.fail("the test to run to its end", "an error, or no result at all")
            else:
                found.unsealed = "it does not pass without its expected values"
            return found
        count = len(outcome.recordings.get(node_id, ()))
        large = [run for run in known if run.is_large]
        if outcome.is_full and any(count < len(run.recordings.get(node_id, ())) for run in large):
            found.unsealed = _NO_ROOM
            return found
        referenced = [_by_site(run.recordings_of(node_id)) for run in known]
        reached = set(function.certain).union(*(each.keys() for each in referenced))
        for number in sorted(reached | by_site.keys()):
            evaluator = self._evaluator(number)
            if evaluator is not None:
                others = [each.get(number, ()) for each in referenced]
                if node_id in self._inherited.origins:  # it may call helpers of either file
                    found.unsealed = found.unsealed or evaluator.site.unsealed
                found.judge(
                    evaluator,
                    by_site.get(number, ()),
                    others,
                    guard,
                    has_reference=bool(known),
                    is_certain=number in function.certain,
                )
        if found.unsealed is None and not found.values:
            found.unsealed = _NO_RECORDING
        return found


@dataclass(slots=True, kw_only=True)
class _Proof:
    """What the assertions of one function prove: a value counts once, however often it is given.

    An assertion counts only if code without a fix does not pass it. A strong one says nothing of
    another one beside it, whose expected value stays in the test.
    """

    strength: dict[int, int] = field(default_factory=dict)  # of each assertion that counts
    failed: set[int] = field(default_factory=set)  # by code without a fix
    stays: VisibleValue | None = None

    def add(self, strength: Mapping[int, int], base: BaseDifference) -> None:
        """Add the assertions of one test of the function."""
        self.failed |= base.failed
        self.stays = self.stays or base.stays
        for number, found in strength.items():
            # What unfixed code passes, too, such as `status == 200`, counts for nothing.
            if number not in base.passed:
                self.strength[number] = max(found, self.strength.get(number, 0))

    def weakness(self, site_of: Callable[[int], Site]) -> str | None:
        """Why the function does not count as sealed."""
        if not self.strength:
            return _NO_DIFFERENCE
        if self.stays is not None:
            return self.stays.reason
        # A value that is guessed more than once in eight times proves nothing.
        if max(self.strength.values()) < _LEAST_STRENGTH:
            strongest = min(self.strength, key=lambda number: (-self.strength[number], number))
            return _GUESSABLE.format(site_of(strongest).line)
        for number, strength in sorted(self.strength.items()):
            site = site_of(number)
            # Most code passes such an assertion as soon as it runs at all.
            is_trivial = isinstance(site.check, Truthiness) and site.check.is_likely
            may_pass = is_trivial and number not in self.failed
            # What is compared as a whole may be the expected value itself.
            is_pair = isinstance(site.check, LikeReference) and len(site.check.indices) > 1
            if site.is_visible and (strength < _LEAST_STRENGTH or is_pair) and not may_pass:
                return _VISIBLE.format(site.line)
        return None


@dataclass(slots=True, kw_only=True)
class _JudgedTest:
    node_id: NodeId
    mismatches: list[SealedMismatch] = field(default_factory=list)
    unsealed: str | None = None
    strength: dict[int, int] = field(default_factory=dict)  # by the numbers of the assertions
    values: int = 0
    has_wrong_value: bool = False  # whether a mismatch is a value

    def fail(self, expected: str, actual: str, site: Site | None = None) -> None:
        self.mismatches.append(
            SealedMismatch(
                node_id=self.node_id,
                line=site.line if site is not None else None,
                assertion=shorten(site.text) if site is not None else "",
                expected=shorten(expected),
                actual=shorten(actual),
            )
        )

    def judge(
        self,
        evaluator: evaluation.SiteEvaluator,
        recordings: Sequence[Recording],
        references: Sequence[Sequence[Recording]],
        guard: ComparisonGuard,
        *,
        has_reference: bool,
        is_certain: bool,
    ) -> None:
        """Check the recordings of one assertion, one for each time that it ran."""
        site = evaluator.site
        if not recordings:
            if (has_reference and any(references)) or (not has_reference and is_certain):
                self.fail("the assertion to run", "nothing: it did not run", site)
            return
        fewest = min((len(each) for each in references if each), default=0)
        if len(recordings) < fewest:
            self.fail(f"{fewest} recordings", f"{len(recordings)} recordings", site)
            return
        for at, recording in enumerate(recordings):
            self.values += 1
            same_time = [each[at] for each in references if at < len(each)]
            # A text with all amounts contains the right one.
            excludes = guard.run(partial(evaluator.excludes_others, recording, same_time))
            if excludes is Agreement.NO:
                self.fail(evaluator.expected_text(recording), _STUFFED, site)
                self.has_wrong_value = True
                return
            if excludes is not Agreement.YES:  # or time was used up
                self.unsealed = self.unsealed or _DOUBTFUL.format(site.line)
            found = guard.run(partial(_assessed, evaluator, recording, at, references))
            if isinstance(found, Incomparable):
                known = guard.run(lambda: [evaluator.agrees(each) for each in same_time])  # noqa: B023
                # Time that is used up proves nothing against the reference's own value. If it
                # excused ours, slow values could keep the others from being compared.
                if found is OUT_OF_TIME or not isinstance(known, Incomparable):
                    self.fail("a value that can be compared", found.reason, site)
                    self.has_wrong_value = True
                    return
                # Correct code gives such a value, too, so it is no evidence.
                found = _Assessment(unsealed=_DOUBTFUL.format(site.line))
            if found.mismatch is not None:
                self.fail(*found.mismatch, site)
                self.has_wrong_value = True
                return
            self.strength[site.number] = max(found.strength, self.strength.get(site.number, 0))
            self.unsealed = self.unsealed or found.unsealed


@dataclass(slots=True, kw_only=True)
class _Assessment:
    """What one recording of an assertion shows."""

    strength: int = 0
    unsealed: str | None = None
    mismatch: tuple[str, str] | None = None  # the expected and the actual value


def _assessed(
    evaluator: evaluation.SiteEvaluator,
    recording: Recording,
    at: int,
    references: Sequence[Sequence[Recording]],
) -> _Assessment:
    verdict, is_telling = _verdict(evaluator, recording, at, references)
    line = evaluator.site.line
    match verdict:
        case Agreement.YES if evaluator.expects_input(recording):
            return _Assessment(unsealed=ELSEWHERE.format(line))
        case Agreement.YES:
            same_time = [each[at] for each in references if at < len(each)]
            strength = evaluator.strength(recording, same_time) if is_telling else 0
            return _Assessment(strength=strength)
        case Agreement.NO:
            raised = () if recording.raised is None else (recording.raised,)
            values = (*recording.values, *raised, *(recording.warned or ()))
            actual = ", ".join(map(value_text, values)) or "nothing"
            return _Assessment(mismatch=(evaluator.expected_text(recording), actual))
        case Agreement.UNKNOWN:
            return _Assessment(unsealed=_DOUBTFUL.format(line))


# Whether a recording agrees, and whether this proves something.
def _verdict(
    evaluator: evaluation.SiteEvaluator,
    recording: Recording,
    at: int,
    references: Sequence[Sequence[Recording]],
) -> tuple[Agreement, bool]:
    known = [each for each in references if each]
    # The recorder's tokens are readable in the sandbox.
    tokens = evaluator.tokens(recording)
    if tokens:  # they identify the expected value, so code must not choose them
        expected = [evaluator.tokens(each[at]) for each in known if at < len(each)]
        if tokens not in expected:
            return (Agreement.NO if expected else Agreement.UNKNOWN), True
    found = evaluator.agrees(recording)
    if found is Agreement.YES and is_broad(recording, [other for each in known for other in each]):
        return Agreement.NO, True
    if found is Agreement.YES or not known:
        # Otherwise an object that hides its value could equal anything.
        hides = found is Agreement.UNKNOWN and evaluator.hides_value(recording)
        return (Agreement.NO if hides else found), True
    same_time = [each[at] for each in known if at < len(each)]
    is_wrong_there = not any(evaluator.agrees(other) is Agreement.YES for other in same_time)
    ours = recording
    if isinstance(evaluator.site.check, Comparison) and evaluator.site.check.unordered:
        ours, *same_time = map(without_order, (recording, *same_time))
    is_like = bool(same_time) and recording_agrees(ours, same_time)
    lacks_text = found is Agreement.UNKNOWN and evaluator.lacks_text(recording)
    is_right_once = any(
        evaluator.agrees(other) is Agreement.YES for each in known for other in each
    )
    if is_right_once and not lacks_text:
        # The host can evaluate the values of correct code. So only two kinds of values count as
        # right by similarity: objects that the host cannot read, and values that are wrong for
        # correct code, too, at the same time, since a test may need its own name.
        is_right = is_like and (found is Agreement.UNKNOWN or is_wrong_there)
        return (Agreement.YES if is_right else Agreement.NO), True
    if is_like:
        return Agreement.YES, are_informative(same_time)
    check = evaluator.site.check
    must_be_equal = (
        isinstance(check, Comparison)
        and not check.is_computed
        and ast.Eq in check.ops
        and any(True for _ in evaluator.site.removed)
    )
    # Right fixes may give other patterns, bounds and objects than the reference solution.
    must_be_equal |= (
        evaluator.demands_equality and bool(same_time) and is_wrong_value(ours, same_time)
    )
    return (Agreement.NO if must_be_equal else Agreement.UNKNOWN), True


def _by_site(recordings: Iterable[Recording]) -> dict[int, list[Recording]]:
    found: dict[int, list[Recording]] = {}
    for recording in recordings:
        found.setdefault(recording.site, []).append(recording)
    return found
