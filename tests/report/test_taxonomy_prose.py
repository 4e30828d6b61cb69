"""The prose names nothing that does not exist."""

import re

import pytest

from agentbench import scoring
from agentbench.report import taxonomy_prose as prose
from agentbench.scoring import FailureReason, StageName

PIECES = [name for name in vars(prose) if name.isupper()]
NO_REASONS = {"FAIL_TO_PASS", "PASS_TO_PASS"}


@pytest.mark.parametrize("piece", PIECES)
def test_each_code_in_the_prose_is_one(piece):
    text = getattr(prose, piece)
    found = {*re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", text), *re.findall(r"`([A-Z]+)`", text)}
    assert found - NO_REASONS <= set(FailureReason.__members__)


def test_each_stage_in_code_type_is_one():
    lower = set(re.findall(r"`([a-z]+_[a-z]+)`", prose.MAPPING + prose.OVERRIDES))
    assert lower <= set(StageName)
    assert {"agent_run", "final_test"} <= lower


def test_each_function_named_in_the_overview_is_public():
    called = set(re.findall(r"`(\w+)\(", prose.OVERVIEW))
    assert called == {"classify", "judge"}
    assert called <= set(scoring.__all__)


def test_there_are_six_decisions_each_with_its_reason():
    numbered = re.findall(r"^(\d)\. \*\*", prose.DECISIONS, re.MULTILINE)
    assert numbered == list("123456")
    assert prose.DECISIONS.count("*Reason:*") == 6


def test_the_prose_names_no_machine_and_no_host():
    text = "".join(getattr(prose, piece) for piece in PIECES)
    assert not re.search(r"https?://|/home/|/root", text)
