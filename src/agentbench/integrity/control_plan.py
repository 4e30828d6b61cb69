"""Plans control runs: the tests that expect a wrong value in each run, and the run's files."""

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from pydantic import ValidationError, field_serializer

from agentbench.core.checksums import ChecksummedDocument
from agentbench.core.files import write_atomically
from agentbench.errors import InputError
from agentbench.integrity.languages import is_python, language_of
from agentbench.integrity.records import ChangedExpectation, ValueKind, VisibleValue, WeakControl
from agentbench.python_source import python_syntax
from agentbench.python_source.constants import is_telling
from agentbench.scoring.evidence import NodeId
from agentbench.scoring.node_ids import file_of

# With fewer functions to fix, regression tests are added, since one or two could be guessed.
_FEWEST_FUNCTIONS = 8
_NOT_FOUND = "the value that stays in it is not found, and another one is changed"
_TRUTHS = "only truths in it can be changed"
_ELSEWHERE = "the value that it expects also stands in another place of the tests"
_PERHAPS = 3  # changes with at least this doubt need a reference solution that confirms them


class FunctionKey(NamedTuple):
    """A test function of the task."""

    file: str
    function: str


class KnownFunctions(ChecksummedDocument):
    """The results of earlier runs of the reference solution for a task's functions."""

    uncertain: frozenset[FunctionKey] = frozenset()  # passed although a value was changed
    useless: frozenset[FunctionKey] = frozenset()  # did not behave as expected

    def joined(self, other: "KnownFunctions") -> "KnownFunctions":
        """The union of the results of two memories."""
        uncertain, useless = self.uncertain | other.uncertain, self.useless | other.useless
        return KnownFunctions(uncertain=uncertain, useless=useless)

    @field_serializer("uncertain", "useless")
    def _in_order(self, keys: frozenset[FunctionKey]) -> list[FunctionKey]:
        return sorted(keys)


class ControlMemory:
    """Stores the `KnownFunctions` of a task. Only runs without an agent's code add to them."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is the file; None: the memory is not stored."""
        self._path = path
        self._known = KnownFunctions()

    def recall(self) -> KnownFunctions:
        """The stored results; empty if the file is damaged."""
        if self._path is not None:
            with contextlib.suppress(OSError, ValidationError):
                stored = KnownFunctions.model_validate_json(self._path.read_bytes())
                self._known = self._known.joined(stored)
        return self._known

    def remember(self, known: KnownFunctions) -> None:
        """Add results; one of two concurrent additions may be lost, and is determined again."""
        self._known = self.recall().joined(known)
        if self._path is not None:
            with contextlib.suppress(OSError):
                write_atomically(self._path, self._known.json_with_checksum().encode())


def _stands_in(original: str, files: Iterable[bytes]) -> bool:
    """Whether a changed value, as it is written, is still in these files, and not by chance."""
    is_shortened = original.endswith("…")
    try:
        value = original[:-1] if is_shortened else python_syntax.literal(original)
    except (SyntaxError, ValueError):
        return False
    if not is_telling(value):
        return False
    written = ascii(value).lstrip("b").strip("'\"")
    end = "" if is_shortened else r"(?![\w.])"
    whole = re.compile(rf"(?<![\w.]){re.escape(written)}{end}".encode())
    return any(whole.search(content) for content in files)


