"""Gives the host's comparison hostile recordings.

Code under test chooses the bytes that a sealed run records. Whatever they are, each test needs a
finding, within the limits of the comparison. For an hour of new seeds:
`python -m tests.integrity.sealing.hostile_recordings --first-seed 1000000`
"""

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from agentbench.integrity.sealing.canonical import read_recordings
from agentbench.integrity.sealing.isolation import ComparisonLimits, isolated
from agentbench.integrity.sealing.memory import ReferenceRun, SealedReference, reference_run
from agentbench.integrity.sealing.plan import JudgedSeal, SealedOutcome, SealedPlan
from agentbench.scoring.evidence import NodeId
from tests.integrity.sealing.test_plan import plan

LIMITS = ComparisonLimits(one_seconds=0.5, all_seconds=15, memory_mib=1024)
_REASON = re.compile(r"\w+(Error|Overflow|Operation|Exception)\b:|its comparison |the time ")
_GRACE = 60.0  # seconds: of the comparison itself, to end what is under way on a busy machine
CONDITIONS = (
    "assert parse('a') == 61", "assert parse('a') != 61", "assert parse('a') is None",
    "assert parse('a') == 'some text'", "assert parse('a') == b'abc'",
    "assert parse('a') == [1, 'b', 2.5]", "assert parse('a') == {'k': [1, 2], 'l': {3}}",
    "assert parse('a') == {1, 'two', (3, 4)}", "assert parse('a') == (1, shop.Item('x', 2))",
    "assert parse('a') == pytest.approx(1.5)", "assert parse('a') == pytest.approx([1, 2.5])",
    "assert parse('a') == pytest.approx({'k': 1e308}, rel=1e300)",
    "assert parse('a') < 1.5", "assert 1 <= parse('a') < 10**40", "assert parse('a') > 'm'",
    "assert 'pear' in parse('a')", "assert 2.5 in parse('a')", "assert parse('a') in b'abc'",
    "assert parse('a') in {1, 2}", "assert (1, 2) not in parse('a')", "assert None in parse('a')",
    "assert parse('a') == Decimal('1.10')", "assert parse('a') == Fraction(1, 3)",
    "assert parse('a') == datetime(2020, 1, 2)", "assert parse('a') == range(10)",
    "assert parse('a') == shop.Colour.RED", "assert parse('a') is shop.Colour.RED",
    "assert parse('a') == mock.call(1, a=mock.ANY)", "assert parse('a') == [mock.call('x', y=2)]",
    "assert parse('a')", "assert not parse('a')", "assert isinstance(parse('a'), int)",
    "assert re.search(r'(a+)+$', parse('a'))", "assert re.match('x.*y', parse('a'))",
    "assert parse('a').startswith('pear')", "assert all(x == 61 for x in parse('a'))",
    "assert all(re.search('(a*)*b', x) for x in parse('a'))", "assert parse('a') == pool(parse)",
    "assert parse('a').equals(pool())",
    "with pytest.raises(KeyError, match='x+y'):\n        parse('a')",
    "with pytest.raises((ValueError, shop.OwnError)):\n        parse('a')",
    "with pytest.warns(UserWarning, match='old'):\n        parse('a')",
    "parse('a').stdout.fnmatch_lines(['*passed*', 'a[b-z]*'])",
    "parse('a').stdout.re_match_lines(['(x+)+y', 'b'])",
    "parse('a').assert_outcomes(passed=2, failed=1)",
    "parse('a').assert_called_once_with(1, key='v')", "parse('a').assert_has_calls(pool())",
    "unittest.TestCase().assertCountEqual(parse('a'), [1, 2, 3])",
    "unittest.TestCase().assertAlmostEqual(parse('a'), 1.25, places=3)",
    "unittest.TestCase().assertRegex(parse('a'), 'x(y+)*z')",
    "unittest.TestCase().assertContains(parse('a'), 'pear', 2)",
    "unittest.TestCase().assertQuerySetEqual(parse('a'), [1, 2], ordered=False)",
    "helper(parse('a'), 61)",
)  # fmt: skip
_TESTS = [f"test_{at}" for at in range(len(CONDITIONS))]
_BODY = "".join(
    f"\ndef {name}():\n    {condition}\n"
    for name, condition in zip(_TESTS, CONDITIONS, strict=True)
)
_TEXTS = (
    "", "a", "pear", "some text", "a" * 40 + "!", "aaaa" * 3000 + "!", "x" * 30, "61", "-",
    "\udc80", "\0", "pear" * 2, "1" * 5000, "1E+999999999999999999", "sNaN", "NaN123", "-Infinity",
    "1E+99999", "1E-99999", "0x10", "e" * 3, "\u0663", "posix", "call", "Ellipsis", "NaT",
    "builtins.KeyError",
    "shop.Item", "?", "name", "value", "str", "list", "dict", "n" * 1500, "a\nb\nc 2 passed",
)  # fmt: skip
_NUMBERS = ("0", "1", "-1", "3d", "ff" * 200, "-" + "f" * 5000, "f" * 20, "2", "7fffffff")
_FLOATS = ("nan", "inf", "-inf", "0x1.8p+0", "0x1.fffffffffffffp+1023", "0x0p+0", "0x1p-1074",
           "0x1p+99999", "1")  # fmt: skip
