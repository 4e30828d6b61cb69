from dataclasses import replace
from threading import Event

import pytest

from agentbench.attempt.preparation_cache import PreparationCache
from agentbench.attempt.resources import RunResources
from agentbench.audit.run_facts import AttemptFacts, open_run, read_attempt
from agentbench.audit.task_facts import read_task_facts
from agentbench.cli.show import explanation
from agentbench.core.files import FileContent
from agentbench.core.host import default_cache_dir
from agentbench.errors import SandboxError
from agentbench.extensions.symbolic.differential.differential_audit import (
    DIFFERENTIAL_RULES,
    DifferentialAudit,
)
from agentbench.extensions.symbolic.differential.search import SearchResult
from agentbench.scoring.evidence import Severity
from agentbench.tasks.control_level import ControlLevel
from agentbench.tasks.loading import load_task
from agentbench.tasks.mirror import Mirrors
from tests.audit.conftest import make_run
from tests.e2e.small_task import BUGGY, FIXED
from tests.fakes.staging import local_provider
from tests.patience import with_growing_limit

pytestmark = pytest.mark.first

ONE_PRICE = """\
import basket


def test_one_price_is_the_total():
    assert basket.total([5]) == 5
"""
LISTED = ("tests/test_hidden.py::test_one_price_is_the_total",)
PARTIAL = BUGGY.replace("sum(prices[1:])", "sum(prices[1:]) or sum(prices)")
COMMENTED = FIXED.replace("return sum", "# all of them\n    return sum")
CHANGING = "import os\n\n" + BUGGY.replace(
    "sum(prices[1:])", "sum(prices) if len(prices) < 2 else int.from_bytes(os.urandom(4), 'big')"
)
SLY = "import pathlib\n\n" + BUGGY.replace(
    "sum(prices[1:])",
    "sum(prices) + any((one / 'reference').is_dir() for one in "
    "pathlib.Path(__file__).resolve().parents) * (len(prices) > 1)",
)


def made(factory, text):
    folder = factory.mktemp("compared")
    make_run(folder, files={"basket.py": text}, hidden={"tests/test_hidden.py": ONE_PRICE},
             listed=LISTED, controls=ControlLevel.OFF)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def partial(tmp_path_factory):
    return made(tmp_path_factory, PARTIAL)


def facts_of(folder, **changes) -> AttemptFacts:
    mirrors = Mirrors(folder / "mirrors")
    run = open_run(folder / "runs" / "one")
    task = read_task_facts(load_task(folder / "small", mirrors=mirrors), mirrors)
    return replace(read_attempt(run, run.latest[0], task), **changes)


def audit_in(folder, provider=None, **more) -> DifferentialAudit:
    provider = provider or local_provider()
    workshop = RunResources(
        provider=provider,
        mirrors=Mirrors(folder / "mirrors"),
        cache=PreparationCache(default_cache_dir() / "prepared", provider),
        cancel=Event(),
    )
    settings = {"seconds": 60, "say": lambda _line: None, **more}
    return DifferentialAudit(resources=workshop, cache_dir=default_cache_dir(), **settings)


def findings_of(folder, **more):
    return audit_in(folder, **more).findings(facts_of(folder))


def findings_in_time(folder, has_begun):
    """What is found in a short time, or in a longer one where that was not enough."""
    return with_growing_limit(
        lambda seconds: findings_of(folder, seconds=int(seconds)),
        lambda found: "differs-from-reference" in rules(found) or has_begun(rules(found)),
        limits=(60, 240),
    )


def rules(findings):
    return {finding.rule for finding in findings}


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.soak  # test_run_comparison.py has one that is found
def test_wrong_fix_is_reported_with_the_results_of_all_trees(partial):
    before = contents(partial / "runs")
    (finding, *_) = found = findings_of(partial)
    assert (finding.rule, finding.severity) == ("differs-from-reference", Severity.WARNING)
    assert finding.where == "basket.py::total"
    assert finding.what.startswith("differs from the reference on total([")
    assert "; the reference returns " in finding.what
    assert "(base: returns " in finding.what
    assert rules(found) == {"differs-from-reference", "compared"}
    assert any(one.where.startswith("tests/test_") for one in found)
    assert contents(partial / "runs") == before


def test_reference_patch_is_recognized_without_a_run(tmp_path_factory):
    folder = made(tmp_path_factory, COMMENTED)
    (finding,) = audit_in(folder, searches=()).findings(facts_of(folder))
    assert finding.what == "the same as the reference, except for comments, docstrings and layout"


def test_change_without_an_attempt_is_compared_like_one(partial):
    task = facts_of(partial).task
    (file,) = task.fixed

    def rules_for(text):
        changed = {file: FileContent(content=text.encode(), executable=False)}
        return rules(audit_in(partial).findings_of_change(task, changed))

    assert rules_for(FIXED.replace("return sum", "# all of them\n    return sum")) == {"compared"}
    assert "differs-from-reference" in rules_for(PARTIAL)


@pytest.mark.parametrize(
    ("text", "why"),
    [(CHANGING, ("behaves differently each time", "depends on something else")),
     (SLY, ("was not reproduced", "depends on something else"))],
    ids=["chance", "beside-the-reference"],
)  # fmt: skip
def test_unconfirmed_difference_is_no_finding(tmp_path_factory, text, why):
    findings = findings_in_time(made(tmp_path_factory, text), lambda names: "not-compared" in names)
    assert "differs-from-reference" not in rules(findings)
    (left,) = (one for one in findings if one.rule == "not-compared")
    assert left.where == "basket.py::total"
    assert any(part in left.what for part in why)


def test_equal_patches_are_compared_once(partial):
    lines: list[str] = []
    audit = audit_in(
        partial, say=lines.append, searches=[lambda _subject, _seconds: SearchResult()]
    )
    facts = facts_of(partial)
    first = audit.findings(facts)
    again = audit.findings(replace(facts, record=facts.record.replace(attempt=2)))
    assert first == again
    assert lines == ["comparing small 1"]


def test_unresolved_attempt_is_not_compared(partial):
    facts = facts_of(partial)
    record = facts.record.replace(resolved=False)
    assert audit_in(partial).findings(replace(facts, record=record)) == ()


def test_attempt_without_its_task_is_not_compared(partial):
    (said,) = audit_in(partial).findings(facts_of(partial, task=None))
    assert (said.rule, said.where) == ("not-compared", "patch.diff")
    assert said.what == "not compared: the task is not where run.json says"


class Lost:
    """A provider whose sandboxes cannot be opened; its engine is lost, too, or is not."""

    def __init__(self, *, engine: bool) -> None:
        self._real = local_provider()
        self._engine = engine

    def __getattr__(self, name):
        return getattr(self._real, name)

    def open(self, *_source, **_more):
        raise SandboxError("the sandbox is gone")

    def check(self) -> None:
        if self._engine:
            raise SandboxError("the engine does not answer")


def test_lost_sandbox_leaves_one_attempt_uncompared(partial):
    (said,) = findings_of(partial, provider=Lost(engine=False))
    assert said.rule == "not-compared"
    assert "the sandbox is gone" in said.what


def test_lost_engine_ends_the_audit(partial):
    with pytest.raises(SandboxError, match="the engine does not answer"):
        findings_of(partial, provider=Lost(engine=True))


def test_rules_are_explained():
    for rule in DIFFERENTIAL_RULES:
        assert explanation(rule, None).startswith(f"{rule}: A finding of `audit --wrong-fixes`")
