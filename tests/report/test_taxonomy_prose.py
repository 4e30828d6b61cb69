"""The prose of the taxonomy's page names nothing that does not exist."""

import re

from agentbench import scoring
from agentbench.report.taxonomy_page import render_taxonomy_page
from agentbench.scoring import FailureReason, StageName

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


def test_there_are_six_decisions_each_with_its_reason():
    numbered = re.findall(r"^(\d)\. \*\*", section("Decisions"), re.MULTILINE)
    assert numbered == list("123456")
    assert section("Decisions").count("*Reason:*") == 6


def test_the_prose_names_no_machine_and_no_host():
    assert not re.search(r"https?://|/home/|/root", PAGE)
