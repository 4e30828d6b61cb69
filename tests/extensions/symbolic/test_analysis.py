"""Pairs of functions whose difference, or likeness, is known: found, missed, wrongly accused."""

import ast
import json
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from agentbench.extensions.symbolic.analysis import (
    ComparisonEnding,
    ComparisonRequest,
    ComparisonResult,
    ErrorComparison,
    FunctionLocation,
    FunctionPair,
)
from tests.patience import with_growing_limit

SYMBOLIC = Path(__file__).parents[3] / "src/agentbench/extensions/symbolic"
PROGRAMS = SYMBOLIC / "mounted/agentbench_mounted"
PAIRS = Path(__file__).parent / "pairs"
ONLY_BY_PATHS = {"different_far_away"}
"""What no input near the code's own literals shows."""
CLASSES = sorted(one.stem for one in PAIRS.glob("[a-z]*.py"))
IN_THE_GATE = {
    "arithmetic": ("equal_divide_up", "different_at_one_number", "different_far_away"),
    "dataclasses_": (),
    "dictionaries": ("equal_without", "different_invert", "different_leaves"),
    "exceptions": ("equal_lookup", "different_kind", "different_forgets"),
    "floats": (),
    "lists": ("equal_chunks", "different_argument"),
    "optional": ("equal_or_zero", "different_limit"),
    "strings": ("equal_starts", "different_magic"),
}
"""Some of the classes, and of each those that differ most: in what they raise, return or change."""
BY_CONTRACT = {"exceptions": ("equal_quotient", "different_refuses", "different_runs_into")}
"""Those for which the gate counts only errors of the contract: to most it makes no difference."""


def answers(question: ComparisonRequest) -> list[ComparisonResult]:
    done = subprocess.run(
        [sys.executable, "-I", str(PROGRAMS), "compare", ""],
        input=question.model_dump_json().encode(),
        stdout=subprocess.PIPE,
        timeout=3600,
        check=True,
    )
    return [ComparisonResult.model_validate(json.loads(line)) for line in done.stdout.splitlines()]


def names(module: str) -> list[str]:
    tree = ast.parse((PAIRS / f"{module}.py").read_text())
    found = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in found if not name.endswith("_other")]


def pair(module: str, name: str, errors: ErrorComparison) -> FunctionPair:
    def place(name: str) -> FunctionLocation:
        return FunctionLocation(paths=(str(PAIRS),), module=module, name=name)

    return FunctionPair(left=place(name), right=place(f"{name}_other"), errors=errors)


def rows() -> list[Any]:
    """All pairs, for each kind of errors: some for the gate, the others for the soak."""
    made = []
    for module, errors in product(CLASSES, ErrorComparison):
        in_the_gate = IN_THE_GATE if errors is ErrorComparison.ALL else BY_CONTRACT
        chosen = in_the_gate.get(module, ())
        others = tuple(name for name in names(module) if name not in chosen)
        if chosen:
            made.append(pytest.param(module, chosen, errors, id=f"{module}-{errors}"))
        soak = {"id": f"{module}-{errors}-others", "marks": pytest.mark.soak}
        made.append(pytest.param(module, others, errors, **soak))
    return made


@pytest.mark.parametrize(("module", "asked", "errors"), rows())
def test_what_differs_is_found_and_what_is_alike_is_never_accused(
    module: str, asked: tuple[str, ...], errors: ErrorComparison
) -> None:
    alike = [name for name in asked if name.startswith("equal")]
    # Paths are searched once: they do not hang on which errors count.
    symbolic = errors is ErrorComparison.ALL
    accused, unknown = _ended(module, alike, errors, symbolic=symbolic, path_seconds=2.0)
    assert (accused, unknown) == ([], [])
    different = {name for name in asked if name not in alike}
    wanted = different if symbolic else different - ONLY_BY_PATHS

    def run(path_seconds: float) -> set[str]:
        by = {"symbolic": symbolic, "path_seconds": path_seconds}
        return set(_ended(module, sorted(different), errors, **by)[0])

    assert with_growing_limit(run, wanted.issubset, limits=(15.0, 60.0, 240.0)) == wanted


def _ended(
    module: str, asked: list[str], errors: ErrorComparison, *, symbolic: bool, path_seconds: float
) -> tuple[list[str], list[str]]:
    """Those in which a difference was found, and those that could not be compared."""
    pairs = tuple(pair(module, name, errors) for name in asked)
    more = {"symbolic": symbolic, "path_seconds": path_seconds}
    told = answers(ComparisonRequest(pairs=pairs, seconds=600.0, call_seconds=20.0, **more))
    ended = dict(zip(asked, (answer.ending for answer in told), strict=True))
    of = {ending: [name for name in asked if ended[name] is ending] for ending in ComparisonEnding}
    return of[ComparisonEnding.DIFFERENT], of[ComparisonEnding.NOT_COMPARED]


def test_there_are_as_many_pairs_as_are_spoken_of() -> None:
    kinds = Counter(name.split("_")[0] for module in CLASSES for name in names(module))
    assert kinds == {"equal": 32, "different": 32}
    assert all(set(IN_THE_GATE[module]) <= set(names(module)) for module in CLASSES)
    assert all(set(some) <= set(names(module)) for module, some in BY_CONTRACT.items())
