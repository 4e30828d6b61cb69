from urllib.parse import parse_qsl

import pytest

from agentbench.attempt.record import TimingRecord, UsageRecord
from agentbench.extensions.view.queries import (
    ATTEMPTS_PER_PAGE,
    CASES_PER_PAGE,
    AttemptQuery,
    BadQueryError,
    CaseFilter,
    RetryFilter,
    SortKey,
    VerdictFilter,
    parse_positive_int,
    parse_word,
    select_attempts,
    select_cases,
)
from agentbench.report.attempt_columns import verdict_word
from agentbench.runs.store.summaries import AttemptSummary
from agentbench.scoring.evidence import CaseOutcome, NodeId
from agentbench.scoring.verdict import CaseChange
from agentbench.tasks.problem import TaskId
from agentbench.taxonomy import FailureReason, Fault
from tests.runs.records import failed, lost, resolved


def test_a_word_is_one_of_those_that_there_are():
    assert parse_word(Fault, "fault", {"fault": "agent"}) is Fault.AGENT
    assert parse_word(Fault, "fault", {}) is None
    assert parse_word(Fault, "fault", {"fault": ""}) is None
    with pytest.raises(BadQueryError, match="fault: found 'x'; expected one of task, "):
        parse_word(Fault, "fault", {"fault": "x"})


@pytest.mark.parametrize(("said", "number"), [("1", 1), ("999999", 999_999), ("007", 7), ("", 3)])
def test_a_number_is_read(said, number):
    assert parse_positive_int("page", {"page": said}, default=3) == number


@pytest.mark.parametrize("said", ["0", "-1", "1.5", "x", "1e3", "1000000", "٣", "9" * 5_000, " 1"])
def test_what_is_no_number_is_told(said):
    with pytest.raises(BadQueryError, match=r"page: found .*; expected a number"):
        parse_positive_int("page", {"page": said}, default=1)


def case(name, baseline, final, listed=None):
    return CaseChange(node_id=NodeId(name), listed=listed, baseline=baseline, final=final)


PASSED, FAILED = CaseOutcome.PASSED, CaseOutcome.FAILED
TESTS = (
    case("fixed", FAILED, PASSED, "fail_to_pass"),
    case("kept", PASSED, PASSED, "pass_to_pass"),
    case("still", FAILED, FAILED),
    case("new", None, PASSED),
    case("gone", PASSED, None),
)


def names(chosen):
    return [each.node_id for each in select_cases(TESTS, chosen, 1).page.items]


def test_those_are_shown_that_were_asked_for():
    assert names(CaseFilter.CHANGED) == ["fixed", "new", "gone"]
    assert names(CaseFilter.NOT_PASSED) == ["still", "gone"]
    assert names(CaseFilter.LISTED) == ["fixed", "kept"]
    assert names(CaseFilter.ALL) == ["fixed", "kept", "still", "new", "gone"]


def test_a_failed_attempt_opens_on_what_did_not_pass_and_a_resolved_one_on_what_changed():
    assert names(None) == ["still", "gone"]
    opened = select_cases(TESTS, None, 1, resolved=True)
    assert [each.node_id for each in opened.page.items] == ["fixed", "new", "gone"]
    unchanged = select_cases(TESTS[1:2], None, 1)
    assert unchanged.chosen is CaseFilter.ALL
    assert len(unchanged.page.items) == 1


def test_where_none_changed_those_that_did_not_pass_are_shown():
    shown = select_cases(TESTS[1:3], None, 1, resolved=True)
    assert shown.chosen is CaseFilter.NOT_PASSED


def test_it_is_told_how_many_each_filter_lets_through():
    assert select_cases(TESTS, None, 1).counts == {
        CaseFilter.CHANGED: 3, CaseFilter.NOT_PASSED: 2, CaseFilter.LISTED: 2, CaseFilter.ALL: 5,
    }  # fmt: skip


def test_many_are_shown_a_page_at_a_time():
    many = [case(str(number), FAILED, PASSED) for number in range(CASES_PER_PAGE + 3)]
    page = select_cases(many, CaseFilter.ALL, 5).page
    assert (page.number, page.count, len(page.items)) == (2, 2, 3)


def told(make, task, **more):
    return AttemptSummary.of(make(task_id=TaskId(task), **more))


ATTEMPTS = [
    told(resolved, "beta", timing=TimingRecord(total_s=5), usage=UsageRecord(cost_usd=0.5)),
    told(failed, "alpha", timing=TimingRecord(total_s=9), usage=UsageRecord(cost_usd=None)),
    told(lost, "alpha", attempt=2, timing=TimingRecord(total_s=1)),
    told(failed, "gamma", timing=TimingRecord(total_s=3), agent="Über-Agent"),
]