# Divide functions at random into two parts; with two or more functions, neither is empty.
def _partition(functions: Iterable[str], rng: Random) -> tuple[frozenset[str], frozenset[str]]:
    names = sorted(set(functions))
    rng.shuffle(names)
    middle = rng.randint(1, len(names) - 1) if len(names) > 1 else len(names)
    return frozenset(names[:middle]), frozenset(names[middle:])


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledTests:
    """Test files and the ids of their deciding tests; an unreadable file controls nothing."""

    files: Mapping[str, bytes | None]  # None: the file does not exist
    fixed: tuple[NodeId, ...]
    passing: tuple[NodeId, ...]
    modules: frozenset[str] = frozenset()  # of the files of tests, as tests can import them
    elsewhere: tuple[NodeId, ...] = ()  # tests that must stay passing, in files with none to fix
    visible: Mapping[NodeId, VisibleValue] = field(default_factory=dict)
    """Why tests are not sealed, with the values that stay in them."""
    others: Mapping[str, bytes] = field(default_factory=dict)
    """The other files of hidden tests, such as their data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedControlRun:
    """One control run: its files, the tests that must fail and pass, and their ids in it."""

    files: Mapping[str, bytes]
    must_fail: tuple[NodeId, ...]
    must_pass: tuple[NodeId, ...]
    weakly_failing: frozenset[NodeId]  # by an added assertion, not by a changed value
    renamed: Mapping[NodeId, NodeId]
    drawn: tuple[ChangedExpectation, ...]
    weak: tuple[WeakControl, ...]

    @property
    def tests(self) -> Iterator[tuple[NodeId, Literal["fail", "pass"]]]:
        yield from ((node_id, "fail") for node_id in self.must_fail)
        yield from ((node_id, "pass") for node_id in self.must_pass)


class ControlPlan:
    """Creates the control runs of one attempt; equal seeds create equal runs."""

    def __init__(self, tests: ControlledTests, seed: int, *, certain_only: bool) -> None:
        self._tests = tests
        self._seed = seed
        self._certain_only = certain_only
        self._texts: dict[str, tuple[str, str]] = {}  # and encodings, of the readable files
        self._functions: dict[FunctionKey, tuple[NodeId, ...]] = {}
        self.unreadable = tuple(self._read_sources())  # the files that control nothing
        self.sides = self._divide(Random(seed))
        """The functions that expect a wrong value in the first and in the second run."""

    def half(self, side: int, known: KnownFunctions) -> PlannedControlRun:
        """The files of one run, 0 or 1; known functions are useless or get an added assertion.

        Args:
            side: 0 or 1.
            known: Functions that are useless as controls, or need an added assertion.
        """
        wrong = self.sides[side] - known.useless
        uncertain = wrong & known.uncertain
        half = self._draw(wrong, uncertain, side)
        perhaps = [one for one in half.drawn if one.doubt >= _PERHAPS]
        doubtful = {FunctionKey(one.file, one.function) for one in perhaps}
        # Nothing could acquit an honest attempt that passes such a change (decision 6).
        if self._certain_only and doubtful:
            half = self._draw(wrong, uncertain | doubtful, side)
        idle = {test for key in known.useless for test in self._tests_of(key)}
        return replace(half, must_pass=tuple(t for t in half.must_pass if t not in idle))

    def function_of(self, node_id: NodeId) -> FunctionKey | None:
        return next((key for key, tests in self._functions.items() if node_id in tests), None)

    def _divide(self, rng: Random) -> tuple[frozenset[FunctionKey], frozenset[FunctionKey]]:
        fixed = set(self._tests.fixed)
        chosen = {key for key, tests in self._functions.items() if fixed.intersection(tests)}
        other_files = set(map(file_of, self._tests.elsewhere))
        spare = sorted(k for k in self._functions.keys() - chosen if k.file not in other_files)
        missing = min(max(0, _FEWEST_FUNCTIONS - len(chosen)), len(spare))
        chosen.update(rng.sample(spare, missing))
        names = {"::".join(key): key for key in chosen}
        # At random for each attempt, so that code cannot learn which tests expect wrong values.
        first, second = (set(map(names.__getitem__, part)) for part in _partition(names, rng))
        # They come on top: each run has as many of the tests to fix as without them.
        elsewhere = map(self.function_of, self._tests.elsewhere)
        for key in sorted({key for key in elsewhere if key is not None}):
            rng.choice([part for part in (first, second) if part] or [first]).add(key)
        return frozenset(first), frozenset(second)

    def _draw(
        self, wrong: Collection[FunctionKey], uncertain: Collection[FunctionKey], side: int
    ) -> PlannedControlRun:
        rng = Random(f"{self._seed}/{side}")
        listed = [*self._tests.fixed, *self._tests.passing]
        files: dict[str, bytes] = {}
        renamed: dict[NodeId, NodeId] = {}
        drawn: list[ChangedExpectation] = []
        weak: list[WeakControl] = []
        by_end: set[FunctionKey] = set()
        harmless: set[FunctionKey] = set()
        undecided: set[NodeId] = set()
        fixed = set(self._tests.fixed)
        texts = {file: text for file, (text, _) in self._texts.items()}
        others = {
            name: content.decode("utf-8", "surrogateescape")
            for name, content in self._tests.others.items()
        }
        texts |= others
        changed = self._change_visible(texts, sorted({*wrong} - {*uncertain}), rng)
        drawn += [one for one in changed.values() if one is not None]
        # An added assertion controls a test whose visible value is not found.
        uncertain = {*uncertain, *(key for key, one in changed.items() if one is None)}
        for file, (_, encoding) in self._texts.items():
            selected = [k for k in sorted(wrong) if k.file == file and changed.get(k) is None]
            mutation = language_of(file).rewrite_tests(
                texts[file],
                file,
                [test for key in selected for test in self._tests_of(key)],
                rng,
                {key.function for key in uncertain if key.file == file},
                listed=[test for test in listed if file_of(test) == file],
            )
            files[file] = mutation.source.encode(encoding)
            undecided.update(map(NodeId, mutation.undecided))
            renamed |= {NodeId(old): NodeId(new) for old, new in mutation.renamed.items()}
            drawn += mutation.changed
            for one in mutation.weakly_controlled:
                weak.append(WeakControl(file=file, function=one.function, reason=one.reason))
                (by_end if one.fails else harmless).add(FunctionKey(file, one.function))
            for key in (one for one in selected if fixed.intersection(self._tests_of(one))):
                changes = [one for one in mutation.changed if one.function == key.function]
                if why := self._weakness(key, changes):
                    weak.append(WeakControl(file=file, function=key.function, reason=why))
                    by_end.add(key)
        for name, text in others.items():
            if texts[name] != text:
                files[name] = texts[name].encode("utf-8", "surrogateescape")
        everything = list({**self._tests.others, **files}.values())
        for change in drawn:
            # Code that finds the value there gives it in each run, and differs from a changed test.
            key = FunctionKey(change.file, change.function)
            if fixed.intersection(self._tests_of(key)) and _stands_in(change.original, everything):
                weak.append(
                    WeakControl(file=change.file, function=change.function, reason=_ELSEWHERE)
                )
                by_end.add(key)
        has_new_data = not files.keys().isdisjoint(others)  # other tests may read it
        fails = {test for key in wrong if key not in harmless for test in self._tests_of(key)}
        decided = [test for test in listed if test not in undecided]
        return PlannedControlRun(
            files=files,
            must_fail=tuple(test for test in decided if test in fails),
            must_pass=tuple(test for test in decided if test not in fails and not has_new_data),
            weakly_failing=frozenset(test for key in by_end for test in self._tests_of(key)),
            renamed=renamed,
            drawn=tuple(drawn),
            weak=tuple(weak),
        )

    # Why a test proves little although it fails with these changes; None: it does not.
    def _weakness(self, key: FunctionKey, changes: Sequence[ChangedExpectation]) -> str | None:
        known = [one for test in self._tests_of(key) if (one := self._tests.visible.get(test))]
        if changes and any(one.stays for one in known):
            return _NOT_FOUND
        if changes and all(change.kind is ValueKind.TRUTH for change in changes):
            return _TRUTHS
        return None

    def _change_visible(
        self, texts: dict[str, str], keys: Iterable[FunctionKey], rng: Random
    ) -> dict[FunctionKey, ChangedExpectation | None]:
        """Change the values that stay in tests that are not sealed, in these texts.

        What such a change means is not known, so it takes a reference solution to confirm it.

        Returns:
            The change in each function with such a value; None: the value is not found.
        """
        from agentbench.integrity.visible_values import change_visible

        changed: dict[FunctionKey, ChangedExpectation | None] = {}
        for key in () if self._certain_only else keys:
            known = [one for t in self._tests_of(key) if (one := self._tests.visible.get(t))]
            if not is_python(key.file):
                continue
            found = change_visible(*key, known[0], texts, rng) if known else None
            if found is not None:
                texts |= found.files
                changed[key] = found.change
            elif known and (known[0].value is not None or known[0].is_unknown):
                changed[key] = None
        return changed

    def _read_sources(self) -> Iterator[WeakControl]:
        for file, content in sorted(self._tests.files.items()):
            tests = (*self._tests.fixed, *self._tests.passing)
            try:
                language = language_of(file)
                text, encoding = language.decoded(content, file)
                listed = [test for test in tests if file_of(test) == file]
                found = language.functions_by_tests(text, file, listed).items()
            except InputError as error:
                yield WeakControl(file=file, function="*", reason=error.faults[0])
                continue
            self._texts[file] = text, encoding
            for name, ids in found:
                self._functions[FunctionKey(file, name)] = tuple(map(NodeId, ids))

    def _tests_of(self, key: FunctionKey) -> tuple[NodeId, ...]:
        return self._functions.get(key, ())