_GROUPS = (
    "list", "tuple", "set", "frozenset", "deque", "dict", "ordered", "keys", "values", "pair",
    "range", "slice", "date", "time", "datetime", "timedelta", "decimal", "fraction", "uuid",
    "path", "pattern", "class", "function", "module", "call", "constant", "token",
)  # fmt: skip
_KINDS = ("object", "subclass", "dataclass", "namedtuple", "enum", "exception", "array", "mock", "")
_SAID = ("str", "repr", "bool", "index", "int", "float", "bytes", "list", "dict", "wrapped", "args")
_NAMES = (
    "shop.Item", "shop.Colour", "builtins.KeyError", "builtins.LookupError", "builtins.ValueError",
    "builtins.UserWarning", "builtins.Exception", "builtins.str", "shop.OwnError", "", "..", "a",
)  # fmt: skip


class Hostile:
    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._left = 0  # the nodes that one recording may still get

    def form(self, depth: int = 4) -> object:
        """A form, which may be malformed."""
        rng = self._rng
        self._left -= 1
        if rng.random() < 0.02:
            return rng.choice([None, 1, "x", [], {}, [[]], ["int"], ["str", 5], True, 1e308, ["?"]])
        if rng.random() < 0.01:
            return self._deep(rng.choice(["list", "tuple", "set", "frozenset", "dict"]))
        if depth == 0 or self._left < 0 or rng.random() < 0.35:
            return self._single()
        if rng.random() < 0.35:
            return self._object(depth - 1)
        return self._group(depth - 1)

    def _single(self) -> object:
        rng = self._rng
        number, text, real = rng.choice(_NUMBERS), rng.choice(_TEXTS), rng.choice(_FLOATS)
        return rng.choice(
            [
                ["none"], ["bool", rng.random() < 0.5], ["int", number], ["int", text],
                ["float", real], ["float", text], ["complex", real, rng.choice(_FLOATS)],
                ["str", text], ["str", text], ["wide", text.encode("utf-8", "surrogatepass").hex()],
                ["wide", "ff"], ["bytes", "00ff" * rng.randrange(9)], ["bytearray", number],
                ["back", rng.choice([0, 1, 2, -1, 10**9])], ["cut"],
                ["digest", rng.choice("0f") * 64, rng.choice([0, -1, 10**18])],
                ["decimal", ["str", text]], ["fraction", ["int", number], ["int", "3"]],
                ["range", ["int", "0"], ["int", "f" * rng.randrange(1, 40)], ["int", "1"]],
                ["timedelta", ["int", number], ["int", "1"], ["int", number]],
                ["date", ["int", "7e4"], ["int", "2"], ["int", "1e"]], ["token", ["int", number]],
            ]
        )  # fmt: skip

    def _group(self, depth: int) -> object:
        rng = self._rng
        kind = rng.choice(_GROUPS)
        count = rng.choice([0, 1, 1, 2, 2, 3, 3, 7])
        if depth < 3 and rng.random() < 0.03:
            count = 300
        parts = [self.form(depth) for _ in range(count)]
        if kind in ("dict", "ordered") and rng.random() < 0.9:
            parts = [["pair", part, self.form(depth)] for part in parts]
        if rng.random() < 0.1:
            parts.append(["rest", rng.choice("0f") * 64, rng.choice([1, -5, 10**12])])
        return [kind, *parts]

    def _object(self, depth: int) -> object:
        rng = self._rng

        def state() -> list[object]:
            names = (rng.choice([*_SAID, "name", "value", "_x", ""]) for _ in range(3))
            return [[name, self.form(depth)] for name in names if rng.random() < 0.6]

        names = [rng.choice(_NAMES) for _ in range(rng.choice([0, 1, 2, 3, 9]))]
        base = self.form(depth) if rng.random() < 0.3 else None
        disclosures = {name: self.form(depth) for name in _SAID if rng.random() < 0.25}
        return ["object", rng.choice(_KINDS), names, base, state(), state(), disclosures]

    def _deep(self, kind: str) -> object:
        found = self._single()
        for _ in range(self._rng.choice([50, 98, 99, 101, 200])):
            found = ["dict", ["pair", ["str", "k"], found]] if kind == "dict" else [kind, found]
        return found

    def changed(self, form: object) -> object:
        if self._rng.random() < 0.12:
            return self.form(2)
        if not isinstance(form, list) or form[:1] == ["object"]:
            return form
        return [self.changed(part) if isinstance(part, list) else part for part in form]

    def records(self, known: list[dict[str, object]] | None = None) -> list[dict[str, object]]:
        rng = self._rng
        if known is not None and rng.random() < 0.7:
            return [
                {key: self.changed(part) if key in ("values", "raised") else part
                 for key, part in record.items()}
                for record in known
            ]  # fmt: skip
        found = []
        for site, test in enumerate(_TESTS, 1):
            for _ in range(rng.choice([1, 1, 1, 2, 5])):
                record: dict[str, object] = {"test": f"test_it.py::{test}", "site": site}
                self._left = rng.choice([3, 20, 20, 100, 300])
                kind = rng.choice(["values"] * 8 + ["raised", "warned", "none"])
                if kind == "raised":
                    record["raised"] = rng.choice([None, self._object(3), self.form()])
                elif kind == "warned":
                    record["warned"] = [self._object(3) for _ in range(rng.randrange(3))]
                record["values"] = [self.form() for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3]))]
                if rng.random() < 0.02:
                    record["site"] = rng.choice([-1, 10**30, None, 5])
                found.append(record)
        return found

    def content(self, records: list[dict[str, object]]) -> bytes:
        content = "\n".join(map(json.dumps, records)).encode()
        for _ in range(self._rng.choice([0, 0, 0, 1, 5])):
            at = self._rng.randrange(len(content))
            content = content[:at] + self._rng.randbytes(2) + content[at + 2 :]
        return content