def chosen(**choice):
    page = select_attempts(ATTEMPTS, range(len(ATTEMPTS)), AttemptQuery(**choice))
    return list(page.items)


@pytest.mark.parametrize(
    ("choice", "numbers"),
    [
        ({}, [1, 2, 0, 3]),
        ({"descending": True}, [3, 0, 1, 2]),
        ({"sort": SortKey.SECONDS}, [2, 3, 0, 1]),
        ({"sort": SortKey.SECONDS, "descending": True}, [1, 0, 3, 2]),
        ({"sort": SortKey.COST, "descending": True}, [0, 1, 2, 3]),
        ({"sort": SortKey.ENDED}, [0, 1, 2, 3]),
        ({"sort": SortKey.ENDED, "descending": True}, [3, 2, 1, 0]),
        ({"sort": SortKey.REASON}, [0, 2, 1, 3]),
        ({"sort": SortKey.VERDICT}, [1, 2, 3, 0]),
        ({"sort": SortKey.FIXED, "descending": True}, [0, 1, 2, 3]),
        ({"sort": SortKey.FAULT}, [0, 1, 3, 2]),
        ({"sort": SortKey.ATTEMPT}, [1, 0, 3, 2]),
        ({"task": "alpha"}, [1, 2]),
        ({"verdict": VerdictFilter.RESOLVED}, [0]),
        ({"reason": FailureReason.TESTS_FAILED}, [1, 3]),
        ({"fault": Fault.INFRASTRUCTURE}, [2]),
        ({"text": "ALPHA"}, [1, 2]),
        ({"text": "über"}, [3]),
        ({"text": "tests_failed alpha"}, [1]),
        ({"text": "engine"}, [2]),
        ({"text": "nothing of it"}, []),
        ({"task": "alpha", "fault": Fault.AGENT}, [1]),
    ],
    ids=str,
)
def test_the_attempts_that_were_asked_for_come_in_that_order(choice, numbers):
    assert chosen(**choice) == numbers


def test_only_the_numbers_that_are_looked_at_are_shown():
    assert list(select_attempts(ATTEMPTS, [0, 3], AttemptQuery()).items) == [0, 3]


def test_many_attempts_are_shown_a_page_at_a_time():
    many = [told(resolved, f"t{number:04}") for number in range(2 * ATTEMPTS_PER_PAGE + 5)]
    pages = [
        select_attempts(many, range(len(many)), AttemptQuery(page=number))
        for number in (1, 2, 3, 9)
    ]
    size = ATTEMPTS_PER_PAGE
    assert [(page.first, page.last, page.number) for page in pages] == [
        (1, size, 1),
        (size + 1, 2 * size, 2),
        (2 * size + 1, 2 * size + 5, 3),
        (2 * size + 1, 2 * size + 5, 3),
    ]  # fmt: skip
    assert {page.count for page in pages} == {3}
    nothing = select_attempts(many, [], AttemptQuery())
    assert (nothing.first, nothing.last, nothing.count, nothing.total) == (0, 0, 1, 0)


@pytest.mark.parametrize(
    "choice",
    [
        AttemptQuery(),
        AttemptQuery(text="a&b=c", task="t/ü", verdict=VerdictFilter.FAILED, page=3),
        AttemptQuery(reason=FailureReason.TIMEOUT, fault=Fault.AGENT, tries=RetryFilter.ALL),
        AttemptQuery(sort=SortKey.SECONDS, descending=True),
        AttemptQuery(descending=True),
    ],
)
def test_an_address_says_all_of_a_choice(choice):
    query = choice.query(page=choice.page)
    assert AttemptQuery.of(dict(parse_qsl(query.removeprefix("?")))) == choice


def test_a_change_begins_at_the_first_page():
    choice = AttemptQuery(text="x", page=7)
    assert choice.query(fault=Fault.TASK) == "?q=x&fault=task"


def test_a_column_that_is_sorted_by_turns_round():
    choice = AttemptQuery(sort=SortKey.COST)
    assert choice.sorted_by(SortKey.COST) == "?sort=-cost"
    assert choice.sorted_by(SortKey.SECONDS) == "?sort=seconds"
    assert AttemptQuery(sort=SortKey.COST, descending=True).sorted_by(SortKey.COST) == "?sort=cost"


def test_every_verdict_can_be_asked_for():
    assert {verdict_word(attempt) for attempt in ATTEMPTS} <= set(VerdictFilter)
