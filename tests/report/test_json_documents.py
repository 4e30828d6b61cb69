import json

import pytest

from agentbench.report.comparison import compare
from agentbench.report.json_documents import (
    ComparisonDocument,
    LeaderboardDocument,
    SummaryDocument,
)
from agentbench.report.leaderboard import Entrant, leaderboard
from agentbench.report.summary import ResultSummary
from tests.report.several import attempts


def told(made):
    """A document as a program reads it: no number that JSON has no word for."""
    return json.loads(
        made.model_dump_json(), parse_constant=lambda name: pytest.fail(f"JSON has no {name}")
    )


def test_a_summary_has_both_denominators_of_everything():
    made = told(SummaryDocument.model_validate(ResultSummary.of(attempts("a", "rf", "rl", "ff"))))
    assert (made["overall"]["total"], made["judged"]["total"]) == (6, 5)
    assert made["overall"]["clustered_by_task"] is True
    assert made["pass_at_k"][1] == {"k": 2, "any_of_k": 2 / 3, "all_of_k": 0.0}
    assert [each["k"] for each in made["judged_pass_at_k"]] == [1]
    assert made["faults"] == {"infrastructure": 1, "agent": 3}
    assert made["per_resolved"] == {"cost_usd": None, "tokens": None, "seconds": 3.0}


def test_of_no_attempts_there_are_no_shares_of_resolved_ones():
    made = told(SummaryDocument.model_validate(ResultSummary.of([])))
    assert set(made["per_resolved"].values()) == {None}
    assert made["pass_at_k"] == []


def test_a_comparison_tells_the_test_and_what_it_could_show():
    comparison = compare(attempts("a", "r", "r", "l"), attempts("b", "r", "f", "f", "r"))
    made = told(ComparisonDocument.of(comparison, ("one", "two")))
    assert (made["first"]["label"], made["second"]["label"]) == ("one", "two")
    assert made["overall"]["test"] == "exact McNemar test"
    assert made["overall"]["detectable"] is None
    assert (made["overall"]["tasks"], made["judged"]["tasks"]) == (3, 2)
    assert made["lost"] == [
        {"task_id": "task-1", "first": {"resolved": 1, "total": 1},
         "second": {"resolved": 0, "total": 1}}
    ]  # fmt: skip
    assert made["only_second"] == ["task-3"]


def test_a_leaderboard_names_the_pairs():
    runs = [Entrant(name=name, attempts=attempts(name, "r", "f", agent=name)) for name in "ab"]
    made = told(LeaderboardDocument.of(leaderboard(runs)))
    assert [standing["label"] for standing in made["standings"]] == ["a", "b"]
    assert made["pairs"] == [{"first": "a", "second": "b", "tasks": 2, "p_value": 1.0}]
    none = told(LeaderboardDocument.of(leaderboard(runs, with_groups=False)))
    assert [standing["group"] for standing in none["standings"]] == [None, None]
