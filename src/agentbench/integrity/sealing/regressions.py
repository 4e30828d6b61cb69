"""Controls pass-to-pass tests in files without a test to fix.

A change could destroy another module and make its tests do nothing. So every sealed run has a
random sample of these tests in sealed form, too. They prove nothing of a fix, and the code without
one passes them: it runs them once for a task, and equal recordings need no further comparison.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from random import Random

from agentbench.core.schema import JsonObject
from agentbench.errors import InputError
from agentbench.integrity.control_plan import ControlledTests
from agentbench.integrity.languages import decoded
from agentbench.integrity.sealing.isolation import ComparisonGuard
from agentbench.integrity.sealing.memory import (
    ReferenceRun,
    RegressionSample,
    SampledFile,
    SealedReference,
    reference_run,
)
from agentbench.integrity.sealing.plan import JudgedSeal, SealedOutcome, SealedPlan
from agentbench.integrity.sealing.rewriting import NodeReplacer, written
from agentbench.python_source.functions import functions_of, is_test
from agentbench.python_source.source_text import parse_source
from agentbench.scoring.evidence import NodeId
from agentbench.scoring.node_ids import file_of

_MOST_FILES = 50
_MOST_FUNCTIONS = 200  # of all files; each costs a sealed run 0.2 ms
_MOST_OF_FILE = 10
# Of a file's recordings: those of all tests share the recorder's 16 MiB.
_MOST_CHARACTERS = 100_000
_NOT_DRAWN = "the random sample of pass-to-pass tests leaves it out"
_NOT_READABLE = "no pass-to-pass test of it can be sealed"
_FAILS = "the code without a fix passes none of the drawn tests when they are sealed"
TOO_LONG = "its tests record too much"


def draw_sample(
    tests: Iterable[NodeId], read: Callable[[str], bytes | None], seed: int
) -> RegressionSample:
    """Draw tests, and seal them in their files.

    Args:
        tests: The pass-to-pass tests in files without a test to fix.
        read: Gives the content of a file; None if there is none.
        seed: Nothing that code under test can know.
    """
    by_file: dict[str, list[NodeId]] = {}
    for test in tests:
        by_file.setdefault(file_of(test), []).append(test)
    order = Random(f"{seed}/files").sample(sorted(by_file), len(by_file))
    files: dict[str, SampledFile] = {}
    uncontrolled = dict.fromkeys(order[_MOST_FILES:], _NOT_DRAWN)
    most = min(_MOST_OF_FILE, _MOST_FUNCTIONS // min(max(1, len(order)), _MOST_FILES))
    for file in order[:_MOST_FILES]:
        try:
            files[file] = _sampled(file, read(file), by_file[file], most, seed)
        except InputError as error:
            uncontrolled[file] = error.faults[0]
    return RegressionSample(seed=seed, files=files, uncontrolled=uncontrolled)


def _sampled(
    file: str, content: bytes | None, tests: Iterable[NodeId], most: int, seed: int
) -> SampledFile:
    """Seal some test functions of a file, and leave the others as they are.

    Raises:
        InputError: it cannot be read, or has no function that can be sealed.
    """
    text, encoding = decoded(content, file)
    if not encoding.startswith("utf-8"):
        raise InputError(f"{file}: is not in UTF-8")
    tree = parse_source(text, file).tree
    functions = functions_of(tree)
    selected = functions.select(tests)
    order = sorted(name for name, found in selected.items() if found.function is not None)
    # By a secret seed, so that code cannot know which of them are compared.
    Random(f"{seed}/{file}").shuffle(order)
    for at in range(0, len(order), most):
        names = order[at : at + most]
        # A file without other tests, which would take most of the time; lines keep their numbers.
        lines = text.replace("\r\n", "\n").split("\n")
        for name, function in functions.functions.items():
            node = function.node
            if name not in names and is_test(node.name):
                first = min(one.lineno for one in (node, *node.decorator_list))
                end = node.end_lineno or node.lineno
                lines[first - 1 : end] = [" " * node.col_offset + "pass", *[""] * (end - first)]
        source = "\n".join(lines)
        drawn = tuple(NodeId(test) for name in names for test in selected[name].tests)
        plan = _plan(file, source, drawn, seed)
        readable = plan.readable
        if readable:
            sealed = functions_of(parse_source(plan.files[file].decode(), file).tree).functions
            kept = {function.name for function in readable.values()}
            new = {id(functions.functions[name].node): sealed[name].node for name in kept}
            whole = NodeReplacer(new).visit(tree)
            assert isinstance(whole, ast.Module)
            return SampledFile(
                source=source,
                drawn=drawn,
                sealed=written(whole, file) + "\n",
                renamed={old: new for old, new in plan.renamed.items() if old in readable},
                tests=tuple(readable),
            )
    raise InputError(_NOT_READABLE)


def _plan(file: str, source: str, drawn: tuple[NodeId, ...], seed: int) -> SealedPlan:
    tests = ControlledTests(files={file: source.encode()}, fixed=(), passing=drawn)
    return SealedPlan(tests, seed, SealedReference(keeps_names=True))


def confirmed(
    sample: RegressionSample, outcome: SealedOutcome, guard: ComparisonGuard
) -> RegressionSample:
    """The sample without the tests that the code without a fix does not pass under the seal."""
    files: dict[str, SampledFile] = {}
    uncontrolled = dict(sample.uncontrolled)
    recordings: dict[NodeId, tuple[JsonObject, ...]] = {}
    for file, sampled in sample.files.items():
        plan = _plan(file, sampled.source, sampled.drawn, sample.seed)
        agreed = plan.judge(outcome, SealedReference(), guard).agreed
        tests = tuple(test for test in sampled.tests if test in agreed)
        found = reference_run(agreed, {test: outcome.recordings[test] for test in tests})
        if tests and len(found.model_dump_json()) <= _MOST_CHARACTERS:
            files[file] = sampled.replace(tests=tests)
            recordings |= found.recordings
        else:
            uncontrolled[file] = TOO_LONG if tests else _FAILS
    base = ReferenceRun(passed=tuple(recordings), recordings=recordings)
    return sample.replace(files=files, uncontrolled=uncontrolled, base=base)


def is_as_before(sample: RegressionSample, outcome: SealedOutcome) -> bool:
    """Whether a run records for each sampled test what the code without a fix recorded."""
    return outcome.passed.issuperset(sample.base.passed) and all(
        outcome.recordings.get(test, ()) == sample.base.recordings_of(test)
        for test in sample.base.passed
    )


def judge_sample(
    sample: RegressionSample, outcomes: Sequence[SealedOutcome], guard: ComparisonGuard
) -> list[JudgedSeal]:
    """Compare the recordings of the sampled tests with their expected values."""
    judged: list[JudgedSeal] = []
    for file, sampled in sample.files.items():
        plan = _plan(file, sampled.source, sampled.drawn, sample.seed)
        certain = {test: function.certain for test, function in plan.readable.items()}
        # An honest fix may pass through a loop or a branch less often than the code before it.
        known = {
            test: tuple(one for one in sample.base.recordings[test] if one["site"] in certain[test])
            for test in sampled.tests
        }
        base = ReferenceRun(passed=sampled.tests, recordings=known)
        judged += plan.judge_all(outcomes, SealedReference(runs=(base,)), guard)
    return judged