def made_plan() -> SealedPlan:
    return plan(_BODY, *_TESTS)


def outcome(content: bytes) -> SealedOutcome:
    tests = frozenset(NodeId(f"test_it.py::{test}") for test in _TESTS)
    return SealedOutcome(passed=tests, ended=tests, recordings=read_recordings(content))


def judged(planned: SealedPlan, seed: int) -> tuple[JudgedSeal, float]:
    hostile = Hostile(seed)
    known = hostile.records()
    runs: tuple[ReferenceRun, ...] = ()
    if seed % 4:
        runs = tuple(
            reference_run((run := outcome(hostile.content(again))).passed, run.recordings)
            for again in [known, hostile.records(known), known][: seed % 4]
        )
    run = outcome(hostile.content(hostile.records(known)))
    reference = SealedReference(seal="x", runs=runs)
    start = time.monotonic()
    (found,) = isolated(planned.judge_all, [run], reference, limits=LIMITS)
    return found, time.monotonic() - start


def executions(seeds: Iterable[int]) -> Iterator[tuple[JudgedSeal, float]]:
    """Judge one seed after the other: the finding, and the seconds that it took.

    Raises:
        AssertionError: a test has no finding, or the finding was late.
        ChildProcessError: the comparison crashed.
    """
    planned = made_plan()
    for seed in seeds:
        found, seconds = judged(planned, seed)
        tests = {*found.differing, *found.sealed, *found.unsealed}
        assert len(tests) == len(_TESTS), f"seed {seed}: a test has no finding"
        assert seconds < LIMITS.all_seconds + _GRACE, f"seed {seed}: it took {seconds:.1f} s"
        yield found, seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.integrity.sealing.hostile_recordings")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    seeds = range(options.first_seed, sys.maxsize)
    count, comparisons, slowest = 0, 0, 0.0
    reasons = Counter[str]()
    for count, (found, seconds) in enumerate(executions(seeds), 1):
        comparisons, slowest = comparisons + found.values, max(slowest, seconds)
        for reason in {one.actual for one in found.mismatches if _REASON.match(one.actual)}:
            reasons[reason] += 1
            if reasons[reason] == 1:
                sys.stderr.write(f"seed {seeds[count - 1]}: {reason}\n")
        if time.monotonic() > end:
            break
    sys.stdout.write(f"{count} seeds, {comparisons} comparisons, slowest {slowest:.1f} s\n")
    for reason, times in reasons.most_common():
        sys.stdout.write(f"{times:>8}  {reason}\n")


if __name__ == "__main__":
    main()
