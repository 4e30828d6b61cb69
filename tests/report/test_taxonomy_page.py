"""The page is what the enum says, the committed file is the page, and `explain` agrees."""

import doctest
import re
from pathlib import Path

import pytest

from agentbench import scoring
from agentbench.report.taxonomy_page import explain_exit_code, explain_reason, render_taxonomy_page
from agentbench.scoring import FailureReason, StageName

COMMITTED = Path(__file__).parents[2] / "docs" / "failure_taxonomy.md"
COMMAND = "python -m agentbench.report.taxonomy_page > docs/failure_taxonomy.md"


def test_the_committed_page_is_current():
    current = COMMITTED.read_text(encoding="utf-8") == render_taxonomy_page()
    assert current, f"docs/failure_taxonomy.md is stale; run: {COMMAND}"


def test_the_stage_rules_on_the_page_are_what_from_stage_does():
    page = render_taxonomy_page()
    for stage in (StageName.GIT_CLONE, StageName.GIT_CHECKOUT, StageName.SETUP):
        assert f"- `{stage}`: non-zero → `{FailureReason.from_stage(stage, 1)}`" in page
    zero = FailureReason.from_stage(StageName.BASELINE_RUN, 0)
    assert f"- `baseline_run`: 0 → `{zero}`, non-zero → `None`" in page


def test_the_examples_on_the_page_run():
    examples = doctest.DocTestParser().get_doctest(
        render_taxonomy_page(), {}, "failure_taxonomy.md", None, 0
    )
    assert len(examples.examples) >= 8
    assert doctest.DocTestRunner(verbose=False).run(examples).failed == 0


@pytest.mark.parametrize("reason", FailureReason)
def test_a_reason_is_explained_by_all_that_is_known_of_it(reason):
    text = explain_reason(reason)
    assert text.startswith(f"{reason.value}: {reason.description}\n")
    assert f"{reason.precedence} of 15 ({reason.rationale})" in text
    assert reason.typical_cause in text
    assert f"{reason.fault.value} ({'' if reason.fault == 'infrastructure' else 'not '}re" in text


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("SETUP_TIMEOUT", "  exit codes     124, 137 in setup"),
        ("SETUP_FAILED", "  exit codes     any but 0, 124, 137 in setup"),
        ("INTERNAL_ERROR", "  exit codes     3, 4 in agent_run, final_test"),
        ("UNKNOWN", "  exit codes     any other in agent_run, final_test"),
        ("BASELINE_NOT_FAILING", "  exit codes     0 in baseline_run"),
        ("LLM_ERROR", "  exit codes     none: other evidence decides"),
    ],
)
def test_a_reason_names_the_exit_codes_that_give_it(reason, line):
    assert line in explain_reason(FailureReason(reason)).splitlines()


def test_an_exit_code_is_explained_for_every_stage():
    lines = explain_exit_code(137).splitlines()
    assert lines[0] == "Exit code 137; from pytest or GNU timeout: SIGKILL (OOM or timeout)"
    assert "  setup         SETUP_TIMEOUT: Setup exceeded timeout" in lines
    assert "  final_test    TIMEOUT: Run command exceeded timeout" in lines
    assert "OOM killer" in lines[-1]
    assert len(lines) == 1 + len(StageName) + 1


def test_an_exit_code_is_explained_for_one_stage():
    assert explain_exit_code(1, "baseline_run").splitlines() == [
        "Exit code 1; from pytest or GNU timeout: Tests ran but failed",
        "  baseline_run  no failure",
    ]
    assert "UNKNOWN: Unexpected error" in explain_exit_code(99, StageName.FINAL_TEST)


def test_an_unknown_stage_is_refused():
    with pytest.raises(ValueError, match="'tests' is not a stage"):
        explain_exit_code(1, "tests")


PAGE = render_taxonomy_page()
NO_REASONS = {"FAIL_TO_PASS", "PASS_TO_PASS"}


def section(title):
    """The text below a heading, up to the next one."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_each_code_in_the_prose_is_one():
    found = {*re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", PAGE), *re.findall(r"`([A-Z]+)`", PAGE)}
    assert found - NO_REASONS <= set(FailureReason.__members__)


def test_each_stage_in_code_type_is_one():
    text = section("Exit code mappings").partition("### From a stage")[2] + section("Faults")
    lower = set(re.findall(r"`([a-z]+_[a-z]+)`", text))
    assert lower <= set(StageName)
    assert {"agent_run", "final_test"} <= lower


def test_each_function_named_in_the_overview_is_public():
    called = set(re.findall(r"`(\w+)\(", section("Overview")))
    assert called == {"classify", "judge"}
    assert called <= set(scoring.__all__)
