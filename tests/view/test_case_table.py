from agentbench.scoring.evidence import CaseOutcome, NodeId
from agentbench.scoring.verdict import CaseChange
from agentbench.view.queries import CASES_PER_PAGE, CaseFilter, select_cases


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


def test_those_that_changed_are_shown_first_and_all_where_none_did():
    assert names(None) == ["fixed", "new", "gone"]
    unchanged = select_cases(TESTS[1:2], None, 1)
    assert unchanged.chosen is CaseFilter.ALL
    assert len(unchanged.page.items) == 1


def test_where_none_changed_those_that_did_not_pass_are_shown():
    assert select_cases(TESTS[1:3], None, 1).chosen is CaseFilter.NOT_PASSED


def test_it_is_told_how_many_each_filter_lets_through():
    assert select_cases(TESTS, None, 1).counts == {
        CaseFilter.CHANGED: 3, CaseFilter.NOT_PASSED: 2, CaseFilter.LISTED: 2, CaseFilter.ALL: 5,
    }  # fmt: skip


def test_many_are_shown_a_page_at_a_time():
    many = [case(str(number), FAILED, PASSED) for number in range(CASES_PER_PAGE + 3)]
    page = select_cases(many, CaseFilter.ALL, 5).page
    assert (page.number, page.count, len(page.items)) == (2, 2, 3)
