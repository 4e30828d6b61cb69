import shutil
import subprocess

import pytest

from agentbench.audit.task_facts import read_task_facts
from agentbench.extensions.test_quality.fix_tests import propose_patch
from agentbench.scoring.evidence import Finding, Severity
from agentbench.tasks.loading import load_task
from agentbench.validation.fairness_results import (
    Fairness,
    VariantKind,
    VariantOutcome,
    VariantResult,
)
from agentbench.validation.mutation_results import MutantChange
from agentbench.validation.stored_proof import write_proof
from tests.e2e.small_task import SERIAL, VISIBLE, SmallTask, patch_of
from tests.fakes.staging import mirrors
from tests.validation.test_stored_proof import PROOF

pytestmark = pytest.mark.full

BUGGY = """\
def total(prices):
    return sum(prices)


def cheapest(prices):
    return min(prices)


def cheap(prices, limit):
    return prices
"""
FIXED = """\
def total(prices):
    for price in prices:
        if price < 0:
            raise ValueError(f"{price} was given, but a price must never be negative")
    return sum(prices)


def cheapest(prices):
    return min(prices)


def cheap(prices, limit):
    return [price for price in prices if price < limit]
"""
OTHER = """\
def total(prices):
    if min(prices, default=0) < 0:
        raise ValueError("a price must never be negative")
    return sum(prices)


def cheapest(prices):
    return min(prices)


def cheap(prices, limit):
    return tuple(price for price in prices if price < limit)
"""
HIDDEN = """\
import basket
import pytest


def test_negative_price_is_refused():
    with pytest.raises(ValueError, match="^-1 was given, but a price must never be negative$"):
        basket.total([2, -1])


def test_cheap_prices_are_found():
    assert basket.cheap([3, 1, 9, 2], 3) == [1, 2]
"""
INSTRUCTION = """\
`total` accepts negative prices: a price must never be negative, so that is a ValueError which
says so. `cheap` gives all prices instead of those below the limit, in their order.
"""
LISTED = (
    "tests/test_hidden.py::test_negative_price_is_refused",
    "tests/test_hidden.py::test_cheap_prices_are_found",
)
TYPE = VariantResult(
    kind=VariantKind.TYPE,
    change=MutantChange(path="basket.py", line=13, what="a tuple", removed="[", added="tuple("),
    outcome=VariantOutcome.REJECTED,
    rejected_by=LISTED[1:],
    assertion="assert (1, 2) == [1, 2]",
)


def written(folder, hidden=HIDDEN, fixed=FIXED):
    folder.mkdir()
    files = {"basket.py": BUGGY, "tests/test_basket.py": VISIBLE, "serial.txt": SERIAL}
    solution = patch_of("basket.py", BUGGY, fixed)
    task = SmallTask(files=files, hidden=hidden, solution=solution, fail_to_pass=LISTED)
    task.write(folder)
    (folder / "instruction.md").write_text(INSTRUCTION)
    return folder


def with_fairness(folder, *variants, **facts):
    digest = load_task(folder, mirrors=mirrors()).digest
    fairness = Fairness(variants=variants, **facts)
    write_proof(folder, PROOF.replace(task_digest=digest, fairness=fairness))
    return folder


def proposed(folder, proof=None):
    return propose_patch(read_task_facts(load_task(folder, mirrors=mirrors()), mirrors()), proof)


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def applied(task, patch, folder):
    """The hidden tests after git applied the patch to the tree that has them."""
    shutil.copytree(task / "repo", folder)
    git(folder, "init", "-q")
    git(folder, "apply", str(task / "tests.patch"))
    (folder / "proposal.patch").write_text(patch)
    git(folder, "apply", "--check", "proposal.patch")
    git(folder, "apply", "proposal.patch")
    return (folder / "tests/test_hidden.py").read_bytes().decode()


def test_names_and_unknown_forms_are_named(tmp_path):
    name = Finding(
        rule="unstated-name", severity=Severity.WARNING, where="tests/test_hidden.py:2", what="`f`"
    )
    hidden = HIDDEN.replace("== [1, 2]", "== EXPECTED") + "\n\nEXPECTED = [1, 2]\n"
    elsewhere = TYPE.replace(rejected_by=("tests/test_other.py::test_a",))
    fairness = Fairness(variants=(TYPE, elsewhere), unstated=(name,))
    found = proposed(written(tmp_path / "strict", hidden), PROOF.replace(fairness=fairness))
    assert found.without == (
        "tests/test_hidden.py:2: unstated-name: `f`: state the name in instruction.md",
        "tests/test_hidden.py:10: no weaker form is known: other type of a result",
        "tests/test_other.py: not a deciding test in UTF-8",
    )


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"\ufeff{text}",
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("def test_cheap", "# \x0c é\ndef test_cheap"),
    ],
    ids=["CRLF", "byte order mark", "no last line end", "form feed"],
)
def test_patch_applies_to_files_of_all_forms(tmp_path, form):
    folder = written(tmp_path / "strict")
    hidden = form(HIDDEN)
    tree = tmp_path / "made"
    shutil.copytree(folder / "repo", tree)
    git(tree, "init", "-q")
    (tree / "tests/test_hidden.py").write_bytes(hidden.encode())
    git(tree, "add", "-N", "tests/test_hidden.py")
    difference = subprocess.run(["git", "diff"], cwd=tree, capture_output=True, check=True)
    (folder / "tests.patch").write_bytes(difference.stdout)
    found = proposed(folder, PROOF.replace(fairness=Fairness(variants=(TYPE,))))
    assert len(found.proposals) == 2
    (tmp_path / "proposal.patch").write_bytes(found.patch.encode())
    git(tree, "apply", "--check", str(tmp_path / "proposal.patch"))
    git(tree, "apply", str(tmp_path / "proposal.patch"))
    after = (tree / "tests/test_hidden.py").read_bytes().decode()
    assert after == hidden.replace(
        '"^-1 was given, but a price must never be negative$"', "'a price must never be negative'"
    ).replace("basket.cheap([3, 1, 9, 2], 3) ==", "list(basket.cheap([3, 1, 9, 2], 3)) ==")
